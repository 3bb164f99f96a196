"""askdesk ask --no-wait, and later askdesk collect: an agent goes on working and misses no answer."""

import asyncio
import json
import os
import signal
import subprocess
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.command import ASKDESK, CALL, DATABASE, Ran, askdesk, in_file, kept, settled, surroundings, until
from tests.cli.command import unread as run_unread
from tests.cli.person import Person

from askdesk.cli.command import LEFT_HERE
from askdesk.core.desk import Body
from askdesk.core.model import Allowed, Answer, Answered, Asker, Declined, Denied, Permission, Question
from askdesk.open import AGENT_VARIABLES, open_desk, this_folder
from askdesk.wire import tool

AGENT = ("--agent", "builder", "--project", "app", "--session", "s-1")
ASKER = Asker("builder", "s-1", "app")
WHICH = tool.parse(DATABASE)
SQLITE = Answered([Answer(["SQLite"])])
NOTHING = Ran(0, "", "askdesk: nothing is left to collect\n")


def asked(folder: Path, *options: str) -> str:
    """As an agent does it."""
    ran = askdesk("ask", "--no-wait", *options, in_file(folder, DATABASE))
    assert (ran.code, ran.err) == (0, "")
    return ran.out.strip()


def left(body: Body = WHICH, **fields: Any) -> str:
    """The same without a process for each."""

    async def leave() -> str:
        async with open_desk() as desk:
            return (await desk.leave(body, **{"asker": ASKER, **fields})).id

    return asyncio.run(leave())


def answered(ask_id: str, reply: Any = SQLITE) -> None:
    settled(kept(ask_id).ask, reply)


def objects(ran: Ran) -> list[dict[str, Any]]:
    return [json.loads(line) for line in ran.out.splitlines()]


def ids(ran: Ran) -> list[str]:
    return [collected["id"] for collected in objects(ran)]


def test_what_was_left_is_collected_once_it_is_settled_and_then_never_again(tmp_path: Path) -> None:
    first, second = asked(tmp_path, *AGENT), asked(tmp_path, *AGENT, "--key", "k2")
    assert askdesk("collect", *AGENT) == Ran(7, "", "askdesk: 2 asks are still open\n")
    answered(second)
    at = kept(second).settlement.at  # type: ignore[union-attr]

    ran = askdesk("collect", *AGENT)

    assert (ran.code, ran.err) == (0, "askdesk: 1 ask is still open\n")
    assert objects(ran) == [
        {
            "id": second,
            "key": "k2",
            "asked": ["Which database?"],
            "outcome": "answered",
            "by": "ana",
            "at": at.isoformat().replace("+00:00", "Z"),
            "result": {**DATABASE, "answers": {"Which database?": "SQLite"}},
        }
    ]
    assert askdesk("collect", *AGENT) == Ran(7, "", "askdesk: 1 ask is still open\n")
    answered(first)
    assert ids(askdesk("collect", *AGENT)) == [first]
    assert askdesk("collect", *AGENT) == NOTHING


def test_the_result_is_what_wait_prints_whatever_the_outcome() -> None:
    declined = left()
    answered(declined, Declined("let's talk"))
    allowed, denied = [left(Permission("Bash", CALL)) for _ in range(2)]
    answered(allowed, Allowed())
    answered(denied, Denied("no"))
    expired = left(deadline=timedelta(milliseconds=1))
    until(lambda: kept(expired).settlement is not None)
    withdrawn = left()
    askdesk("withdraw", withdrawn)

    ran = askdesk("collect", *AGENT)

    call = {"tool": "Bash", "input": CALL}
    assert [(one["id"], one["asked"], one["outcome"], one.get("by")) for one in objects(ran)] == [
        (declined, ["Which database?"], "declined", "ana"),
        (allowed, call, "allowed", "ana"),
        (denied, call, "denied", "ana"),
        (expired, ["Which database?"], "expired", None),
        (withdrawn, ["Which database?"], "withdrawn", None),
    ]
    results = {one["id"]: one["result"] for one in objects(ran)}
    for ask_id in (denied, withdrawn):
        assert results[ask_id] == json.loads(askdesk("wait", ask_id).out)
    assert (ran.code, ran.err) == (0, "")


def test_it_is_for_the_agent_that_asked_whose_defaults_are_those_of_ask(tmp_path: Path) -> None:
    by_default, mine = asked(tmp_path), left()
    for ask_id in (by_default, mine):
        answered(ask_id)

    assert kept(by_default).ask.asker == Asker("command line", project=this_folder())
    assert askdesk("collect", *AGENT, "--session", "s-2") == NOTHING
    assert ids(askdesk("collect")) == [by_default]
    assert ids(askdesk("collect", *AGENT)) == [mine]


def test_it_can_be_looked_at_without_taking() -> None:
    ask_id = left()
    assert askdesk("collect", *AGENT, "--keep") == Ran(7, "", "askdesk: 1 ask is still open\n")
    answered(ask_id)
    looked, again = [askdesk("collect", *AGENT, "--keep") for _ in range(2)]
    assert looked == again == askdesk("collect", *AGENT)
    assert askdesk("collect", *AGENT, "--keep") == NOTHING


def test_what_wait_has_printed_need_not_be_collected() -> None:
    first, second = left(call=LEFT_HERE), left(call=LEFT_HERE)
    assert askdesk("wait", first, "--timeout", "0.01s").code == 7
    for ask_id in (first, second):
        answered(ask_id)
    assert (run_unread("wait", second).code, askdesk("wait", first).code) == (1, 0)
    assert ids(askdesk("collect", *AGENT)) == [second]


