"""askdesk wait: until an ask is settled."""

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest
from tests.cli.command import CALL, Ran, askdesk, kept, posted, settled, until
from tests.cli.person import Person

from askdesk.core.model import Allowed, Answer, Answered, Ask, Declined, Denied, Permission, Question, Reply

WHICH = Question("Which database?", ["SQLite", "Postgres"])
BASH = Permission("Bash", CALL)


@pytest.mark.parametrize(
    ("body", "reply", "code"),
    [
        (WHICH, Answered([Answer(["SQLite"])]), 0),
        (BASH, Allowed(), 0),
        (WHICH, Declined("no"), 3),
        (BASH, Denied("no", stop=True), 3),
    ],
    ids=["answered", "allowed", "declined", "denied"],
)
def test_the_exit_code_tells_what_the_result_tells(body: Question | Permission, reply: Reply, code: int) -> None:
    ask = posted(body)
    settled(ask, reply)
    first, again = askdesk("wait", ask.id), askdesk("wait", ask.id[:8], "--timeout", "10s")

    assert first == again
    assert (first.code, first.err) == (code, "")
    result = json.loads(first.out)
    assert (
        {"answers": {"Which database?": "SQLite"}}.items() <= result.items()
        or "message" in result
        or (result == {"behavior": "allow", "updatedInput": CALL})
    )


def test_the_results_of_a_permission_are_those_an_agent_expects() -> None:
    denied = posted(BASH)
    settled(denied, Denied("no", stop=True))
    late = posted(BASH, deadline=timedelta(milliseconds=1))
    gone = posted(BASH)
    askdesk("withdraw", gone.id)

    def result(ask: Ask) -> tuple[int, object]:
        ran = askdesk("wait", ask.id)
        return ran.code, json.loads(ran.out)

    assert result(denied) == (
        3,
        {
            "behavior": "deny",
            "message": 'DENIED: the person did not allow this call; it did not run. They said: "no" '
            "Stop what you are doing and wait for the person.",
            "interrupt": True,
        },
    )
    assert result(late) == (
        4,
        {
            "behavior": "deny",
            "message": "EXPIRED: nobody decided before the deadline, so the call was not allowed and did not run.",
        },
    )
    assert result(gone) == (
        5,
        {
            "behavior": "deny",
            "message": "WITHDRAWN: the request was taken back before anybody decided; the call did not run.",
        },
    )


def test_a_wait_that_ends_leaves_the_ask_open() -> None:
    ask = posted(WHICH)

    assert askdesk("wait", ask.id, "--timeout", "0.1s") == Ran(
        7, "", f"askdesk: waiting for an answer to ask {ask.id[:8]}\naskdesk: ask {ask.id} is still open\n"
    )
    assert kept(ask.id).settlement is None


def test_several_may_wait_for_one_ask_and_all_learn_the_same() -> None:
    ask = posted(WHICH)
    with Person("wait", ask.id) as first, Person("wait", ask.id, "--timeout", "1h") as second:
        until(Path(f"{os.environ['ASKDESK_STORE']}-wal").exists)
        settled(ask, Answered([Answer(["SQLite"])]))
        both = [first.leaves(), second.leaves()]

    assert (both[0].code, both[0].out) == (both[1].code, both[1].out)
    assert (both[0].code, json.loads(both[0].out)["answers"]) == (0, {"Which database?": "SQLite"})


def test_what_cannot_be_waited_for_is_refused() -> None:
    posted(WHICH)
    assert askdesk("wait", "0123abcd") == Ran(2, "", 'askdesk: there is no ask "0123abcd"\n')
    assert askdesk("wait").code == 2
    assert askdesk("wait", posted(WHICH).id, "--timeout", "soon").code == 2
