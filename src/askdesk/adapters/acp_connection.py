"""The Agent Client Protocol as it is on the wire: requests and notifications as plain JSON objects, both ways.

The only file that knows how the acp library sends and receives. On top of it: a request that nobody waits for any more
is taken back with `$/cancel_request`, one that the peer takes back is cancelled here, `_meta` stays where it is instead
of being mixed with the parameters, and no error of ours tells the peer more than that there was one.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, TypeVar

from askdesk.core.errors import MissingGuest, quoted

try:
    import acp.schema as schema
    from acp.connection import Connection
    from acp.exceptions import RequestError
    from acp.stdio import stdio_streams
    from pydantic import BaseModel, ValidationError
except ImportError:
    raise MissingGuest("agent-client-protocol", "acp") from None

__all__ = ["Method", "Peer", "RequestError", "read", "schema", "stdio_streams"]

log = logging.getLogger("askdesk")

Method: TypeAlias = Callable[[dict[str, Any]], Awaitable[Any]]

CANCEL = "$/cancel_request"
CANCELLED = -32800
_FAILED = -32603
_LAST_WORDS = 2.0  # seconds for a peer that goes to take what was still said to it
_Model = TypeVar("_Model", bound=BaseModel)


class Peer(Connection):
    """The other side. `methods` are ours, by name; `run` hears it until it is gone."""

    def __init__(
        self, methods: Mapping[str, Method], writer: asyncio.StreamWriter, reader: asyncio.StreamReader
    ) -> None:
        super().__init__(self._called, writer, reader, listening=False)
        self._methods = methods
        self._running: dict[str | int, asyncio.Task[Any]] = {}

    async def run(self) -> None:
        """Until the peer is gone; whatever it asked for and has not got is cancelled."""
        try:
            await self.hear()
        finally:
            await self.close()

    async def hear(self) -> None:
        """Until the peer is gone. Whoever does not `run` it must close it afterwards."""
        await self.main_loop()

    async def close(self) -> None:
        """A peer that has not read for a while may never: what was said to it last is given up then."""
        self._disconnect()
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._transport.close(), _LAST_WORDS)
        finally:
            await super().close()

    async def request(self, method: str, params: Mapping[str, Any]) -> Any:
        """The result of a request, sent as it stands. Cancelled, the peer is told that nobody waits for it."""
        number = self._next_request_id
        try:
            return await self.send_request(method, dict(params))
        except asyncio.CancelledError:
            with suppress(ConnectionError, OSError):
                await asyncio.shield(self.tell(CANCEL, {"requestId": number}))
            raise

    def awaits(self, number: object) -> bool:
        """Whether a request of ours with this id has not been answered yet."""
        return isinstance(number, int) and number in self._pending

    async def tell(self, method: str, params: Mapping[str, Any]) -> None:
        await self.send_notification(method, dict(params))

    async def _called(self, method: str, params: Any, is_notification: bool) -> Any:
        if method == CANCEL and is_notification:
            self._cancel(params)
            return None
        handler = self._methods.get(method)
        if handler is None and is_notification:
            return None  # news that nobody here has a use for
        if handler is None:
            raise RequestError.method_not_found(method)
        if not isinstance(params, dict) and params is not None:
            raise RequestError.invalid_params({"details": "params must be an object"})
        try:
            return await handler(params or {})
        except RequestError:
            raise
        except Exception:
            log.exception("a request of the peer failed: %s", quoted(method))
            raise RequestError.internal_error() from None

    def _cancel(self, params: Any) -> None:
        number = params.get("requestId") if isinstance(params, dict) else None
        if isinstance(number, str | int) and (task := self._running.get(number)):
            task.cancel()

    def _process_message(self, message: Any) -> None:
        """What is no message of the protocol is left out, and ends nothing."""
        is_known = isinstance(message, dict) and isinstance(message.get("id"), str | int | None)
        if is_known and isinstance(message.get("method"), str | None):
            super()._process_message(_answerable(message))
        else:
            log.warning("left out what is no message: %s", quoted(message))

    async def _run_request(self, message: dict[str, Any]) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - the library runs each request in one
        number = message["id"]
        self._running[number] = task
        try:
            await super()._run_request(message)
        except asyncio.CancelledError:
            if self._closed:
                raise
            error = {"code": CANCELLED, "message": "Request cancelled"}
            await self._transport.send({"jsonrpc": "2.0", "id": number, "error": error})
        finally:
            if self._running.get(number) is task:
                del self._running[number]


def _answerable(message: dict[str, Any]) -> dict[str, Any]:
    """With an error that is one, so that whoever waits for the response hears of it."""
    if not isinstance(message.get("error"), dict | None):
        log.warning("the peer failed with what is no error: %s", quoted(message["error"]))
        return {**message, "error": {"code": _FAILED, "message": quoted(message["error"])}}
    return message


def read(model: type[_Model], params: Mapping[str, Any]) -> _Model:
    """The parameters of a request, or an error that tells the peer where they break which rule."""
    try:
        return model.model_validate(params)
    except ValidationError as error:
        problems = [{"path": ".".join(map(str, e["loc"])), "rule": e["msg"]} for e in error.errors()]
        raise RequestError.invalid_params({"problems": problems}) from None
