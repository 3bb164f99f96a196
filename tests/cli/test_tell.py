"""askdesk tell: people tell agents at work something unasked."""

import json
import subprocess
import sys
import textwrap

import pytest
from tests.cli.agent import at_work, said, takes_all, told
from tests.cli.command import ASKDESK, Ran, askdesk, posted, surroundings

from askdesk.core import work
from askdesk.core.model import Asker, Question

ANA = {"ASKDESK_BY": "ana"}
AT_ONCE = ("--within", "0.01s")


def test_where_nobody_works_it_says_so() -> None:
    assert askdesk("tell") == Ran(0, "", "askdesk: no agent is at work\n")
    assert askdesk("tell", "--json") == Ran(0, '{"agents": []}\n', "")
    posted(Question("Which?", ["a", "b"]))
    assert askdesk("tell") == Ran(0, "", "askdesk: no agent is at work\n")


def test_agents_at_work_are_listed_first_come_first() -> None:
    claude, builder = at_work("claude\x1b[31m", "/srv/site"), at_work("builder", "shop", "s-2")
    ran = askdesk("tell")
    assert (ran.code, ran.err) == (0, "")
    assert [f"{line[:10]}{line[18:]}" for line in ran.out.splitlines()] == [
        "ADDRESS   AGENT           PROJECT               SESSION",
        f"{work.address(claude)[:8]}  claude\\x1b[31m  site                  s-1",
        f"{work.address(builder)[:8]}  builder         shop                  s-2",
    ]
    listed = json.loads(askdesk("tell", "--json").out)["agents"]
    assert [(agent["address"], agent["asker"]["agent"]) for agent in listed] == [
        (work.address(claude), "claude\x1b[31m"),
        (work.address(builder), "builder"),
    ]


@pytest.mark.parametrize("by", ["agent", "project", "folder", "address", "ask", "beginning of an ask"])
def test_an_agent_is_known_by_any_of_its_names(by: str) -> None:
    claude = at_work("claude", "/srv/site")
    at_work("builder", "/srv/shop")
    ask = posted(Question("Which?", ["a", "b"]), asker=claude)
    names = {
        "agent": "claude",
        "project": "/srv/site",
        "folder": "site",
        "address": work.address(claude)[:6],
        "ask": ask.id,
        "beginning of an ask": ask.id[:8],
    }
    ran = askdesk("tell", names[by], "use", "tabs,", "please", *AT_ONCE, env=ANA)
    assert ran == Ran(0, "", "askdesk: kept for claude, which has not taken it yet\n")
    assert said(claude) == [("use tabs, please", False, "ana", "command line")]


def test_of_several_that_may_be_meant_none_is_told_anything() -> None:
    one, other = at_work("claude", "/srv/site"), at_work("claude", "/srv/shop")
    ran = askdesk("tell", "claude", "use tabs")
    names = [f"{work.address(agent)[:8]} (claude, {agent.project})" for agent in (one, other)]
    assert ran == Ran(2, "", f'askdesk: several agents at work may be "claude": {", ".join(names)}\n')
    assert (said(one), said(other)) == ([], [])


@pytest.mark.parametrize("name", ["nobody", "0123456789abcdef"])
def test_nobody_of_that_name_is_said(name: str) -> None:
    at_work("claude", "/srv/site")
    ran = askdesk("tell", name, "use tabs")
    assert ran == Ran(2, "", f'askdesk: no agent at work and no ask is "{name}"; askdesk tell lists those at work\n')


def test_an_agent_is_stopped_perhaps_with_words() -> None:
    claude = at_work("claude", "/srv/site")
    assert askdesk("tell", "claude", "--stop", *AT_ONCE, env=ANA).code == 0
    assert askdesk("tell", "claude", "--stop", "wrong", "branch", "--by", "ben", *AT_ONCE, env=ANA).code == 0
    assert said(claude) == [("", True, "ana", "command line"), ("wrong branch", True, "ben", "command line")]


def test_stopping_needs_an_agent() -> None:
    at_work("claude", "/srv/site")
    for words in (["--stop"], ["--stop", "claude"]):
        ran = askdesk("tell", *words)
        assert ran == Ran(2, "", "askdesk: --stop comes after an AGENT; askdesk tell lists those at work\n")


