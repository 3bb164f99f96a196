"""askdesk answer: answers, refusals and permissions from the command line."""

import json
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.command import CALL, Ran, askdesk, in_file, in_shell, kept, posted, settled

from askdesk.core.desk import new_id
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Declined,
    Denied,
    Entry,
    Expired,
    Option,
    Outcome,
    Permission,
    Question,
)
from askdesk.open import AGENT_VARIABLES

WHICH = Question("Which database?", [Option("SQLite", "One file"), Option("Postgres", "A server")])
PARTS = Question("Which parts?", ["Sign-in", "Logging, all", "Metrics"], multi_select=True)
COUNT = Question("How many?", kind="number", maximum=5)
BASH = Permission("Bash", CALL)


def outcome(entry: Entry) -> Outcome | None:
    return entry.settlement.outcome if entry.settlement else None


SQLITE = json.dumps({"answers": {"Which database?": "SQLite"}})
POSTGRES = json.dumps({"answers": {"Which database?": "Postgres"}})


def test_the_first_answer_wins_the_same_again_succeeds_and_another_learns_who_won() -> None:
    ask = posted(WHICH)
    first = askdesk("answer", ask.id, "--by", "Ana", typed=SQLITE)
    again = askdesk("answer", ask.id[:8], "-", "--by", "Ana", typed=SQLITE)
    other = askdesk("answer", ask.id, "--by", "Ana", typed=POSTGRES)
    same_by_another = askdesk("answer", ask.id, "--by", "Ben", typed=SQLITE)
    declined = askdesk("answer", ask.id, "--decline", "--by", "Ana")

    done = f"askdesk: ask {ask.id} is settled: answered by Ana on command line\n"
    lost = f"askdesk: ask {ask.id} is already settled: answered by Ana on command line\n"
    assert [first, again] == [Ran(0, "", done)] * 2
    assert [other, same_by_another, declined] == [Ran(8, "", lost)] * 3
    assert outcome(kept(ask.id)) == Answered([Answer(["SQLite"])])


def test_answers_come_from_a_file_with_notes_lists_numbers_and_blanks(tmp_path: Path) -> None:
    ask = posted([WHICH, PARTS, COUNT])
    given = {
        "answers": {"Which database?": "", "Which parts?": ["Metrics", "Logging, all"], "How many?": 3},
        "annotations": {"Which parts?": {"notes": "soon"}},
    }
    refused = askdesk("answer", ask.id, in_file(tmp_path, given))
    ran = askdesk("answer", ask.id, in_file(tmp_path, given), "--blanks")

    assert refused == Ran(2, "", 'askdesk: answers["Which database?"]: needs an answer; every question does\n')
    assert ran.code == 0
    assert outcome(kept(ask.id)) == Answered(
        [None, Answer(["Logging, all", "Metrics"], note="soon", multi_select=True), Answer(other="3")]
    )


def test_own_words_are_kept_as_they_are_and_a_join_is_read_as_choices() -> None:
    ask = posted([WHICH, PARTS])
    given = {"answers": {"Which database?": "neither, yet", "Which parts?": 'Sign-in, "Logging, all"'}}
    askdesk("answer", ask.id, typed=json.dumps(given))

    assert outcome(kept(ask.id)) == Answered(
        [Answer(other="neither, yet"), Answer(["Sign-in", "Logging, all"], multi_select=True)]
    )


def test_a_key_that_names_no_question_is_told_and_left_out() -> None:
    ask = posted(WHICH)
    given = {"answers": {"Which database?": "SQLite", "Which \x1bcloud?": "none"}}
    ran = askdesk("answer", ask.id, typed=json.dumps(given))

    assert ran.code == 0
    assert ran.err.splitlines()[0] == 'askdesk: no question has the text "Which \\u001bcloud?": left out'


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        ("", ["is not JSON: Expecting value at line 1, column 1"]),
        ('{"answers": {', ["is not JSON: Expecting property name enclosed in double quotes at line 1, column 14"]),
        ("[]", ['must be an object like {"answers": {"<question>": "<answer>"}}']),
        (
            '{"answers": {"Which database?": 5, "Which parts?": ["None"], "How many?": "6"}, "more": 1}',
            [
                '"more": is not a part of an answer; the parts are answers and annotations',
                'answers["Which database?"]: must be text or a list of labels, is 5',
                'answers["Which parts?"]: offers no option "None"; own words belong in Other',
                'answers["How many?"]: takes a number up to 5, got 6',
            ],
        ),
        (
            '{"answers": {}}',
            [
                'answers["Which database?"]: needs an answer; every question does',
                'answers["Which parts?"]: needs an answer; every question does',
                'answers["How many?"]: needs an answer; every question does',
            ],
        ),
    ],
    ids=["empty", "cut off", "a list", "wrong", "blank"],
)
def test_an_invalid_answer_settles_nothing_and_names_every_problem(given: str, problems: list[str]) -> None:
    ask = posted([WHICH, PARTS, COUNT])
    ran = askdesk("answer", ask.id, typed=given)

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines() == [f"askdesk: {problem}" for problem in problems]
    assert outcome(kept(ask.id)) is None


