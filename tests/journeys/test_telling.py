"""A person and an agent on different machines: what is told arrives once, whoever dies on the way."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.cli.command import Ran, askdesk, surroundings
from tests.stores.remote import Serving, new_tokens, serving

AGENT = textwrap.dedent("""
    import asyncio, sys
    from askdesk import Asker, open_desk

    async def main():
        async with open_desk() as desk, desk.at_work(Asker("claude", "s-1", "/srv/site")) as at_work:
            print("at work", flush=True)
            async for instruction in at_work:
                print(instruction.text, flush=True)
                if instruction.text == "hang":
                    await asyncio.sleep(1000)
                await at_work.delivered(instruction)

    asyncio.run(main())
""")


class Machines:
    """A server, and the surroundings of an agent and of a person who each have nothing but their own token."""

    def __init__(self, store: Path) -> None:
        self.store = store
        tokens = asyncio.run(new_tokens(store))
        self._asker, self._answerer = tokens["asker_token"], tokens["answerer_token"]

    @contextmanager
    def agent(self, server: Serving) -> Iterator[subprocess.Popen[str]]:
        env = surroundings({"ASKDESK_STORE": server.url, "ASKDESK_TOKEN": self._asker})
        command = [sys.executable, "-c", AGENT]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as process:
            try:
                assert hears(process) == "at work"
                yield process
            finally:
                process.kill()

    def tell(self, server: Serving, *words: str) -> Ran:
        return askdesk("tell", *words, env={"ASKDESK_STORE": server.url, "ASKDESK_ANSWER_TOKEN": self._answerer})


def hears(agent: subprocess.Popen[str]) -> str:
    assert agent.stdout
    return agent.stdout.readline().strip()


@pytest.fixture
def machines(tmp_path: Path) -> Machines:
    return Machines(tmp_path / "server.db")


PATIENT = ("--within", "20s")


def test_what_is_told_elsewhere_is_heard_also_after_the_server_was_killed(machines: Machines) -> None:
    with serving(machines.store) as server, machines.agent(server) as agent:
        assert machines.tell(server, "claude", "use tabs", *PATIENT) == Ran(0, "", "askdesk: claude has it\n")
        assert hears(agent) == "use tabs"
        server.killed()
        with serving(machines.store, server.port) as again:
            assert machines.tell(again, "site", "and blanks", *PATIENT) == Ran(0, "", "askdesk: claude has it\n")
            assert hears(agent) == "and blanks"
            lines = machines.tell(again, "claude").out.splitlines()
    assert [line.partition(" (ana on command line, ")[0] for line in lines] == ["use tabs", "and blanks"]


def test_what_an_agent_died_with_is_heard_by_the_next_of_its_session(machines: Machines) -> None:
    with serving(machines.store) as server:
        with machines.agent(server) as first:
            machines.tell(server, "claude", "use tabs", *PATIENT)
            machines.tell(server, "claude", "hang", "--within", "0.01s")
            assert (hears(first), hears(first)) == ("use tabs", "hang")
        with machines.agent(server) as second:
            assert hears(second) == "hang"
