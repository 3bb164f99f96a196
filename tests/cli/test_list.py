"""askdesk list: open asks and settled ones."""

import json
from pathlib import Path

from tests.cli.command import CALL, Ran, askdesk, kept, posted, settled, unread

from askdesk.core.model import Answer, Answered, Declined, Denied, Permission, Question
from askdesk.wire import record

WHICH = Question("Which database?", ["SQLite", "Postgres"])
HEADING = "ID        AGE     AGENT           PROJECT               ASK"


def listed_ids(*arguments: str) -> list[str]:
    ran = askdesk("list", "--json", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return [entry["ask"]["id"] for entry in json.loads(ran.out)["entries"]]


def without_age(line: str) -> str:
    return f"{line[:10]}{line[18:]}"


def test_an_empty_desk_says_so_away_from_the_result() -> None:
    assert askdesk("list") == Ran(0, "", "askdesk: no open asks\n")
    assert askdesk("list", "--settled") == Ran(0, "", "askdesk: no settled asks\n")
    assert askdesk("list", "--json") == Ran(0, '{"entries": [], "after": null}\n', "")


def test_open_asks_are_listed_oldest_first_and_settled_ones_newest_first() -> None:
    asks = [posted(WHICH), posted(Permission("Bash", CALL)), posted(WHICH), posted(WHICH)]
    settled(asks[2], Answered([Answer(["SQLite"])]))
    settled(asks[3], Declined())
    listed, ended = askdesk("list"), askdesk("list", "--settled")

    assert (listed.code, listed.err, ended.code, ended.err) == (0, "", 0, "")
    assert [without_age(line) for line in listed.out.splitlines()] == [
        without_age(HEADING),
        f"{asks[0].id[:8]}  builder         app                   Which database?",
        f"{asks[1].id[:8]}  builder         app                   permission for Bash",
    ]
    assert [without_age(line) for line in ended.out.splitlines()] == [
        without_age(HEADING),
        f"{asks[3].id[:8]}  builder         app                   declined by ana on elsewhere: Which database?",
        f"{asks[2].id[:8]}  builder         app                   answered by ana on elsewhere: Which database?",
    ]


def test_a_long_list_goes_on_where_it_ended() -> None:
    asks = [posted(WHICH) for _ in range(3)]
    first = askdesk("list", "--limit", "2", "--json")
    page = json.loads(first.out)
    rest = json.loads(askdesk("list", "--limit", "2", "--after", page["after"], "--json").out)
    shown = askdesk("list", "--limit", "2")

    assert (first.code, first.err) == (0, "")
    assert page["entries"] == [record.plain(kept(ask.id)) for ask in asks[:2]]
    assert rest == {"entries": [record.plain(kept(asks[2].id))], "after": None}
    assert shown.err == f"askdesk: there are more: --after {page['after']}\n"


def test_a_text_lists_only_what_it_matches() -> None:
    asks = [posted(WHICH), posted(Permission("Bash", CALL)), posted(Permission("Bash", CALL)), posted(WHICH)]
    settled(asks[2], Denied("not the build folder"))
    settled(asks[3], Declined())

    assert listed_ids("--text", "data whi") == [asks[0].id]
    assert listed_ids("--text", 'rm "build" tool:bash') == [asks[1].id]
    assert listed_ids("--text", "folder", "--settled") == [asks[2].id]
    assert listed_ids("--text", "is:declined by:ana on:elsewhere", "--settled") == [asks[3].id]
    assert listed_ids("--text", "builder", "--settled", "--limit", "1") == [asks[3].id]


def test_where_nothing_matches_that_is_told_away_from_the_result() -> None:
    posted(WHICH)

    assert askdesk("list", "--text", "nothing") == Ran(0, "", "askdesk: no open asks match\n")
    assert askdesk("list", "--text", "which", "--settled") == Ran(0, "", "askdesk: no settled asks match\n")
    assert askdesk("list", "--text", '" OR 1=1 --', "--json") == Ran(0, '{"entries": [], "after": null}\n', "")


def test_a_store_that_was_named_and_is_not_there_is_told_and_not_made(tmp_path: Path) -> None:
    misspelt = tmp_path / "nowhere" / "desk.db"
    for command in (("list",), ("show", "0123abcd"), ("wait", "0123abcd"), ("withdraw", "0123abcd")):
        ran = askdesk(*command, "--store", str(misspelt))
        assert ran == Ran(2, "", f"askdesk: {misspelt}: there is no store here; the first ask makes it\n")
    assert not misspelt.parent.exists()


def test_options_that_make_no_sense_are_refused() -> None:
    posted(WHICH)
    for arguments in (("--limit", "0"), ("--limit", "1001"), ("--limit", "many"), ("--after", "nowhere"), ("--all",)):
        ran = askdesk("list", *arguments)
        assert (ran.code, ran.out) == (2, "")


def test_an_ask_whose_process_has_ended_is_marked() -> None:
    given = json.dumps({"questions": [{"question": "Why?", "options": ["a", "b"]}]})

    assert askdesk("ask", typed=given).code == 6
    assert askdesk("list").out.splitlines()[1].endswith("Why? [its process is gone]")


def test_a_reader_that_goes_away_is_no_crash() -> None:
    posted(WHICH)

    assert unread("list") == Ran(1, "", "")
