"""One tool that an agent's host asks before the agent may call another one: `claude -p --permission-prompt-tool`.

Whatever breaks is a deny in plain words; only a person's yes is an allow. It does not know the mcp library.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from askdesk.adapters.mcp_waiting import Tell, take_back, telling
from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AskdeskError, InvalidAsk, KeyReused, Problem, quoted
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import Ask, Asker, Permission, PreviewFormat, Questions
from askdesk.wire import mcp, permission

log = logging.getLogger("askdesk")

NAME = "approve"
_UNASKED = "NOT ALLOWED: nobody could be asked, so the call did not run. This is not consent: do not work around it."
_INVALID = "NOT ALLOWED: the call breaks these rules, so nobody was asked and it did not run.\n{}"
TOOL = mcp.Tool(
    NAME,
    "",
    "Ask people whether an agent may call a tool, or put its questions to them.",
    {
        "type": "object",
        "properties": {
            "tool_name": {"type": "string", "description": "The tool that the agent wants to call"},
            "input": {"type": "object", "description": "What it would be called with"},
            "tool_use_id": {"type": "string", "description": "The call's id"},
        },
        "required": ["tool_name", "input"],
    },
    metadata={},
    annotations={},
)


class PermissionPrompt:
    """Puts the calls that a host asks about on a desk, and waits for as long as it takes.

    While it waits it tells the client so, every so many seconds: hosts give up on a tool that is silent.
    """

    def __init__(
        self,
        desk: Desk,
        asker: Asker,
        *,
        folder: str = "",
        deadline: timedelta | None = None,
        previews: PreviewFormat = "markdown",
        limits: Limits = OPEN,
        tell_every: float = 30.0,
    ) -> None:
        self._desk, self._asker, self._folder = desk, asker, folder
        self._deadline, self._previews, self._limits = deadline, previews, limits
        self._tell_every = tell_every

    async def decided(self, given: Mapping[str, Any], tell: Tell) -> dict[str, Any]:
        """The verdict on a call, as hosts expect it. Cancelled, it takes the ask back."""
        try:
            async with telling(tell, self._tell_every):
                body, key = self._read(given)
                return await self._verdict(body, key)
        except InvalidAsk as error:
            return _denied(_INVALID.format(error))
        except AskdeskError as error:
            log.error("a call is denied, because nobody could be asked: %s", error)
            return _denied(_UNASKED)
        except Exception:  # a host would show its text to the model
            log.exception("a call is denied, because nobody could be asked")
            return _denied(_UNASKED)

    def _read(self, given: Mapping[str, Any]) -> tuple[Questions | Permission, str | None]:
        name, value, key = given.get("tool_name"), given.get("input"), given.get("tool_use_id") or None
        problems = []
        if not isinstance(name, str):
            problems.append(Problem("tool_name", f"must be text, is {quoted(name)}"))
        if not isinstance(value, Mapping):
            problems.append(Problem("input", f"must be an object, is {quoted(value)}"))
        if not isinstance(key, str | None):
            problems.append(Problem("tool_use_id", f"must be text, is {quoted(key)}"))
        if problems:
            raise InvalidAsk(problems)
        return permission.body(name, value, folder=self._folder, limits=self._limits), key  # type: ignore[arg-type]

    async def _verdict(self, body: Questions | Permission, key: str | None) -> dict[str, Any]:
        ask_id = new_id()  # known before it is kept, so that it can be taken back at any moment
        try:
            ask = await self._posted(body, key, ask_id)
            ask_id = ask.id
            settlement = await self._desk.wait(ask_id)
        except BaseException:  # cancelled: the client takes its call back, or is gone; else the call will be denied
            await take_back(self._desk, ask_id)
            raise
        assert settlement is not None  # noqa: S101 - a wait without a timeout ends with a settlement
        return permission.decision(ask.body, settlement.outcome)

    async def _posted(self, body: Questions | Permission, key: str | None, ask_id: str) -> Ask:
        try:
            return await self._desk.post(
                body,
                asker=self._asker,
                key=key,
                deadline=self._deadline,
                preview_format=self._previews if isinstance(body, Questions) else "none",
                id=ask_id,
            )
        except KeyReused as error:
            standing = (await self._desk.get(error.ask_id)).ask
            if isinstance(body, Permission) and standing.permission and standing.permission.digest == body.digest:
                return standing  # the same call, which another door has put with more said about it
            raise


def _denied(message: str) -> dict[str, Any]:
    return {"behavior": "deny", "message": message}
