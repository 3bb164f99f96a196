"""Asks and documents on a desk server, over HTTP: the same contracts as every other store, from another machine.

Who somebody is comes from their token and when something was from the server's clock, so `created`, `at` and `by` are
the server's. Nothing is kept here.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Literal, assert_never
from urllib.parse import quote, urlencode

from msgspec import Raw, Struct

from askdesk.core import work
from askdesk.core.errors import (
    AlreadySettled,
    AskdeskError,
    InvalidAsk,
    InvalidReply,
    KeyReused,
    StoreCorrupt,
    UnknownAsk,
    VersionConflict,
)
from askdesk.core.hints import Heard, Hints, Stop
from askdesk.core.model import Allowed, Answered, Ask, Declined, Denied, Entry, Expired, Settlement, Withdrawn
from askdesk.core.owed import OWED
from askdesk.core.store import Document, Page, State, check_document
from askdesk.stores.http_calls import Calls, Kind, Tokens
from askdesk.stores.http_connection import Address
from askdesk.stores.http_events import SILENCE, Events
from askdesk.stores.patience import PATIENCE, Pauses, pauses
from askdesk.wire import api

log = logging.getLogger("askdesk")

_MOST_ENTRIES = 200  # that a server gives at once
_LONGEST_TEXT = 2_500  # characters of a search: an address has an end
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")
_OF_AGENTS = (work.WORKING, work.HEARD, OWED)  # which they write themselves
_NO_LETTER = "\uffff"  # as little part of a word as those are, and in nobody's name


class _Health(Struct):
    status: Literal["ok"]


class _RawPage(Struct):
    entries: tuple[Raw, ...]
    after: str | None = None


class HTTPStore:
    """Made by `await HTTPStore.open(url)`. Belongs to one event loop."""

    def __init__(self, address: Address, tokens: Tokens, *, patience: float, pauses: Pauses, silence: float) -> None:
        self._address, self._tokens, self._pauses, self._silence = address, tokens, pauses, silence
        self._loop = asyncio.get_running_loop()
        self._calls = Calls(address, tokens, patience=patience, pauses=pauses)
        self.shelf = HTTPShelf(self._calls, tokens)
        self._hints = Hints()
        self._heard_as: tuple[Kind, ...] = (tokens.for_reading,)
        self._events: list[Events] = []
        self._stopped: list[Events] = []
        self._loop_lives = self._until_the_loop_ends()

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        asker_token: str = "",
        answerer_token: str = "",
        patience: float = PATIENCE,
        pauses: Pauses = pauses,
        silence: float = SILENCE,
    ) -> HTTPStore:
        """A desk server's store. Nothing is sent yet.

        A server that is away is tried again for `patience` seconds, with these pauses, before a verb fails; a stream of
        hints that says nothing for `silence` seconds is opened anew.
        """
        tokens = Tokens(asker_token, answerer_token)
        store = cls(Address(url), tokens, patience=patience, pauses=pauses, silence=silence)
        await anext(store._loop_lives)
        return store

    async def _until_the_loop_ends(self) -> AsyncGenerator[None]:
        """Event loops close such generators when they end: so no thread outlives them, whoever forgot to close."""
        try:
            yield
        finally:
            self._stop_listening()
            self._calls.break_off()

    @property
    def answered_at(self) -> str | None:
        """The server's address, where this client may not settle: then people answer there, and not here."""
        return None if self._tokens.has("answerer") else self._address.url

    @property
    def url(self) -> str:
        return self._address.url

    async def check(self) -> None:
        """Raise StoreGone unless a desk answers, to whomever."""
        self._calls.read(await self._calls.send("anybody", "GET", "/healthz"), _Health)

    async def me(self, kind: Kind) -> api.MeDocument:
        """What one of the tokens may do."""
        return self._calls.read(await self._calls.send(kind, "GET", "/v1/me"), api.MeDocument)

    async def add(self, ask: Ask) -> Ask:
        new = api.NewAsk(
            body=ask.body,
            asker=ask.asker,
            id=ask.id,
            key=ask.key,
            deadline=ask.deadline,
            preview_format=ask.preview_format,
            follows=ask.follows,
        )
        sent = await self._calls.send("asker", "POST", "/v1/asks", new, finish=True)
        try:
            return self._calls.read(sent, api.EntryDocument, ask.key or ask.id).ask
        except KeyReused as error:  # the contract gives back what stands, and lets the desk compare
            return await self._kept(error.ask_id, error)
        except InvalidAsk as error:
            if not sent.again:
                raise
            return await self._kept(ask.id, error)  # sent before, and its deadline came while that answer was lost

    async def _kept(self, ask_id: str, error: AskdeskError) -> Ask:
        try:
            return (await self.get(ask_id)).ask
        except UnknownAsk:
            raise error from None

    async def settle(self, ask_id: str, settlement: Settlement) -> Settlement:
        path = _path(ask_id)
        match settlement.outcome:
            case Expired():
                return await self._expired(ask_id)
            case Withdrawn(reason):
                sent = await self._calls.send("asker", "POST", f"{path}/withdrawal", api.NewWithdrawal(reason))
            case Answered() | Declined() | Allowed() | Denied() as reply:
                new = api.NewSettlement(reply, settlement.submission, settlement.surface, settlement.digest)
                sent = await self._calls.send("answerer", "POST", f"{path}/settlement", new)
            case _:
                assert_never(settlement.outcome)
        try:
            return self._calls.read(sent, Settlement, ask_id)
        except AlreadySettled as error:
            return error.settlement

    async def _expired(self, ask_id: str) -> Settlement:
        await self._expire()
        standing = (await self.get(ask_id)).settlement
        if standing is None:
            raise InvalidReply(f"the deadline of ask {ask_id} has not come, as the desk's clock goes")
        return standing

    async def get(self, ask_id: str) -> Entry:
        try:
            return await self._got(self._tokens.for_reading, ask_id)
        except UnknownAsk:
            if self._tokens.for_reading == "asker" or not self._tokens.has("asker"):
                raise
            entry = await self._got("asker", ask_id)
            self._hear_of_both()
            return entry

    def _hear_of_both(self) -> None:
        """The answerer's token is limited to other asks than we ask for: who waits for those needs a stream too."""
        if self._heard_as == (self._tokens.for_reading,):
            self._heard_as = ("answerer", "asker")
            if self._events:
                self._events.append(self._listening("asker"))  # it begins with "read everything again"

    async def _got(self, kind: Kind, ask_id: str) -> Entry:
        sent = await self._calls.send(kind, "GET", _path(ask_id))
        return _entry(self._calls.read(sent, api.EntryDocument, ask_id))

    async def page(
        self, state: State, *, after: str | None = None, limit: int = 50, newest: bool = False, text: str = ""
    ) -> Page:
        entries: list[Entry] = []
        while True:
            query = _query(state, after, min(limit - len(entries), _MOST_ENTRIES), newest, text)
            sent = await self._calls.send(self._tokens.for_reading, "GET", f"/v1/asks?{query}")
            page = self._calls.read(sent, _RawPage)
            entries += (entry for entry in map(self._readable, page.entries) if entry)
            after = page.after
            if after is None or len(entries) >= limit:
                return Page(tuple(entries), after)

    def _readable(self, raw: Raw) -> Entry | None:
        """The entry, or None where only a newer version can read it: one of them must not hide the others."""
        try:
            return _entry(self._calls.decoded(raw, api.EntryDocument))
        except StoreCorrupt as error:
            log.warning("an ask is left out: %s", error)
            return None

    async def expire(self, now: datetime) -> tuple[str, ...]:
        """The server's clock decides what is due: `now` is only this machine's."""
        return await self._expire()

    async def _expire(self) -> tuple[str, ...]:
        sent = await self._calls.send(self._tokens.for_reading, "POST", "/v1/expiry")
        return self._calls.read(sent, api.ExpiryDocument).expired

    def hints(self, heard: Heard, ask_id: str | None = None) -> Stop:
        self._calls.check_usable()
        if not self._events or not all(events.is_alive for events in self._events):
            self._stop_listening()
            self._events = [self._listening(kind) for kind in self._heard_as]
        stop_hints = self._hints.listen(heard, ask_id)

        def stop() -> None:
            stop_hints()
            if not self._hints:
                self._stop_listening()

        return stop

    def _listening(self, kind: Kind) -> Events:
        token = self._tokens.of(kind)
        return Events(self._address, token, self._heard_elsewhere, pauses=self._pauses, silence=self._silence)

    def _heard_elsewhere(self, ask_id: str | None) -> None:
        """In the thread of the stream."""
        try:
            self._loop.call_soon_threadsafe(self._tell, ask_id)
        except RuntimeError:  # the loop is closed: nobody listens any more
            self._stop_listening()

    def _tell(self, ask_id: str | None) -> None:
        if ask_id is None:
            self._calls.hurry()
            self._hints.tell_all()
        else:
            self._hints.tell(ask_id)

    def _stop_listening(self) -> None:
        for events in self._events:
            events.stop()
        self._stopped = [events for events in (*self._stopped, *self._events) if not events.has_ended]
        self._events = []

    async def close(self) -> None:
        self._stop_listening()
        await self._calls.close()
        for events in self._stopped:
            await self._loop.run_in_executor(None, events.join)
        await self._loop_lives.aclose()


