"""A scripted model on loopback: it speaks the Messages API, streaming or not, and says what the test tells it to.

A conversation is known by its first message. What it says comes from `turns`, or for a subagent from the entry of
`subagents` whose key is in the prompt that the subagent got; after the last turn it says "done".
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4


class Say(NamedTuple):
    text: str


class Call(NamedTuple):
    """A tool call. Its id is the test's to name where it matters; else it is one that no other call has."""

    name: str
    input: Mapping[str, Any]
    id: str = ""


Part: TypeAlias = Say | Call
Turn: TypeAlias = Part | list[Part]


def questions(*texts: str, labels: tuple[str, ...] = ("Postgres", "SQLite"), **more: Any) -> dict[str, Any]:
    """The input of an AskUserQuestion call: the same options for each text."""
    return {
        "questions": [
            {
                "question": text,
                "header": "Choice",
                "options": [{"label": label, "description": f"{label} desc"} for label in labels],
                "multiSelect": False,
                **more,
            }
            for text in texts
        ]
    }


DATABASE = questions("Which db?")


class ScriptedModel:
    """Serves until the block ends. `requests` are the bodies it was sent, `results` the tool results by call id."""

    def __init__(self, *turns: Turn, subagents: Mapping[str, Iterable[Turn]] | None = None) -> None:
        self._turns = iter(turns)
        self._subagents = {prompt: iter(turns) for prompt, turns in (subagents or {}).items()}
        self._lock = threading.Lock()
        self.requests: list[dict[str, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def __enter__(self) -> ScriptedModel:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def say(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """The content of the next message in the conversation that a request goes on with."""
        with self._lock:
            self.requests.append(request)
            first = json.dumps(request["messages"][0]["content"])
            turns = next((turns for prompt, turns in self._subagents.items() if prompt in first), self._turns)
            turn = next(turns, Say("done"))
        return [_block(part) for part in (turn if isinstance(turn, list) else [turn])]

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """Each tool result that the model was ever shown, without what only the API needs."""
        found: dict[str, dict[str, Any]] = {}
        for request in self.requests:
            for block in _blocks(request, "tool_result"):
                found[block["tool_use_id"]] = {
                    "content": _text(block.get("content", "")),
                    "is_error": bool(block.get("is_error")),
                }
        return found

    @property
    def result(self) -> str:
        """The text of the one tool result there is."""
        (only,) = self.results.values()
        text: str = only["content"]
        return text

    @property
    def said_to(self) -> list[str]:
        """Every text of the person that the model was shown in its last request."""
        return [block["text"] for block in _blocks(self.requests[-1], "text")]

    @property
    def tools(self) -> set[str]:
        """The tools of the first request that had any."""
        return next({tool["name"] for tool in request["tools"]} for request in self.requests if request.get("tools"))


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, Say):
        return {"type": "text", "text": part.text}
    return {"type": "tool_use", "id": part.id or f"toolu_{uuid4().hex[:20]}", "name": part.name, "input": part.input}


def _blocks(request: Mapping[str, Any], kind: str) -> Iterator[dict[str, Any]]:
    for message in request["messages"]:
        content = message["content"]
        if message["role"] == "user":
            for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
                if block["type"] == kind:
                    yield block


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _message(request: Mapping[str, Any], content: list[dict[str, Any]]) -> dict[str, Any]:
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": f"msg_{uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def _events(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A message as it is streamed: each block in one piece."""
    yield {"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty, delta = (
                {**block, "input": {}},
                {"type": "input_json_delta", "partial_json": json.dumps(block["input"])},
            )
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if not self.path.startswith("/v1/messages") or "count_tokens" in self.path:
                self._send(404, "application/json", b'{"type":"error","error":{"type":"not_found_error","message":""}}')
                return
            message = _message(request, model.say(request))
            if request.get("stream"):
                events = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message))
                self._send(200, "text/event-stream", "".join(events).encode())
            else:
                self._send(200, "application/json", json.dumps(message).encode())

        def do_HEAD(self) -> None:
            self._send(200, "text/plain", b"")

        def _send(self, status: int, kind: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("request-id", f"req_{uuid4().hex[:12]}")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing: a test tells what it needs to."""

    return Handler
