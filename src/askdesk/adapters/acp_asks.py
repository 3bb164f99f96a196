"""What an ACP agent asks of its client, put to people at a desk. Whatever breaks is a no, and never a yes.

A request of a session that is not ours is refused; one that the agent takes back is withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from acp.schema import RequestPermissionRequest

from askdesk.adapters.acp_connection import Method, RequestError, read
from askdesk.adapters.acp_steps import Told
from askdesk.adapters.asking import Asking
from askdesk.adapters.threads import is_cancelled
from askdesk.core.errors import InvalidAsk
from askdesk.core.model import Outcome, Permission, Questions
from askdesk.wire import acp_question
from askdesk.wire.acp_permission import KINDS, Asked, Replied, cancelled, offered, refusal

log = logging.getLogger("askdesk")


class Steered(Protocol):
    """The agent whose requests these are: it can be stopped, and told something."""

    session: str

    def say(self, words: str) -> None: ...

    def mention(self, words: str) -> None:
        """Say something that the response to a request has no place for."""
        ...

    async def stop(self) -> None: ...


class Asks:
    """Any number of requests may wait at once."""

    def __init__(self, asking: Asking, told: Told, agent: Steered) -> None:
        self._asking, self._told, self._agent = asking, told, agent
        self._open: set[asyncio.Future[Any]] = set()

    @property
    def methods(self) -> dict[str, Method]:
        return {"session/request_permission": self._permission}

    def end(self) -> None:
        """Take back all that is open: its turn was stopped, so nothing that it waits for counts any more."""
        for settling in list(self._open):
            settling.cancel()

    async def _permission(self, params: dict[str, Any]) -> dict[str, Any]:
        given = _known(params)
        self._check_session(read(RequestPermissionRequest, given).session_id)
        options = offered(given["options"])
        try:
            asked = acp_question.asked(given, self._told.known(given["toolCall"]), self._asking.asker.project)
        except InvalidAsk as error:
            log.warning("a request of the agent cannot be asked, and is refused: %s", error)
            return refusal(options, str(error)).response
        replied = await self._replied(asked)
        await self._follow(replied)
        return replied.response

    def _check_session(self, session: str) -> None:
        if session != self._agent.session:
            raise RequestError.invalid_params({"problems": [{"path": "sessionId", "rule": "is no session of ours"}]})

    async def _replied(self, asked: Asked) -> Replied:
        try:
            return asked.reply(await self.outcome(asked.body))
        except asyncio.CancelledError:
            if is_cancelled():  # the agent took it back, or is gone
                raise
            return Replied(cancelled())  # its turn was stopped
        except Exception as error:
            log.error("nobody could be asked: %s", type(error).__name__, exc_info=error)
            return asked.refused()

    async def outcome(self, body: Questions | Permission) -> Outcome:
        """How an ask ended. Without a key: what was once said to a call is never said to another of the same name."""
        settling = asyncio.ensure_future(self._asking.settlement(body))
        self._open.add(settling)
        try:
            settlement = await settling
        finally:
            self._open.discard(settling)
        assert settlement is not None  # noqa: S101 - without an end to its patience there is one
        return settlement.outcome

    async def _follow(self, replied: Replied) -> None:
        """What is left to do beside the response."""
        if replied.unsaid:
            self._agent.mention(replied.unsaid)
        if replied.stop:
            with suppress(ConnectionError):
                await self._agent.stop()
        if replied.then:
            self._agent.say(replied.then)


def _known(params: Mapping[str, Any]) -> dict[str, Any]:
    """The request without the options of unknown kinds, which nobody may choose."""
    options = params.get("options")
    if not isinstance(options, list):
        return dict(params)
    strange = [option for option in options if isinstance(option, dict) and option.get("kind") not in KINDS]
    if strange:
        log.warning("left out %d options of unknown kinds", len(strange))
    return {**params, "options": [option for option in options if option not in strange]}