def test_who_looks_with_wait_takes_nothing_from_the_agent_that_left_it() -> None:
    ask_id = left()
    answered(ask_id)
    assert askdesk("wait", ask_id).code == 0
    assert ids(askdesk("collect", *AGENT)) == [ask_id]


def test_what_nobody_reads_is_printed_again() -> None:
    ask_id = left()
    answered(ask_id)
    assert run_unread("collect", *AGENT) == Ran(1, "", "")
    assert ids(askdesk("collect", *AGENT)) == [ask_id]


def test_killed_over_one_it_prints_that_one_again() -> None:
    """The pipe is full: the first was taken when the second was wanted, and that one was never written to its end."""
    asks = [left(body) for body in (WHICH, Question(f"Which? {'x' * 70_000}", ["SQLite", "Postgres"]))]
    for ask_id in asks:
        answered(ask_id)
    with subprocess.Popen([*ASKDESK, "collect", *AGENT], stdout=subprocess.PIPE, env=surroundings()) as collecting:
        assert collecting.stdout
        assert json.loads(collecting.stdout.readline())["id"] == asks[0]
        until(lambda: asks[0] not in open_notes())
        collecting.send_signal(signal.SIGKILL)
    assert collecting.returncode == -9
    assert ids(askdesk("collect", *AGENT)) == [asks[1]]


def open_notes() -> str:
    async def names() -> str:
        async with open_desk() as desk:
            return " ".join(document.name for document in await desk.shelf.list("owed/"))

    return asyncio.run(names())


def test_it_waits_until_something_is_settled() -> None:
    first, second = left(), left()
    with Person("collect", *AGENT, "--wait", "1h") as agent:
        until(Path(f"{os.environ['ASKDESK_STORE']}-wal").exists)
        answered(second)
        ran = agent.leaves()

    assert (ran.code, ids(ran), ran.err) == (0, [second], "askdesk: 1 ask is still open\n")
    assert askdesk("collect", *AGENT, "--wait", "0.05s") == Ran(7, "", "askdesk: 1 ask is still open\n")
    answered(first)
    assert ids(askdesk("collect", *AGENT, "--wait", "1h")) == [first]
    assert askdesk("collect", *AGENT, "--wait", "1h") == NOTHING  # for nothing could come


def test_it_waits_for_a_deadline_too() -> None:
    ask_id = left(deadline=timedelta(seconds=0.5))
    ran = askdesk("collect", *AGENT, "--wait", "1h")
    assert [(one["id"], one["outcome"]) for one in objects(ran)] == [(ask_id, "expired")]


def test_a_wait_that_is_broken_off_takes_nothing() -> None:
    ask_id = left()
    with Person("collect", *AGENT, "--wait", "1h") as agent:
        until(Path(f"{os.environ['ASKDESK_STORE']}-wal").exists)
        ran = interrupted(agent)
    assert (ran.code, ran.out, ran.err) == (7, "", "askdesk: stopped; what was not printed is still to be collected\n")
    answered(ask_id)
    assert ids(askdesk("collect", *AGENT)) == [ask_id]


def interrupted(agent: Person) -> Ran:
    """Ctrl-C, once more where Python did not hear it."""

    def is_over() -> bool:
        agent.process.send_signal(signal.SIGINT)
        try:
            agent.process.wait(0.5)
        except subprocess.TimeoutExpired:
            return False
        return True

    until(is_over)
    return agent.leaves()


def test_on_a_terminal_it_is_spread_out_for_reading_and_json_stays_a_line() -> None:
    first, second = left(), left()
    for ask_id in (first, second):
        answered(ask_id)
    with Person("collect", *AGENT, "--keep", "--json", on_screen=True) as agent:
        lines = agent.leaves().err.splitlines()
    assert [json.loads(line)["id"] for line in lines] == [first, second]
    with Person("collect", *AGENT, on_screen=True) as agent:
        seen = agent.leaves().err
    assert [ask_id in seen for ask_id in (first, second)] == [True, True]
    assert seen.count("Which database?") == 2
    assert "\n\n" in seen.replace("\r", "")
    assert askdesk("collect", *AGENT) == NOTHING


def test_an_agent_may_collect_in_its_own_shell() -> None:
    ask_id = left()
    answered(ask_id)
    assert ids(askdesk("collect", *AGENT, env={AGENT_VARIABLES[0]: "1"})) == [ask_id]


def test_where_there_is_no_desk_nothing_is_left(tmp_path: Path) -> None:
    assert askdesk("collect") == NOTHING
    ran = askdesk("collect", "--store", str(tmp_path / "none.db"))
    assert (ran.code, ran.out) == (2, "")


@pytest.mark.parametrize("options", [("--wait", "soon"), ("--agent", ""), ("--agent", " ")])
def test_what_makes_no_sense_is_refused(options: tuple[str, str]) -> None:
    left()
    assert askdesk("collect", *options).code == 2


def test_what_agents_wrote_moves_no_cursor() -> None:
    answered(left(Question("Which\x1b[2J\u202e?", ["SQLite", "Postgres"])))
    ran = askdesk("collect", *AGENT, "--keep")
    assert ("\x1b" in ran.out, "\u202e" in ran.out) == (False, False)
    assert objects(ran)[0]["asked"] == ["Which\x1b[2J\u202e?"]


def test_what_a_living_process_left_is_not_for_the_command() -> None:
    asker = replace(ASKER, host=os.uname().nodename, process=os.getpid())
    answered(left(asker=asker))
    assert askdesk("collect", *AGENT) == NOTHING
