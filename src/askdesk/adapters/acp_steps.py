"""What an update of an ACP session means to a program that only shows the run, and what is known of its tool calls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from askdesk.adapters.steps import Called, Piece, Said, Step
from askdesk.wire.acp_permission import tool_name

_RUNS = ("in_progress", "completed", "failed")
_MOST_CALLS = 1000  # that are remembered: a permission may be asked for one that was told of before


class Told:
    """What a session told: the words of its turn so far, and its tool calls by their ids."""

    def __init__(self) -> None:
        self._calls: dict[str, dict[str, Any]] = {}
        self._called: dict[str, None] = {}  # those that were shown: once it is known with what they are called
        self._message: str | None = None
        self._words: list[str] = []
        self.last = ""  # the last whole text

    def begin(self) -> None:
        """A new turn: nothing has been said in it."""
        self._message, self.last = None, ""
        self._words.clear()

    def steps(self, update: Mapping[str, Any]) -> Iterator[Step]:
        """Nothing for thoughts, for what the person said, and for updates about the session itself."""
        match update:
            case {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": str(text)}}:
                if update.get("messageId") != self._message:
                    yield from self.said()
                    self._message = update.get("messageId")
                self._words.append(text)
                yield Piece(text)
            case {"sessionUpdate": "tool_call" | "tool_call_update", "toolCallId": str(number)}:
                yield from self.said()
                if update["sessionUpdate"] == "tool_call":  # another one, also where its id was there before
                    self._calls.pop(number, None)
                    self._called.pop(number, None)
                call = self.known(update)
                if number not in self._called and (call.get("rawInput") or call.get("status") in _RUNS):
                    self._called[number] = None
                    yield _called(call)
            case {"sessionUpdate": "plan", "entries": [*entries]}:
                yield from self.said()
                yield Called("plan", {"entries": _plan(entries)})
            case _:
                return

    def said(self) -> Iterator[Step]:
        """The text that has been said in pieces, once it is whole."""
        if self._words:
            self.last = "".join(self._words)
            self._words.clear()
            yield Said(self.last)

    def known(self, update: Mapping[str, Any]) -> dict[str, Any]:
        """A tool call with all that was told of it, this included."""
        number = update["toolCallId"]
        fields = {name: value for name, value in update.items() if value is not None and name != "sessionUpdate"}
        before = self._calls.pop(number, {})
        meta = {**_object(before.get("_meta")), **_object(fields.get("_meta"))}
        self._calls[number] = {**before, **fields, **({"_meta": meta} if meta else {})}
        while len(self._calls) > _MOST_CALLS:
            forgotten = next(iter(self._calls))
            del self._calls[forgotten]
            self._called.pop(forgotten, None)
        return self._calls[number]


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _called(call: Mapping[str, Any]) -> Called:
    """With the input of the tool; the title stands for one that is not known."""
    raw = call.get("rawInput")
    given = raw if isinstance(raw, dict) and raw else {"title": call.get("title")}
    return Called(tool_name(call), given)


def _plan(entries: list[Any]) -> str:
    """One line: how far it is, and what is in hand."""
    items = [entry for entry in entries if isinstance(entry, Mapping)]
    done = sum(entry.get("status") == "completed" for entry in items)
    now = next((entry.get("content") for entry in items if entry.get("status") == "in_progress"), "")
    return f"{done}/{len(items)} {now if isinstance(now, str) else ''}".rstrip()