def test_words_come_from_standard_input() -> None:
    claude = at_work("claude", "/srv/site")
    assert askdesk("tell", "claude", "-", *AT_ONCE, typed="first\n\nsecond\n", env=ANA).code == 0
    assert said(claude) == [("first\n\nsecond", False, "ana", "command line")]
    blank = askdesk("tell", "claude", "-", typed="\n")
    assert blank == Ran(2, "", "askdesk: text: must not be blank: there is nothing to tell\n")
    wrong = askdesk("tell", "claude", "-", typed=b"\xff")
    assert wrong == Ran(2, "", "askdesk: standard input: is not UTF-8 at byte 0\n")
    assert len(said(claude)) == 1


def test_what_is_told_to_an_agent_that_is_away_waits_for_its_session() -> None:
    away = Asker("claude", "s-9", "/srv/site")
    ask = posted(Question("Which?", ["a", "b"]), asker=away)
    ran = askdesk("tell", ask.id[:8], "use tabs", env=ANA)
    words = "kept for claude, which is not at work now: it waits until the session comes back"
    assert ran == Ran(0, "", f"askdesk: {words}\n")
    assert [one.text for one in takes_all(away)] == ["use tabs"]


def test_it_says_when_the_agent_has_it() -> None:
    """The agent is another process, that listens as a real one does."""
    code = """
        import asyncio
        from askdesk import Asker, open_desk
        async def main():
            async with open_desk() as desk, desk.at_work(Asker("claude", "s-1", "/srv/site")) as at_work:
                print("at work", flush=True)
                async for instruction in at_work:
                    await at_work.delivered(instruction)
                    print(instruction.text, flush=True)
                    return
        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=surroundings()) as agent:
        assert agent.stdout
        assert agent.stdout.readline() == "at work\n"
        ran = askdesk("tell", "claude", "use tabs", "--within", "20s", "--json", env=ANA)
        assert agent.stdout.readline() == "use tabs\n"
    answer = json.loads(ran.out)
    assert (ran.code, ran.err, answer["instruction"]["text"]) == (0, "", "use tabs")
    assert answer["heard"] >= answer["instruction"]["at"]


def test_what_was_told_lately_is_shown_with_how_far_it_is() -> None:
    claude = at_work("claude", "/srv/site")
    assert askdesk("tell", "claude") == Ran(0, "", "askdesk: claude was told nothing lately\n")
    askdesk("tell", "claude", "use tabs", *AT_ONCE, env=ANA)
    takes_all(claude)
    askdesk("tell", "claude", "--stop", *AT_ONCE, env=ANA)
    first, second = askdesk("tell", "claude").out.splitlines()
    assert first.startswith("use tabs (ana on command line, ")
    assert "; reached the agent at " in first
    assert second.startswith("stop (ana on command line, ")
    assert second.endswith("; waits: the agent has not taken it yet)")
    shown = json.loads(askdesk("tell", "claude", "--json").out)["told"]
    assert [one["heard"] is None for one in shown] == [False, True]
    assert [one.instruction.id for one in told(claude)] == [one["instruction"]["id"] for one in shown]


def test_in_an_agents_shell_nobody_is_told_anything_unless_forced() -> None:
    claude = at_work("claude", "/srv/site")
    for words in (["use tabs"], ["--stop"]):
        ran = askdesk("tell", "claude", *words, env={"CLAUDECODE": "1"})
        assert ran == Ran(
            2, "", "askdesk: this is an agent's shell (CLAUDECODE is set); a person should do this, or use --force\n"
        )
    assert said(claude) == []
    assert askdesk("tell", "claude", "use tabs", "--force", *AT_ONCE, env={"CLAUDECODE": "1", **ANA}).code == 0
    assert said(claude) == [("use tabs", False, "ana", "command line")]


def test_help_teaches() -> None:
    done = subprocess.run([*ASKDESK, "tell", "--help"], capture_output=True, text=True, check=True)
    assert "askdesk tell claude use tabs, please" in done.stdout
