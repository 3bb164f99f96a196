"""A scripted model on loopback: it says what it is told to, in the Messages, Chat Completions and Responses APIs.

The examples run against it without a key and without a network; tests read in it what a model was shown.
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
    """A tool call. Its id is the script's to name where it matters; else it is one that no other call has."""

    name: str
    input: Mapping[str, Any]
    id: str = ""


class Sent(NamedTuple):
    """What goes back over HTTP."""

    kind: str
    body: bytes


Part: TypeAlias = Say | Call
Turn: TypeAlias = Part | list[Part]

DEMO: tuple[Turn, ...] = (
    Call(
        "AskUserQuestion",
        {
            "questions": [
                {
                    "question": "Which database should the project use?",
                    "header": "Database",
                    "options": [
                        {"label": "SQLite (Recommended)", "description": "One file, nothing to run"},
                        {"label": "Postgres", "description": "A server, for many writers"},
                    ],
                    "multiSelect": False,
                }
            ]
        },
    ),
    [
        Say("Two commands, then."),
        Call("Bash", {"command": "echo hello from the agent"}),
        Call("Bash", {"command": "touch made-by-the-agent.txt"}),
    ],
    Say("That is all I wanted to do."),
)


class ScriptedModel:
    """Serves from the moment it is made. `requests` are the bodies it was sent; after its last turn it says "done"."""

    def __init__(self, *turns: Turn) -> None:
        self._turns = iter(turns)
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

    def turns(self, request: Mapping[str, Any]) -> Iterator[Turn]:
        """The script of the conversation that a request goes on with."""
        return self._turns

    def reply(self, path: str, request: dict[str, Any]) -> Sent | None:
        """The next turn, in the format of the API at this path; None where there is no such API."""
        if (written := _APIS.get(path)) is None:
            return None
        with self._lock:
            self.requests.append(request)
            turn = next(self.turns(request), Say("done"))
        return self.sent(request, written(request, turn if isinstance(turn, list) else [turn]))

    def sent(self, request: Mapping[str, Any], message: dict[str, Any]) -> Sent:
        return Sent("application/json", json.dumps(message).encode())

    @property
    def results(self) -> dict[str, dict[str, Any]]:
        """Each tool result that the model was ever shown, by the call's id."""
        return {call: result for request in self.requests for call, result in _results(request)}

    @property
    def result(self) -> str:
        """The text of the one tool result there is."""
        (only,) = self.results.values()
        text: str = only["content"]
        return text


def _message(request: Mapping[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    content = [_block(part) for part in parts]
    calls = any(block["type"] == "tool_use" for block in content)
    return {
        "id": _id("msg"),
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 20},
    }


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, Say):
        return {"type": "text", "text": part.text}
    return {"type": "tool_use", "id": part.id or _id("toolu"), "name": part.name, "input": part.input}


def _completion(request: Mapping[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    parts = list(parts)
    said = "".join(part.text for part in parts if isinstance(part, Say))
    calls = [
        {"id": part.id or _id("call"), "type": "function", "function": _function(part)}
        for part in parts
        if isinstance(part, Call)
    ]
    message = {"role": "assistant", "content": said or None, **({"tool_calls": calls} if calls else {})}
    return {
        "id": _id("chatcmpl"),
        "object": "chat.completion",
        "created": 0,
        "model": request["model"],
        "choices": [{"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}],
    }


def _response(request: Mapping[str, Any], parts: Iterable[Part]) -> dict[str, Any]:
    return {
        "id": _id("resp"),
        "object": "response",
        "created_at": 0,
        "status": "completed",
        "model": request["model"],
        "output": [_item(part) for part in parts],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": request.get("tools", []),
    }


def _item(part: Part) -> dict[str, Any]:
    if isinstance(part, Call):
        called = {"type": "function_call", "id": _id("fc"), "call_id": part.id or _id("call"), "status": "completed"}
        return {**called, **_function(part)}
    content = [{"type": "output_text", "text": part.text, "annotations": []}]
    return {"type": "message", "id": _id("msg"), "role": "assistant", "status": "completed", "content": content}


def _function(call: Call) -> dict[str, str]:
    return {"name": call.name, "arguments": json.dumps(call.input)}


_APIS = {"/v1/messages": _message, "/v1/chat/completions": _completion, "/v1/responses": _response}


def _results(request: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for item in request.get("input", ()):
        if item.get("type") == "function_call_output":
            yield item["call_id"], {"content": item["output"], "is_error": False}
    for message in request.get("messages", ()):
        if message["role"] == "tool":
            yield message["tool_call_id"], {"content": message["content"], "is_error": False}
        for block in user_blocks(message):
            if block["type"] == "tool_result":
                told = {"content": _text(block.get("content", "")), "is_error": bool(block.get("is_error"))}
                yield block["tool_use_id"], told


def user_blocks(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the person's side said in a message of the Messages API."""
    content = message["content"] if message["role"] == "user" else []
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block.get("text", "") for block in content)


def _id(kind: str) -> str:
    return f"{kind}_{uuid4().hex[:20]}"


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            sent = model.reply(self.path.partition("?")[0], request)
            nothing = Sent("application/json", b'{"type":"error","error":{"type":"not_found_error","message":""}}')
            self._send(200 if sent else 404, sent or nothing)

        def do_HEAD(self) -> None:
            self._send(200, Sent("text/plain", b""))

        def _send(self, status: int, sent: Sent) -> None:
            self.send_response(status)
            self.send_header("Content-Type", sent.kind)
            self.send_header("Content-Length", str(len(sent.body)))
            self.send_header("request-id", _id("req"))
            self.end_headers()
            self.wfile.write(sent.body)

        def log_message(self, format: str, *arguments: object) -> None:
            """Nothing: whoever runs it tells what it needs to."""

    return Handler
