"""A scripted model for Codex: the Responses API on loopback, streamed as Codex reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import scripted_model
from scripted_model import Call, Say, Sent

__all__ = ["Call", "Say", "ScriptedModel"]


class ScriptedModel(scripted_model.ScriptedModel):
    """Serves until the block ends. `requests` are the bodies it was sent, `results` the tool results by call id."""

    def __enter__(self) -> ScriptedModel:
        return self

    def sent(self, request: Mapping[str, Any], message: dict[str, Any]) -> Sent:
        events = (f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(message))
        return Sent("text/event-stream", "".join(events).encode())


def _events(response: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A response as it is streamed: each item in one piece."""
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None}
    yield {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
    for index, item in enumerate(map(_named, response["output"])):
        yield {"type": "response.output_item.added", "output_index": index, "item": item}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    yield {"type": "response.completed", "response": {**response, "usage": {**usage, "total_tokens": 2}}}


def _named(item: dict[str, Any]) -> dict[str, Any]:
    """Codex gives a server's tools in a namespace, and looks for a call of one there."""
    *namespace, name = item.get("name", "").rsplit("__", 1)
    return {**item, "namespace": namespace[0], "name": name} if namespace else item