class HTTPShelf:
    """Documents on the same server: for answerers, but for what agents say and hear, and are still to be told."""

    def __init__(self, calls: Calls, tokens: Tokens) -> None:
        self._calls, self._tokens = calls, tokens

    def _reader(self, name: str) -> Kind:
        if name.startswith(OWED):
            return "asker"
        return self._tokens.for_reading if name.startswith((*_OF_AGENTS, work.INSTRUCTION)) else "answerer"

    async def get(self, name: str) -> Document | None:
        check_document(name, None)
        sent = await self._calls.send(self._reader(name), "GET", _shelf_path(name))
        if self._calls.problem(sent) == "not-found":
            return None
        return self._calls.read(sent, Document, name)

    async def put(self, name: str, value: str | None, *, expect: int | None = None) -> Document | None:
        check_document(name, value)
        by: Kind = "asker" if name.startswith(_OF_AGENTS) else "answerer"
        sent = await self._calls.send(by, "PUT", _shelf_path(name), api.NewDocument(value, expect))
        if value is None and sent.answer.status == 204:
            return None
        try:
            return self._calls.read(sent, Document, name)
        except VersionConflict as conflict:
            if not sent.again or value is None:  # who removed what is gone nobody can tell, and only one may have
                raise
            return await self._written(name, value, conflict)

    async def _written(self, name: str, value: str, conflict: VersionConflict) -> Document:
        """What is there, if it is what we wrote: sent before, and only the answer was lost."""
        there = await self.get(name)
        if there is None or (there.value, there.version) != (value, conflict.found):
            raise conflict
        return there

    async def list(self, prefix: str = "") -> tuple[Document, ...]:
        check_document(prefix, None)
        query = urlencode({"prefix": prefix}, quote_via=quote)
        sent = await self._calls.send(self._reader(prefix), "GET", f"/v1/shelf?{query}")
        return self._calls.read(sent, api.ShelfDocument).documents


def _entry(document: api.EntryDocument) -> Entry:
    return Entry(document.ask, document.settlement)


def _path(ask_id: str) -> str:
    if not (ask_id.isascii() and ask_id.isalnum()):  # no desk made such an id, and no address could hold every text
        raise UnknownAsk(ask_id)
    return f"/v1/asks/{ask_id}"


def _shelf_path(name: str) -> str:
    return f"/v1/shelf/{quote(name)}"


def _query(state: State, after: str | None, limit: int, newest: bool, text: str) -> str:
    query = {"state": state, "limit": f"{limit}"}
    if after is not None:
        query["after"] = after
    if newest:
        query["newest"] = "true"
    if text:
        query["text"] = _UNSENDABLE.sub(_NO_LETTER, text[:_LONGEST_TEXT])
    return urlencode(query, quote_via=quote)
