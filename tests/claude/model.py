"""A scripted model for Claude Code: it streams, knows subagents, and tells what it was shown.

A conversation is known by its first message. What it says comes from `turns`, or for a subagent from the entry of
`subagents` whose key is in the prompt that the subagent got; after the last turn it says "done".
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import scripted_model
from scripted_model import Call, Part, Say, Sent, Turn, user_blocks

__all__ = ["DATABASE", "Call", "Part", "Say", "ScriptedModel", "Turn", "questions"]


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


class ScriptedModel(scripted_model.ScriptedModel):
    """Serves until the block ends. `requests` are the bodies it was sent, `results` the tool results by call id."""

    def __init__(self, *turns: Turn, subagents: Mapping[str, Iterable[Turn]] | None = None) -> None:
        self._subagents = {prompt: iter(turns) for prompt, turns in (subagents or {}).items()}
        super().__init__(*turns)

    def __enter__(self) -> ScriptedModel:
        return self

    def turns(self, request: Mapping[str, Any]) -> Iterator[Turn]:
        first = json.dumps(request["messages"][0]["content"])
        return next((turns for prompt, turns in self._subagents.items() if prompt in first), super().turns(request))

    def sent(self, request: Mapping[str, Any], message: dict[str, Any]) -> Sent:
        if not request.get("stream"):
            return super().sent(request, message)
        events = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message))
        return Sent("text/event-stream", "".join(events).encode())

    @property
    def said_to(self) -> list[str]:
        """Every text of the person that the model was shown in its last request."""
        blocks = (block for message in self.requests[-1]["messages"] for block in user_blocks(message))
        return [block["text"] for block in blocks if block["type"] == "text"]

    @property
    def tools(self) -> set[str]:
        """The tools of the first request that had any."""
        return next({tool["name"] for tool in request["tools"]} for request in self.requests if request.get("tools"))


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
