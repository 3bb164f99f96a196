"""What an ACP agent asks of its client, put to people at a desk. Whatever breaks is a no, and never a yes.

A request of a session that is not ours is refused; one that the agent takes back is withdrawn.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any, Protocol

from askdesk.adapters import acp_elicitation
from askdesk.adapters.acp_connection import Method, RequestError, read, schema
from askdesk.adapters.acp_steps import Told
from askdesk.adapters.asking import Asking, Show
from askdesk.adapters.form_rounds import FormDesk
from askdesk.adapters.threads import is_cancelled
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk
from askdesk.core.model import Asker
from askdesk.wire import acp_question
from askdesk.wire.acp_permission import KINDS, Asked, Replied, cancelled, offered, refusal

log = logging.getLogger("askdesk")


class Steered(Protocol):
    """The agent whose requests these are: it can be stopped, and told something."""

    session: str

    def awaits(self, number: object) -> bool:
        """Whether it has not answered this request yet."""
        ...

    def say(self, words: str) -> None: ...

    def mention(self, words: str) -> None:
        """Say something that the response to a request has no place for."""
        ...

    async def stop(self) -> None: ...


class Asks:
    """Any number of requests may wait at once."""

    def __init__(
        self, desk: Desk, asker: Asker, told: Told, agent: Steered, *, deadline: timedelta | None, show: Show | None
    ) -> None:
        self._desk, self.asker, self._told, self._agent = desk, asker, told, agent
        self._deadline, self._show = deadline, show
        self.was_refused = False  # by a person; an agent may end its turn for that
        self._open: dict[asyncio.Future[Any], str] = {}  # with the id of the elicitation, where it has one

    @property
    def methods(self) -> dict[str, Method]:
        return {
            "session/request_permission": self._permission,
            "elicitation/create": self._elicitation,
            "elicitation/complete": self._completed,
        }

    def end(self) -> None:
        """Take back all that is open: its turn was stopped, so nothing that it waits for counts any more."""
        for waiting in list(self._open):
            waiting.cancel()

    async def _permission(self, params: dict[str, Any]) -> dict[str, Any]:
        given = _known(params)
        self._check_session(read(schema.RequestPermissionRequest, given).session_id)
        options = offered(given["options"])
        try:
            asked = acp_question.asked(given, self._told.known(given["toolCall"]), self.asker.project)
            return await self._response(self._replied(asked), cancelled(), refusal(options).response)
        except InvalidAsk as error:
            log.warning("a request of the agent cannot be asked, and is refused: %s", error)
            return refusal(options, str(error)).response

    async def _replied(self, asked: Asked) -> Replied:
        """Without a key: what was once said to a call is never said to another of the same name."""
        asking = Asking(self._desk, self.asker, deadline=self._deadline, show=self._show)
        settlement = await asking.settlement(asked.body)
        assert settlement is not None  # noqa: S101 - without an end to its patience there is one
        return asked.reply(settlement.outcome)

    async def _elicitation(self, params: dict[str, Any]) -> dict[str, Any]:
        if params.get("sessionId") is not None or not self._agent.awaits(params.get("requestId")):
            self._check_session(params.get("sessionId"))
        forms = FormDesk(self._desk, self.asker, deadline=self._deadline, show=self._show)
        replied = acp_elicitation.replied(forms, params)
        number = f"{params.get('elicitationId') or ''}"
        try:
            return await self._response(replied, acp_elicitation.CANCELLED, acp_elicitation.CANCELLED, number)
        except InvalidAsk as error:
            log.warning("what the agent wants to ask people is declined: %s", error)
            return acp_elicitation.refused(str(error))

    async def _completed(self, params: dict[str, Any]) -> None:
        """A page that somebody was asked to open has done its work: nobody need open it any more."""
        for waiting, number in list(self._open.items()):
            if number and number == params.get("elicitationId"):
                waiting.cancel()

    def _check_session(self, session: object) -> None:
        if not session or session != self._agent.session:
            raise RequestError.invalid_params({"problems": [{"path": "sessionId", "rule": "is no session of ours"}]})

    async def _response(
        self, replied: Coroutine[Any, Any, Replied], stopped: dict[str, Any], broken: dict[str, Any], number: str = ""
    ) -> dict[str, Any]:
        """What goes back: what came of it, or what says that its turn was stopped, or that nobody could be asked."""
        waiting = asyncio.ensure_future(replied)
        self._open[waiting] = number
        try:
            made = await waiting
            await self._follow(made)
        except asyncio.CancelledError:
            if is_cancelled():  # the agent took it back, or is gone
                raise
            return stopped
        except (RequestError, InvalidAsk):
            raise
        except Exception as error:
            log.error("nobody could be asked: %s", type(error).__name__, exc_info=error)
            return broken
        finally:
            del self._open[waiting]
        return made.response

    async def _follow(self, replied: Replied) -> None:
        """What is left to do beside the response."""
        self.was_refused |= replied.is_no
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
