"""Hosts on the TypeScript client of the Model Context Protocol: one Node, in which each conversation is a host."""

from __future__ import annotations

import itertools
import json
import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from tests.cli.command import ASKDESK, SECONDS, surroundings
from tests.peers import node, node_modules

SCRIPT = Path(__file__).parent / "host.mjs"
FORMS: dict[str, Any] = {"form": {}}
A_PERSON_TAKES = 0.5  # seconds at least, to read a form and send it; what comes sooner is nobody's
ERAS = {"2025-11-25": None, "2026-07-28": "2026-07-28"}  # what the client is told; untold, it shakes hands

_HAPPENS = ("connected", "dialog", "taken back", "progress", "result", "wanted", "stopped", "closed", "tools")

Event = dict[str, Any]


class Dialog(NamedTuple):
    """What a person is shown, by a host."""

    number: int
    message: str
    fields: dict[str, Any]
    since: float


class Node:
    """The process; it is told what to do, and tells what happened."""

    def __init__(self) -> None:
        command = [str(node()), str(SCRIPT), str(node_modules())]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._names, self._calls = itertools.count(), itertools.count()
        self._heard: dict[str, queue.Queue[Event]] = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            event = json.loads(line)
            self._heard[event.pop("as")].put(event)

    def __enter__(self) -> Node:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream
            stream.close()

    def says(self, deed: str, **parts: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"do": deed, **parts}) + "\n")
        self.process.stdin.flush()

    def new_call(self) -> int:
        return next(self._calls)

    def new_host(self) -> tuple[str, queue.Queue[Event]]:
        name = f"h{next(self._names)}"
        self._heard[name] = queue.Queue()
        return name, self._heard[name]


class Host:
    """One conversation of a host with our server."""

    def __init__(self, around: Node, server: Mapping[str, Any], era: str, forms: Mapping[str, Any] | None) -> None:
        self._node = around
        self._name, self._heard = around.new_host()
        self._kept: deque[Event] = deque()
        told = {"elicitation": forms} if forms is not None else {}
        self.says("connect", server=server, era=ERAS[era], name="ts-host", **told)
        self.pid = self.hears("connected", era=era)["pid"]

    def says(self, deed: str, **parts: Any) -> None:
        self._node.says(deed, **{"as": self._name}, **parts)

    def hears(self, event: str, **parts: Any) -> Event:
        """The next that is such an event, having these parts; what else happens is for later."""
        end = time.monotonic() + SECONDS
        for kept in tuple(self._kept):
            if _is(kept, event, parts):
                self._kept.remove(kept)
                return kept
        while True:
            try:
                heard = self._heard.get(timeout=max(0, end - time.monotonic()))
            except queue.Empty:
                raise AssertionError(f"no {event} {parts}, but {list(self._kept)}") from None
            if _is(heard, event, parts):
                return heard
            self._kept.append(heard)

    def has_heard(self, event: str) -> list[Event]:
        while not self._heard.empty():
            self._kept.append(self._heard.get())
        return [kept for kept in self._kept if kept["event"] == event]

    def calls(self, arguments: Mapping[str, Any], name: str = "ask_user_question", **options: Any) -> int:
        call = self._node.new_call()
        self.says("call", call=call, name=name, arguments=arguments, options=options)
        return call

    def asks(self, arguments: Mapping[str, Any], name: str = "ask_user_question", **options: Any) -> tuple[int, Dialog]:
        """Call, and look at the dialog that comes of it."""
        call = self.calls(arguments, name, **options)
        shown = self.hears("dialog")
        return call, Dialog(shown["dialog"], shown["message"], shown["requestedSchema"]["properties"], time.monotonic())

    def answers(self, dialog: Dialog, action: str, content: Mapping[str, Any] | None = None) -> None:
        """What a person does with the dialog, once they can have read it."""
        time.sleep(max(0, dialog.since + A_PERSON_TAKES - time.monotonic()))
        result = {"action": action} if content is None else {"action": action, "content": content}
        self.says("answer", dialog=dialog.number, result=result)

    def result(self, call: int) -> tuple[str, bool]:
        """What the model reads, and whether it is told as an error."""
        heard = self.hears("result", call=call)
        return heard["text"], heard["isError"]

    def close(self) -> None:
        self.says("close")
        complaints = self.hears("closed")["complaints"]
        assert complaints == "", complaints


def _is(event: Event, name: str, parts: Mapping[str, Any]) -> bool:
    assert event["event"] in (name, *_HAPPENS), event
    return event["event"] == name and all(event.get(part) == value for part, value in parts.items())


def over_stdio(store: Path, *options: str, seconds: float = 0.3, **env: str) -> dict[str, Any]:
    """A server of its own for the host that is told so."""
    ours = {"ASKDESK_STORE": str(store), "ASKDESK_BY": "ana", "ASKDESK_DIALOG_SECONDS": f"{seconds}"}
    return {"command": [*ASKDESK, "mcp", *options], "env": surroundings({**ours, **env})}


def over_http(url: str, tokens: Mapping[str, str]) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {tokens['asker_token']}", "Askdesk-Answer-Token": tokens["answerer_token"]}
    return {"url": f"{url}/mcp", "headers": headers}


@contextmanager
def hosted(around: Node, server: Mapping[str, Any], era: str, forms: Mapping[str, Any] | None = None) -> Iterator[Host]:
    """A host until the block ends."""
    host = Host(around, server, era, forms)
    yield host
    host.close()