def test_blank_everywhere_is_no_answer_even_where_blanks_are_allowed() -> None:
    ask = posted(WHICH)

    assert askdesk("answer", ask.id, "--blanks", typed='{"answers": {}}').code == 2
    assert outcome(kept(ask.id)) is None


@pytest.mark.parametrize(
    ("arguments", "reply"),
    [
        (("--decline",), Declined()),
        (("--decline", "let us talk"), Declined("let us talk")),
        (("--decline", "no", "--stop"), Declined("no", stop=True)),
    ],
)
def test_questions_can_be_declined(arguments: tuple[str, ...], reply: Declined) -> None:
    ask = posted(WHICH)
    ran = askdesk("answer", ask.id, *arguments, "--by", "ana")

    assert ran == Ran(0, "", f"askdesk: ask {ask.id} is settled: declined by ana on command line\n")
    assert outcome(kept(ask.id)) == reply


@pytest.mark.parametrize(
    ("arguments", "reply"),
    [
        (("--deny",), Denied()),
        (("--deny", "use the staging server"), Denied("use the staging server")),
        (("--deny", "no", "--stop", "--instead", "list files"), Denied("no", True, "list files")),
        (("--deny", "--digest", BASH.digest), Denied()),
    ],
)
def test_a_permission_can_be_denied(arguments: tuple[str, ...], reply: Denied) -> None:
    ask = posted(BASH)
    ran = askdesk("answer", ask.id, *arguments, "--by", "ana")

    assert ran == Ran(0, "", f"askdesk: ask {ask.id} is settled: denied by ana on command line\n")
    assert outcome(kept(ask.id)) == reply


def test_a_permission_is_allowed_once_it_was_shown() -> None:
    ask = posted(BASH)
    ran = askdesk("answer", ask.id, "--allow", "--by", "ana", "--digest", BASH.digest)
    entry = kept(ask.id)

    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines() == [
        "Permission to use the tool Bash",
        "  with this input:",
        "    command: rm -r build",
        "    timeout: 5",
        f"  {BASH.digest}",
        f"askdesk: ask {ask.id} is settled: allowed by ana on command line",
    ]
    assert entry.settlement is not None
    assert (entry.settlement.outcome, entry.settlement.digest) == (Allowed(), BASH.digest)


def test_a_permission_is_allowed_with_a_changed_input(tmp_path: Path) -> None:
    ask = posted(BASH)
    changed = {"command": "rm -r build/tmp"}
    ran = askdesk("answer", ask.id, "--allow", "--input", in_file(tmp_path, changed))
    waited = askdesk("wait", ask.id)

    assert ran.code == 0
    assert outcome(kept(ask.id)) == Allowed(json.dumps(changed))
    assert (waited.code, json.loads(waited.out)) == (0, {"behavior": "allow", "updatedInput": changed})


@pytest.mark.parametrize(
    "given", [b"[]", b"{", b'{"a": 1, "a": 2}', b'{"command": "\xff"}'], ids=["a list", "cut off", "twice", "bytes"]
)
def test_a_changed_input_that_could_be_read_two_ways_allows_nothing(given: bytes, tmp_path: Path) -> None:
    ask = posted(BASH)
    ran = askdesk("answer", ask.id, "--allow", "--input", in_file(tmp_path, given))

    assert (ran.code, ran.out) == (2, "")
    assert outcome(kept(ask.id)) is None


def test_a_permission_is_not_allowed_under_another_digest() -> None:
    ask = posted(BASH)
    wrong = Permission("Bash", {"command": "ls"}).digest
    allowed = askdesk("answer", ask.id, "--allow", "--digest", wrong)
    denied = askdesk("answer", ask.id, "--deny", "--digest", wrong)

    message = f"askdesk: digest: the input shown was not the one asked for, which has {BASH.digest}"
    assert (allowed.code, allowed.out, allowed.err.splitlines()[-1]) == (2, "", message)
    assert (denied.code, denied.out, denied.err.splitlines()[-1]) == (2, "", message)
    assert outcome(kept(ask.id)) is None


def test_only_a_reply_of_the_right_kind_settles(tmp_path: Path) -> None:
    ask, call = posted(WHICH), posted(BASH)
    file = in_file(tmp_path, {"answers": {"Which database?": "SQLite"}})

    def refused(*arguments: str) -> str:
        ran = askdesk("answer", *arguments)
        assert (ran.code, ran.out) == (2, "")
        return ran.err.splitlines()[-1]

    assert refused(ask.id, "--allow") == "askdesk: this ask has questions: answer or decline it"
    assert refused(ask.id, "--deny") == "askdesk: this ask has questions: answer or decline it"
    assert refused(call.id, "--decline") == "askdesk: this ask is a permission: allow or deny it"
    assert refused(call.id, file) == "askdesk: this ask is a permission: use --allow or --deny"
    assert refused(call.id, "--allow", "--deny") == "askdesk: give one of FILE, --decline, --allow and --deny"
    assert refused(ask.id, file, "--decline") == "askdesk: give one of FILE, --decline, --allow and --deny"
    assert [outcome(kept(ask.id)), outcome(kept(call.id))] == [None, None]


