"""For programs that are an MCP client: what the servers they use ask people is asked at a desk.

    client = Client(server, elicitation_callback=elicitation_callback(desk, server="github"))

Forms become asks, answered on every surface; an address is opened only once a person chose to. Both eras of the
protocol call the same callback. What nobody should be asked (secrets, unsafe addresses, forms that are none) is
declined, and the log says why; what breaks is cancelled. Nothing is raised into the client.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeAlias, cast

from msgspec.structs import replace

from askdesk.adapters.form_rounds import FormDesk
from askdesk.adapters.threads import called, is_cancelled
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError, InvalidAsk, MissingGuest, quoted
from askdesk.core.model import Answered, Asker, Declined, Outcome, PreviewFormat
from askdesk.wire import form_of_others, url_of_others

try:
    from mcp.client.session import ClientRequestContext, ElicitationFnT
    from mcp.types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult
except ImportError:
    raise MissingGuest("mcp", "mcp") from None

log = logging.getLogger("askdesk")

OpenUrl: TypeAlias = Callable[[str], Any] | Callable[[str], Awaitable[Any]]
"""Opens an address for the person, asynchronous or not; False or an error says that it could not."""


def elicitation_callback(
    desk: Desk,
    *,
    asker: Asker | None = None,
    server: str = "",
    deadline: timedelta | None = None,
    open_url: OpenUrl | None = None,
    previews: PreviewFormat = "none",
) -> ElicitationFnT:
    """What `mcp.Client` and `mcp.ClientSession` take as their `elicitation_callback`.

    `server` is the name by which people know the server, which is who asks; with an asker of your own, that one is its
    parent. Without `open_url` a person opens addresses by hand. `deadline` counts for a form and all that follows it.
    """
    elicitor = _Elicitor(FormDesk(desk, _asker(asker, server), deadline=deadline, previews=previews), server, open_url)
    return elicitor.elicited


def _asker(asker: Asker | None, server: str) -> Asker:
    if asker is None:
        return Asker(server or "MCP server", host=socket.gethostname(), process=os.getpid())
    return replace(asker, agent=server, parent=asker.agent) if server else asker


class _Elicitor:
    def __init__(self, desk: FormDesk, server: str, open_url: OpenUrl | None) -> None:
        self._desk, self._server, self._open_url = desk, server, open_url

    async def elicited(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult:
        """How people replied; cancelled, it takes back what it asked."""
        try:
            if isinstance(params, ElicitRequestFormParams):
                return await self._form(params.message, params.requested_schema)
            return await self._url(params.message, params.url)
        except InvalidAsk as error:
            log.warning("what %s wants to ask people is declined: %s", self._who, error)
            return ElicitResult(action="decline")
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            log.error("what %s asks is cancelled, because nobody could be asked", self._who)
        except AskdeskError as error:
            log.error("what %s asks is cancelled, because nobody could be asked: %s", self._who, error)
        except Exception:  # a client would end the call, or itself
            log.exception("what %s asks is cancelled, because nobody could be asked", self._who)
        return ElicitResult(action="cancel")

    @property
    def _who(self) -> str:
        return f"the MCP server {quoted(self._server)}" if self._server else "an MCP server"

    async def _form(self, message: str, schema: object) -> ElicitResult:
        filled = await self._desk.filled(form_of_others.read(message, schema))
        if isinstance(filled, dict):
            return ElicitResult(action="accept", content=cast("dict[str, Any]", filled))
        return _unanswered(filled)

    async def _url(self, message: str, url: str) -> ElicitResult:
        outcome = await self._desk.asked(url_of_others.read(message, url, opens=self._open_url is not None))
        if not isinstance(outcome, Answered):
            return _unanswered(outcome)
        if not url_of_others.is_wanted(outcome):
            return ElicitResult(action="decline")
        if self._open_url is not None and await called(self._open_url, url) is False:
            log.error("an address that a person wanted to open could not be opened")
            return ElicitResult(action="cancel")
        return ElicitResult(action="accept")


def _unanswered(outcome: Outcome) -> ElicitResult:
    """Of what was asked, only a person declines; whatever else ends it is no decision."""
    return ElicitResult(action="decline" if isinstance(outcome, Declined) else "cancel")
