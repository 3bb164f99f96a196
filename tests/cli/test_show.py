"""askdesk show: one ask, for people and for programs."""

import json

from tests.cli.command import CALL, Ran, askdesk, kept, posted, settled, unread

from askdesk.core.model import Answer, Answered, Denied, Entry, Permission, Question
from askdesk.surfaces.terminal.plain import entry_lines
from askdesk.wire import record

WHICH = Question("Which database?", ["SQLite", "Postgres"], header="Database")


def shown(entry: Entry) -> str:
    return "".join(f"{line}\n" for line in entry_lines(entry))


def test_an_ask_is_shown_while_it_is_open_and_after_it_ended() -> None:
    ask, call = posted(WHICH), posted(Permission("Bash", CALL))

    assert askdesk("show", ask.id) == Ran(0, shown(kept(ask.id)), "")
    settled(ask, Answered([Answer(["SQLite"], note="for now")]))
    settled(call, Denied("no", redirect="list files"))
    assert askdesk("show", ask.id[:6]) == Ran(0, shown(kept(ask.id)), "")
    assert askdesk("show", call.id) == Ran(0, shown(kept(call.id)), "")


def test_programs_read_the_records() -> None:
    ask = posted(WHICH)
    before = askdesk("show", ask.id, "--json")
    settled(ask, Answered([Answer(["SQLite"])]))
    after = askdesk("show", ask.id, "--json")

    assert (before.code, before.err, after.code, after.err) == (0, "", 0, "")
    assert json.loads(before.out) == {"ask": json.loads(record.encode(ask)), "settlement": None}
    assert json.loads(after.out) == record.plain(kept(ask.id))


def test_an_ask_that_is_not_there_is_named() -> None:
    posted(WHICH)
    assert askdesk("show", "0123abcd") == Ran(2, "", 'askdesk: there is no ask "0123abcd"\n')
    assert askdesk("show", "\x1b[2J") == Ran(2, "", 'askdesk: there is no ask "\\u001b[2J"\n')


def test_a_reader_that_goes_away_is_no_crash() -> None:
    assert unread("show", posted(WHICH).id) == Ran(1, "", "")