@pytest.mark.parametrize("variable", AGENT_VARIABLES)
def test_an_agents_shell_cannot_answer_by_mistake(variable: str) -> None:
    ran = askdesk("answer", "0123abcd", "--allow", env={variable: "1"})

    message = f"askdesk: this is an agent's shell ({variable} is set); a person should answer, or use --force\n"
    assert ran == Ran(2, "", message)


def test_a_person_in_an_agents_shell_can_insist() -> None:
    ask = posted(BASH)
    refused = askdesk("answer", ask.id, "--allow", env={"CLAUDECODE": "1"})
    before = outcome(kept(ask.id))
    forced = askdesk("answer", ask.id, "--allow", "--force", env={"CLAUDECODE": "1"})

    assert (refused.code, before) == (2, None)
    assert (forced.code, outcome(kept(ask.id))) == (0, Allowed())


def test_an_ask_that_has_expired_cannot_be_answered() -> None:
    ask = posted(WHICH, deadline=timedelta(milliseconds=1))
    ran = askdesk("answer", ask.id, typed=SQLITE)

    assert ran == Ran(8, "", f"askdesk: ask {ask.id} is already settled: expired\n")
    assert outcome(kept(ask.id)) == Expired()


def test_ids_may_be_shortened_while_they_name_one_ask() -> None:
    ask = posted(WHICH)
    unknown = new_id()

    assert askdesk("answer", unknown, "--decline") == Ran(2, "", f'askdesk: there is no ask "{unknown}"\n')
    assert askdesk("answer", ask.id[:3], "--decline").code == 2
    assert askdesk("answer", "", "--decline").code == 2
    assert outcome(kept(ask.id)) is None
    assert askdesk("answer", ask.id[:4], "--decline").code == 0


def test_who_answers_is_a_setting() -> None:
    ask = posted(WHICH)
    ran = askdesk("answer", ask.id, "--decline", env={"ASKDESK_BY": "Ana"})

    assert ran == Ran(0, "", f"askdesk: ask {ask.id} is settled: declined by Ana on command line\n")


def test_options_that_would_do_nothing_are_refused(tmp_path: Path) -> None:
    ask, call = posted(WHICH), posted(BASH)
    changed = in_file(tmp_path, {"command": "ls"})

    assert askdesk("answer", call.id, "--deny", "--input", changed).code == 2
    assert askdesk("answer", call.id, "--allow", "--stop").code == 2
    assert askdesk("answer", call.id, "--allow", "--instead", "list files").code == 2
    assert askdesk("answer", ask.id, "--stop", typed=SQLITE).code == 2
    assert [outcome(kept(ask.id)), outcome(kept(call.id))] == [None, None]


def test_a_closed_standard_input_is_no_answer() -> None:
    ask = posted(WHICH)

    assert in_shell("<&-", "answer", ask.id).code == 2
    assert outcome(kept(ask.id)) is None


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    ask, call = posted(WHICH), posted(BASH)
    missing = str(tmp_path / "missing.json")

    assert askdesk("answer", ask.id, missing) == Ran(2, "", f"askdesk: {missing}: No such file or directory\n")
    assert askdesk("answer", call.id, "--allow", "--input", missing).code == 2
    assert [outcome(kept(ask.id)), outcome(kept(call.id))] == [None, None]


def test_words_in_another_encoding_are_kept_or_refused_but_break_nothing() -> None:
    ask = posted(WHICH)
    ran = askdesk("answer", ask.id, "--decline", "schöne Grüße", env={"LC_ALL": "C", "PYTHONUTF8": "0"})

    assert (ran.code, outcome(kept(ask.id))) in [(0, Declined("schöne Grüße")), (2, None)]


def test_a_settled_ask_is_named_before_its_answer_is_judged() -> None:
    ask = posted(WHICH)
    settled(ask, Declined(), by="ben", surface="the page")
    ran = askdesk("answer", ask.id, typed=SQLITE)

    assert ran == Ran(8, "", f"askdesk: ask {ask.id} is already settled: declined by ben on the page\n")


def test_an_empty_digest_or_input_allows_nothing() -> None:
    ask = posted(Permission("Bash", CALL))
    for arguments in (("--allow", "--digest", ""), ("--allow", "--input", "")):
        ran = askdesk("answer", ask.id, *arguments)
        assert (ran.code, ran.out) == (2, "")
    assert kept(ask.id).settlement is None


def test_a_reply_may_be_as_large_as_the_settings_say() -> None:
    question = Question("Why?", kind="text")
    answers = json.dumps({"answers": {"Why?": "x" * 1_500_000}})
    small = askdesk("answer", posted(question).id, "-", typed=answers)
    large = askdesk("answer", posted(question).id, "-", typed=answers, env={"ASKDESK_MAX_BYTES": "3000000"})

    assert (small.code, small.err) == (2, "askdesk: is longer than 1000000 bytes\n")
    assert large.code == 0
