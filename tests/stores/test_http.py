"""The store on a desk server, over real connections that break, lie and fall silent."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from itertools import repeat
from pathlib import Path

import pytest
from tests.server.running import Running
from tests.stores.remote import WHOLE, Deed, Wire, behind, new_tokens, served, serving, tokens_of

from askdesk.core.clock import SystemClock
from askdesk.core.desk import Desk
from askdesk.core.errors import (
    AskdeskError,
    InvalidAsk,
    InvalidDocument,
    InvalidReply,
    InvalidSettings,
    KeyReused,
    Problem,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreGone,
    UnknownAsk,
    VersionConflict,
)
from askdesk.core.model import Answer, Answered, Asker, Entry, Expired, Question, Settlement, Withdrawn
from askdesk.core.store import Document
from askdesk.server import problems, tokens
from askdesk.stores import http_calls
from askdesk.stores.http import HTTPStore
from askdesk.stores.memory import MemoryStore
from askdesk.stores.patience import pauses
from askdesk.testing.store_contract import a_settlement, an_ask

pytestmark = pytest.mark.anyio

WHICH = Question("Which database?", ["SQLite", "Postgres"])
SQLITE = Answered([Answer(["SQLite"])])
ANY = "askdesk_asker_0123456789abcdef_" + "x" * 43
ROOMY = 20.0  # seconds for what should take a fraction of one


def at_once() -> Iterator[float]:
    """Pauses that take no time."""
    return repeat(0.001)


def never() -> Iterator[float]:
    """A pause that nobody has the patience for: whoever passes made none."""
    return repeat(1e6)


@pytest.fixture
def wire() -> Wire:
    return Wire()


@pytest.fixture
async def server(wire: Wire) -> AsyncIterator[Running]:
    async with behind(wire, Desk(MemoryStore())) as server:
        yield server


@pytest.fixture
async def store(server: Running, wire: Wire) -> AsyncIterator[HTTPStore]:
    """Both tokens; patient, and quick to try again."""
    opened = await HTTPStore.open(wire.url, **await tokens_of(server), pauses=at_once, patience=ROOMY)
    yield opened
    await opened.close()


@pytest.fixture
async def impatient(server: Running, wire: Wire) -> AsyncIterator[HTTPStore]:
    """Both tokens; sends everything once."""
    opened = await HTTPStore.open(wire.url, **await tokens_of(server), pauses=never)
    yield opened
    await opened.close()


async def raised(work: Awaitable[object]) -> AskdeskError:
    with pytest.raises(AskdeskError) as caught:
        await work
    return caught.value


def requests(server: Running, method: str, route: str) -> int:
    """How many of them the server has answered."""
    counted = server.service.metrics._requests
    return sum(count for (*asked, _), count in counted.items() if asked == [method, route])


# An answer that was lost


async def test_an_answer_that_is_cut_anywhere_is_asked_for_again(server: Running, wire: Wire, store: HTTPStore) -> None:
    ask = await server.desk.post(WHICH, asker=Asker("builder"))
    for length in range(0, 1400, 9):
        wire.cut()
        wire.script.append(Deed(answers=length))
        assert await store.get(ask.id) == Entry(ask)


async def test_an_ask_whose_answer_is_lost_is_kept_once(server: Running, wire: Wire, store: HTTPStore) -> None:
    wire.script += [Deed(refuses=True), Deed(answers=0), Deed(answers=50)]
    ask = await store.add(an_ask())

    assert requests(server, "POST", "/v1/asks") == 3
    assert (await server.desk.page("open")).entries == (Entry(ask),)


async def test_a_reply_whose_answer_is_lost_still_wins(server: Running, wire: Wire, store: HTTPStore) -> None:
    ask = await server.desk.post(WHICH)
    wire.script += [Deed(answers=0), Deed(answers=0)]
    settlement = await store.settle(ask.id, Settlement(SQLITE, ask.created, "s1", "me", "form"))

    assert (settlement.outcome, settlement.by, settlement.surface) == (SQLITE, "ana", "form")
    assert (await server.desk.get(ask.id)).settlement == settlement
    assert requests(server, "POST", "/v1/asks/{id}/settlement") == 3


async def test_a_withdrawal_whose_answer_is_lost_is_one(server: Running, wire: Wire, store: HTTPStore) -> None:
    ask = await server.desk.post(WHICH)
    wire.script.append(Deed(answers=0))

    assert (await Desk(store).withdraw(ask.id, "not needed")).outcome == Withdrawn("not needed")


async def test_an_ask_whose_deadline_comes_before_the_second_try_was_kept_by_the_first(
    server: Running, wire: Wire, store: HTTPStore
) -> None:
    soon = server.desk.now() + timedelta(seconds=0.2)
    wire.script += [Deed(answers=0), *[Deed(refuses=True)] * 300]
    ask = await store.add(an_ask(deadline=soon))

    assert server.desk.now() > soon
    assert await Desk(store).wait(ask.id) == (await server.desk.get(ask.id)).settlement


async def test_a_document_whose_answer_is_lost_was_written_by_the_first_try(wire: Wire, store: HTTPStore) -> None:
    wire.script.append(Deed(answers=0))
    first = await store.shelf.put("draft/1", '"a"', expect=0)
    assert first is not None
    wire.cut()
    wire.script.append(Deed(answers=0))
    second = await store.shelf.put("draft/1", '"b"', expect=first.version)
    assert second is not None
    assert second == Document("draft/1", '"b"', second.version)


async def test_a_document_that_is_gone_when_its_removal_is_sent_again_was_removed_by_nobody_knows_whom(
    wire: Wire, store: HTTPStore
) -> None:
    """Of two that remove the same version only one may be told that it did."""
    written = await store.shelf.put("draft/1", '"a"', expect=0)
    assert written is not None
    wire.cut()
    wire.script.append(Deed(answers=0))
    with pytest.raises(VersionConflict):
        await store.shelf.put("draft/1", None, expect=written.version)
    assert await store.shelf.get("draft/1") is None


async def test_a_document_of_somebody_else_is_not_taken_for_ours(
    server: Running, wire: Wire, store: HTTPStore, impatient: HTTPStore
) -> None:
    bens = await server.desk.shelf.put("claim/1", '"ben"')
    wire.script.append(Deed(answers=0))
    conflict = await raised(store.shelf.put("claim/1", '"ana"', expect=0))
    same = await raised(impatient.shelf.put("claim/1", '"ben"', expect=0))

    assert bens is not None
    assert str(conflict) == str(same) == f'document "claim/1": expected version 0, found {bens.version}'
    assert await store.shelf.get("claim/1") == bens


async def test_a_connection_that_was_closed_meanwhile_is_replaced_at_once(
    server: Running, wire: Wire, impatient: HTTPStore
) -> None:
    ask = await server.desk.post(WHICH)
    wire.script += [Deed(answers=WHOLE)] * 3
    for _ in range(3):
        assert await impatient.get(ask.id) == Entry(ask)
    standing = await impatient.settle(ask.id, Settlement(SQLITE, ask.created, "s1", surface="form"))

    assert standing.submission == "s1"
    assert wire.connections == 4


async def test_one_connection_serves_many_requests_and_a_few_serve_all(
    server: Running, wire: Wire, store: HTTPStore
) -> None:
    ask = await server.desk.post(WHICH)
    for _ in range(10):
        await store.get(ask.id)
    assert wire.connections == 1
    await asyncio.gather(*(store.get(ask.id) for _ in range(50)))
    assert 1 < wire.connections <= 4


async def test_no_answer_is_held_back_until_an_earlier_part_of_it_has_a_receipt() -> None:
    """Which takes 40 ms, and happens where a server leaves small writes to the system."""
    async with served(Desk(MemoryStore())) as server:
        store = await HTTPStore.open(server.url, **await tokens_of(server))
        ask = await server.desk.post(WHICH)
        started = time.monotonic()
        for _ in range(50):
            await store.get(ask.id)
        seconds = time.monotonic() - started
        await store.close()

    assert seconds < 50 * 0.03


# A server that is away


async def test_what_cannot_be_sent_in_time_is_told(server: Running, wire: Wire) -> None:
    store = await HTTPStore.open(wire.url, **await tokens_of(server), pauses=at_once, patience=0.1)
    wire.script += [Deed(refuses=True)] * 10_000
    read, written = await raised(store.get(an_ask().id)), await raised(store.add(an_ask()))
    wire.script.clear()
    wire.script += [Deed(answers=0)] * 10_000
    lost = await raised(store.add(an_ask()))
    await store.close()

    assert [type(error) for error in (read, written, lost)] == [StoreGone] * 3
    assert str(read) == f"{wire.url}: the connection broke off"
    assert str(lost) == (f"{wire.url}: the connection broke off; what was sent may have arrived, and can be sent again")


async def test_a_server_that_never_answers_is_not_waited_for_for_ever(server: Running, wire: Wire) -> None:
    store = await HTTPStore.open(wire.url, **await tokens_of(server), patience=0.2)
    wire.script.append(Deed(holds=True))

    assert str(await raised(store.get(an_ask().id))) == f"{wire.url}: no answer in time"
    await store.close()


async def test_an_address_where_nobody_listens_is_tried_again_and_told(caplog: pytest.LogCaptureFixture) -> None:
    store = await HTTPStore.open("http://127.0.0.1:9", asker_token=ANY, pauses=at_once, patience=0.2)
    error = await raised(store.get(an_ask().id))
    await store.close()

    assert (type(error), str(error)) == (StoreGone, "http://127.0.0.1:9: Connection refused")
    assert caplog.messages == ["http://127.0.0.1:9: Connection refused; trying again for up to 0 seconds"]


async def test_pauses_grow_and_no_two_clients_make_the_same() -> None:
    longest, shortest = pauses(lambda: 1.0), pauses(lambda: 0.0)

    assert [next(longest) for _ in range(8)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert [next(shortest) for _ in range(3)] == [0.025, 0.05, 0.1]


async def test_a_server_that_wants_to_be_left_alone_for_longer_than_we_wait_is_left_alone(wire: Wire) -> None:
    async with behind(wire, Desk(MemoryStore()), asks_a_minute=1) as server:
        store = await HTTPStore.open(wire.url, **await tokens_of(server), pauses=at_once, patience=5)
        await store.add(an_ask(1))
        error = await raised(store.add(an_ask(2)))
        await store.close()

    assert isinstance(error, StoreBusy)
    assert str(error) == f"{wire.url}: Too many at once; try again later: too many asks a minute"
    assert requests(server, "POST", "/v1/asks") == 2


async def test_a_proxy_whose_server_is_away_is_asked_again(server: Running, wire: Wire, store: HTTPStore) -> None:
    bad = [b"502 Bad Gateway", b"503 Service Unavailable", b"504 Gateway Timeout"]
    wire.script += [Deed(says=b"HTTP/1.1 %s\r\nContent-Length: 2\r\n\r\nno" % status) for status in bad]
    ask = await server.desk.post(WHICH)

    assert await store.get(ask.id) == Entry(ask)


async def test_a_server_that_tells_when_to_come_again_is_asked_again_then(
    server: Running, wire: Wire, impatient: HTTPStore
) -> None:
    later = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 2\r\n\r\nno"
    wire.script.append(Deed(says=later))
    ask = await server.desk.post(WHICH)

    assert await impatient.get(ask.id) == Entry(ask)


async def test_who_pauses_goes_on_as_soon_as_the_server_is_heard_of(server: Running, wire: Wire) -> None:
    store = await HTTPStore.open(wire.url, **await tokens_of(server), pauses=lambda: repeat(ROOMY), patience=2 * ROOMY)
    wire.script.append(Deed(says=b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 2\r\n\r\nno"))
    ask = await server.desk.post(WHICH)
    reading = asyncio.ensure_future(store.get(ask.id))
    async with asyncio.timeout(ROOMY / 2):
        while wire.script:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        while not reading.done():  # perhaps it had not yet begun to pause
            heard = asyncio.Event()
            stop = store.hints(lambda _, heard=heard: heard.set())  # type: ignore[misc]
            await heard.wait()
            stop()
    await store.close()

    assert await reading == Entry(ask)


# What is no answer of a desk


def said(status: str, kind: str, body: bytes) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "answer",
    [
        said("200 OK", "text/html", b"<h1>Sign in to the network</h1>"),
        said("200 OK", "application/json", b"<h1>"),
        said("302 Found\r\nLocation: http://127.0.0.1:1/v1/asks", "text/html", b""),
        said("307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/v1/asks", "application/json", b"{}"),
        said("403 Forbidden", "text/html", b"blocked by your company"),
        said("404 Not Found", "application/json", b'{"type": "about:blank"}'),
        said("409 Conflict", "application/problem+json", b'{"type": "about:blank"}'),
        said("500 Internal Server Error", "text/plain", b"oops"),
        said("204 No Content", "text/plain", b""),
    ],
    ids=lambda answer: answer[9:40],
)
async def test_what_is_no_answer_of_a_desk_is_none(
    answer: bytes, server: Running, wire: Wire, store: HTTPStore
) -> None:
    ask = await server.desk.post(WHICH)
    verbs: list[Callable[[], Awaitable[object]]] = [
        lambda: store.get(ask.id),
        lambda: store.add(an_ask()),
        lambda: store.settle(ask.id, a_settlement()),
        lambda: store.page("open"),
        lambda: store.expire(server.desk.now()),
        lambda: store.shelf.get("a"),
        lambda: store.shelf.put("a", "1"),
        lambda: store.shelf.list(),
    ]
    for verb in verbs:
        wire.cut()
        wire.script.append(Deed(says=answer))
        assert isinstance(await raised(verb()), StoreGone)
        assert not wire.script
    assert (await server.desk.get(ask.id)).settlement is None


@pytest.mark.parametrize(
    "nonsense", [b"SSH-2.0-OpenSSH_9.6\r\n", b"\0\0\0", b"HTTP/9.9 what\r\n\r\n", b"HTTP/1.1 200 OK\r\n\r\n{}"]
)
async def test_what_is_not_http_is_asked_again(nonsense: bytes, server: Running, wire: Wire, store: HTTPStore) -> None:
    ask = await server.desk.post(WHICH)
    wire.script.append(Deed(says=nonsense))

    assert await store.get(ask.id) == Entry(ask)


async def test_an_outcome_that_nobody_knows_is_never_guessed(wire: Wire, server: Running, store: HTTPStore) -> None:
    entry = (
        b'{"ask":{"id":"1","body":{"body":"permission","tool":"Bash","input":"{}"},"asker":{},'
        b'"created":"2026-01-01T12:00:00Z"},"settlement":{"outcome":{"outcome":"approved"},'
        b'"at":"2026-01-01T12:00:00Z","submission":"s"}}'
    )
    ask = await server.desk.post(WHICH)
    wire.script.append(Deed(says=said("200 OK", "application/json", entry)))
    read = await raised(store.get("1"))
    wire.script.append(Deed(says=said("200 OK", "application/json", b'{"outcome":{"outcome":"approved"},"at":"x"}')))
    settled = await raised(store.settle(ask.id, a_settlement()))
    wire.script.append(Deed(says=said("200 OK", "application/json", b'{"entries":[%s]}' % entry)))
    listed = await store.page("open")

    assert (type(read), type(settled), listed.entries) == (StoreCorrupt, StoreCorrupt, ())
    assert str(read).startswith(f"{wire.url}: the desk sent what this askdesk cannot read: Invalid value 'approved'")


# What a desk refuses


class Failing(MemoryStore):
    error: Exception

    async def expire(self, now: datetime) -> tuple[str, ...]:
        raise self.error


@pytest.mark.parametrize(
    ("there", "here"),
    [
        (InvalidAsk([Problem("a[1]", "is bad"), Problem("b", "too")]), InvalidAsk("a[1]: is bad\nb: too")),
        (InvalidReply([Problem('"Q?"', "takes one")]), InvalidReply('"Q?": takes one')),
        (InvalidDocument("holds a NUL"), InvalidDocument("holds a NUL")),
        (StoreBusy("/srv/desk.db"), StoreBusy("The store is locked for too long; try again")),
        (StoreFull("/srv/desk.db"), StoreFull("There is no room left; nothing was written")),
        (StoreGone("/srv/desk.db"), StoreGone("The store cannot be used")),
        (StoreCorrupt("/srv/desk.db"), StoreGone("The store cannot be used")),
        (ZeroDivisionError(), StoreGone("The desk failed; nothing was settled by this")),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_an_error_there_is_the_same_error_here(there: Exception, here: AskdeskError, wire: Wire) -> None:
    failing = Failing()
    failing.error = there
    async with behind(wire, Desk(failing)) as server:
        store = await HTTPStore.open(wire.url, **await tokens_of(server), pauses=never)
        error = await raised(store.expire(server.desk.now()))
        await store.close()

    assert type(error) is type(here)
    assert str(error).removeprefix(f"{wire.url}: ") == str(here)
    assert getattr(error, "problems", ()) == getattr(there, "problems", ())


async def test_the_problems_that_name_something_come_back_with_it(server: Running, store: HTTPStore) -> None:
    desk = Desk(store)
    first = await desk.post(WHICH, key="k")
    settled = await store.settle(first.id, Settlement(SQLITE, first.created, "s1"))
    reused = await raised(desk.post(Question("Another?", ["a", "b"]), key="k"))
    unknown = await raised(store.get("f" * 32))
    unspeakable = await raised(store.get("../asks"))
    late = await raised(desk.settle(first.id, Answered([Answer(["Postgres"])]), by="me", surface="form"))
    conflict = await raised(store.shelf.put("a", "1", expect=7))

    assert isinstance(reused, KeyReused)
    assert (reused.key, reused.ask_id) == ("k", first.id)
    assert isinstance(unknown, UnknownAsk)
    assert unknown.ask_id == "f" * 32
    assert isinstance(unspeakable, UnknownAsk)
    assert getattr(late, "settlement", None) == settled
    assert isinstance(conflict, VersionConflict)
    assert (conflict.name, conflict.expected, conflict.found) == ("a", 7, 0)


async def test_a_server_that_answers_under_another_name_is_gone(server: Running, wire: Wire) -> None:
    store = await HTTPStore.open(f"http://127.0.0.1:{server.port}", **await tokens_of(server))
    error = await raised(store.get(an_ask().id))
    await store.close()

    assert isinstance(error, StoreGone)
    assert str(error).endswith(": This desk does not answer under that name")


async def test_the_kinds_of_problems_are_the_servers() -> None:
    assert http_calls.PROBLEM == problems.PROBLEM


# Tokens


async def test_a_verb_without_its_token_says_which_setting_is_missing(server: Running, wire: Wire) -> None:
    given = await tokens_of(server)
    agent = await HTTPStore.open(wire.url, asker_token=given["asker_token"])
    person = await HTTPStore.open(wire.url, answerer_token=given["answerer_token"])
    nobody = await HTTPStore.open(wire.url)
    ask = await agent.add(an_ask())
    withdrawal = Settlement(Withdrawn(), ask.created, "withdrawal")
    cannot = [
        await raised(agent.settle(ask.id, a_settlement())),
        await raised(agent.shelf.list()),
        await raised(person.add(an_ask(2))),
        await raised(person.settle(ask.id, withdrawal)),
        await raised(nobody.get(ask.id)),
    ]
    with pytest.raises(InvalidSettings):
        nobody.hints(lambda _: None)
    can = [await agent.get(ask.id), await person.get(ask.id)]
    for store in (agent, person, nobody):
        await store.close()

    assert can == [Entry(ask), Entry(ask)]
    assert (agent.answered_at, person.answered_at) == (wire.url, None)
    assert {type(error) for error in cannot} == {InvalidSettings}
    assert [str(error) for error in cannot] == [
        *["ASKDESK_ANSWER_TOKEN: is not set; this takes the token of an answerer"] * 2,
        *["ASKDESK_TOKEN: is not set; this takes the token of an asker"] * 3,
    ]


async def test_a_token_that_does_not_open_the_door_is_named_by_its_setting(server: Running, wire: Wire) -> None:
    given = await tokens_of(server)
    limited = await server.token("asker", "builder", projects=["web"])
    stranger = await HTTPStore.open(wire.url, asker_token=ANY)
    mixed = await HTTPStore.open(wire.url, answerer_token=given["asker_token"])
    narrow = await HTTPStore.open(wire.url, asker_token=limited)
    ask = await server.desk.post(WHICH)
    unknown = await raised(stranger.get(ask.id))
    wrong = await raised(mixed.settle(ask.id, a_settlement()))
    beyond = await raised(narrow.add(an_ask(asker=Asker("builder", project="app"))))
    for store in (stranger, mixed, narrow):
        await store.close()

    assert [type(error) for error in (unknown, wrong, beyond)] == [InvalidSettings] * 3
    assert str(unknown) == (
        f"ASKDESK_TOKEN: {wire.url} does not take this token: it was revoked, has expired or is another desk's"
    )
    assert str(wrong) == (
        f"ASKDESK_ANSWER_TOKEN: {wire.url} does not let this token do that: "
        "this takes an answerer's token, this is an asker's"
    )
    assert 'asker.project: this token asks for ["web"] alone' in str(beyond)


@pytest.mark.parametrize("text", ["two words", "line\nbreak", "ü", "\0"])
async def test_a_text_that_can_be_no_token_is_refused_and_not_repeated(text: str) -> None:
    error = await raised(HTTPStore.open("https://desk.example", answerer_token=text))

    assert (type(error), str(error)) == (InvalidSettings, "ASKDESK_ANSWER_TOKEN: is not a token")


async def test_tokens_are_shown_nowhere(wire: Wire, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logging.getLogger("askdesk.requests").setLevel(logging.DEBUG)
    seen: list[object] = []
    async with behind(wire, Desk(MemoryStore())) as server:
        given = await tokens_of(server)
        store = await HTTPStore.open(wire.url, **given, pauses=at_once, patience=0.2)
        stop = store.hints(lambda _: None)
        deeds = [
            Deed(),
            Deed(answers=0),
            Deed(refuses=True),
            Deed(says=b"\0" * 99),
            Deed(says=said("500 no", "a/b", b"")),
        ]
        for deed in deeds:
            wire.script.append(deed)
            wire.cut()
            try:
                await store.settle(an_ask().id, a_settlement())
            except AskdeskError as error:
                seen.append(told(error))
        wire.script += [Deed(refuses=True)] * 10_000
        wire.cut()
        seen.append(told(await raised(store.add(an_ask()))))
        wire.script.clear()
        await tokens.revoke(server.desk.shelf, given["asker_token"].split("_")[2], server.desk.now())
        seen.append(told(await raised(store.add(an_ask()))))
        seen += [repr(value) for value in (store, store.shelf, vars(store), vars(store._calls), store._events)]
        stop()
        await store.close()
    seen += [caplog.text, *(record.__dict__ for record in caplog.records)]

    assert len(seen) > 10
    for token in given.values():
        assert token.split("_", 3)[3] not in "\n".join(map(str, seen))


def told(error: BaseException) -> str:
    """Everything that could be told about an error, with the values of our own code at that moment."""
    whole = traceback.TracebackException.from_exception(error, capture_locals=True)
    parts = [str(error), repr(error)]
    while True:
        parts += [str(frame.locals) for frame in whole.stack if "/askdesk/" in frame.filename]
        if (inner := whole.__cause__ or whole.__context__) is None:
            return "\n".join(parts)
        whole = inner


# Addresses


@pytest.mark.parametrize(
    "url",
    [
        "http://desk.example",
        "http://10.0.0.1:8700",
        "http://127.0.0.1.example",
        "http://0.0.0.0:8700",
        "http://[fe80::1]",
    ],
)
async def test_beyond_this_machine_only_tls_will_do(url: str) -> None:
    error = await raised(HTTPStore.open(url))

    assert isinstance(error, InvalidSettings)
    assert str(error).startswith("store: must begin with https:// where the desk is on another machine, as ")


@pytest.mark.parametrize(
    "url",
    [
        "https://ana:canary@desk.example",
        "https://canary@desk.example",
        "https://desk.example/?token=canary",
        "https://desk.example/#canary",
        "https://:canary@",
        "https://desk.example:canary",
        "https://",
        "https:///canary",
        "https://desk example/canary",
        "https://desk.example/canary\n",
        "https://desk.example/canáry",
        f"https://{'x' * 64}.example/canary",
        "https://[::1",
    ],
)
async def test_what_is_no_address_is_refused_and_not_repeated(url: str) -> None:
    error = await raised(HTTPStore.open(url))

    assert isinstance(error, InvalidSettings)
    assert str(error).startswith("store: ")
    assert "canary" not in str(error)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("https://Desk.Example", "https://Desk.Example"),
        ("https://desk.example:8700/team/", "https://desk.example:8700/team"),
        ("http://127.0.0.1:8700", "http://127.0.0.1:8700"),
        ("http://localhost:8700/", "http://localhost:8700"),
        ("http://[::1]:8700", "http://[::1]:8700"),
    ],
)
async def test_an_address_may_have_a_port_and_a_path(url: str, address: str) -> None:
    store = await HTTPStore.open(url)

    assert store.url == address
    await store.close()


async def test_a_path_goes_before_every_route(server: Running, wire: Wire) -> None:
    store = await HTTPStore.open(f"{wire.url}/team", **await tokens_of(server))
    error = await raised(store.get(an_ask().id))
    await store.close()

    assert isinstance(error, StoreGone)
    assert str(error) == f"{wire.url}/team: There is nothing here"
    assert requests(server, "GET", "") == 1


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for this machine, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=desk", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    try:
        subprocess.run(["openssl", "req", *kind, *name, *files], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.fail("this test needs the program openssl")
    return folder / "cert.pem", folder / "key.pem"


async def test_over_tls_everything_works_where_the_certificate_is_trusted(
    certificate: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    async with served(Desk(MemoryStore()), certificate=certificate[0], key=certificate[1]) as server:
        store = await HTTPStore.open(server.url, **await tokens_of(server))
        ask = await Desk(store).post(WHICH)
        waiting = asyncio.ensure_future(Desk(store).wait(ask.id))
        await until(lambda: server.service.metrics.streams == 1)
        await Desk(store).settle(ask.id, SQLITE, by="me", surface="form")
        settlement = await asyncio.wait_for(waiting, ROOMY)
        await store.close()

    assert settlement is not None
    assert settlement.outcome == SQLITE
    assert server.url.startswith("https://127.0.0.1:")


async def test_a_certificate_that_is_not_trusted_ends_it_at_once(certificate: tuple[Path, Path]) -> None:
    async with served(Desk(MemoryStore()), certificate=certificate[0], key=certificate[1]) as server:
        store = await HTTPStore.open(server.url, **await tokens_of(server))
        error = await raised(store.add(an_ask()))
        await store.close()

    assert isinstance(error, StoreGone)
    assert str(error) == f"{server.url}: its certificate is not trusted: self-signed certificate"
    assert requests(server, "POST", "/v1/asks") == 0


# Hints


async def until(condition: Callable[[], bool]) -> None:
    """Wait for what threads and other tasks do."""
    end = time.monotonic() + ROOMY
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        await asyncio.sleep(0.005)


async def test_all_who_listen_share_one_stream_which_ends_with_the_last(server: Running, store: HTTPStore) -> None:
    streams = server.service.metrics
    heard: list[list[str | None]] = [[], [], []]
    stops = [store.hints(each.append, ask_id) for each, ask_id in zip(heard, (None, "a", "b"), strict=True)]
    await until(lambda: all(heard))
    assert (streams.streams, heard) == (1, [[None], [None], [None]])
    ask = await server.desk.post(WHICH)
    await until(lambda: len(heard[0]) == 2)
    assert heard == [[None, ask.id], [None], [None]]
    for stop in stops:
        assert streams.streams == 1
        stop()
    await until(lambda: streams.streams == 0)
    await until(lambda: not threads("askdesk-events"))


async def test_a_change_while_the_stream_is_cut_is_heard_once_it_is_back(
    server: Running, wire: Wire, store: HTTPStore
) -> None:
    ask = await server.desk.post(WHICH)
    waiting = asyncio.ensure_future(Desk(store).wait(ask.id))
    await until(lambda: server.service.metrics.streams == 1)
    wire.script += [Deed(refuses=True)] * 20
    wire.cut()
    settled = await server.desk.settle(ask.id, SQLITE, by="ben", surface="page")

    assert await asyncio.wait_for(waiting, ROOMY) == settled
    assert not wire.script


async def test_while_the_server_is_away_nobody_who_waits_is_woken(
    wire: Wire, server: Running, store: HTTPStore
) -> None:
    heard: list[str | None] = []
    stop = store.hints(heard.append)
    await until(lambda: heard == [None])
    bad = [Deed(refuses=True), Deed(answers=0), Deed(says=said("502 no", "text/html", b"")), Deed(says=b"\0")]
    portal = [Deed(says=said("200 OK", "text/html", b"<h1>")), Deed(says=said("403 no", "text/html", b""))]
    wire.script += [*bad, *portal] * 10
    wire.cut()
    await until(lambda: len(heard) == 2)
    stop()

    assert heard == [None, None]
    assert wire.connections == 62


async def test_a_stream_that_falls_silent_is_opened_anew(server: Running, wire: Wire) -> None:
    store = await HTTPStore.open(wire.url, **await tokens_of(server), pauses=at_once, silence=0.1)
    heard: list[str | None] = []
    stop = store.hints(heard.append)
    await until(lambda: len(heard) >= 3)
    stop()
    await store.close()

    assert set(heard) == {None}
    assert wire.connections >= 3


@pytest.mark.parametrize(
    "comes", [b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n", b""]
)
async def test_where_the_stream_is_held_back_on_the_way_who_waits_reads_now_and_then(
    server: Running, wire: Wire, comes: bytes
) -> None:
    store = await HTTPStore.open(wire.url, **await tokens_of(server), pauses=at_once, silence=0.1)
    ask = await server.desk.post(WHICH)
    is_there = Deed(says=said("200 OK", "application/json", b"{}"))  # which is asked where nothing came at all
    held_back = [Deed(says=comes, stays=True), *([] if comes else [is_there])]
    wire.script += [Deed(), *held_back * 10_000]
    await store.get(ask.id)
    waiting = asyncio.ensure_future(Desk(store).wait(ask.id))
    await until(lambda: wire.connections >= 3)
    settled = await server.desk.settle(ask.id, SQLITE, by="ben", surface="page")

    assert await asyncio.wait_for(waiting, ROOMY) == settled
    await store.close()


async def test_who_waits_with_a_token_that_is_revoked_hears_of_it(
    server: Running, wire: Wire, store: HTTPStore
) -> None:
    ask = await server.desk.post(WHICH)
    waiting = asyncio.ensure_future(Desk(store).wait(ask.id))
    await until(lambda: server.service.metrics.streams == 1)
    (answerers,) = [token for token in await tokens.tokens(server.desk.shelf) if token.kind == "answerer"]
    await tokens.revoke(server.desk.shelf, answerers.id, server.desk.now())
    wire.cut()
    error = await raised(asyncio.wait_for(waiting, ROOMY))

    assert str(error).startswith(f"ASKDESK_ANSWER_TOKEN: {wire.url} does not take this token")
    await until(lambda: not threads("askdesk-events"))


async def test_where_there_are_too_many_streams_who_waits_reads_now_and_then(
    server: Running, wire: Wire, store: HTTPStore
) -> None:
    wire.script += [Deed(says=said("429 Too Many Requests", "application/problem+json", b"{}"))] * 3
    heard: list[str | None] = []
    stop = store.hints(heard.append)
    await until(lambda: len(heard) == 4)
    stop()

    assert (heard, wire.connections) == ([None] * 4, 4)


async def test_what_a_newer_server_tells_is_passed_over_or_read_again(
    server: Running, wire: Wire, store: HTTPStore
) -> None:
    lines = (
        b': hello\n\nevent: news\ndata: {}\n\nid: 7\ndata: {"ask":"a"}\n\ndata: what\r\n\r\nevent: reread\ndata: {}\n\n'
    )
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n" % len(lines)
    wire.script.append(Deed(says=head + lines))
    heard: list[str | None] = []
    stop = store.hints(heard.append)
    await until(lambda: len(heard) == 4)
    stop()

    assert heard == ["a", None, None, None]  # the last one from the stream after it


async def test_a_client_whose_clock_is_ahead_does_not_ask_without_end(server: Running, store: HTTPStore) -> None:
    class Ahead(SystemClock):
        def now(self) -> datetime:
            return super().now() + timedelta(seconds=1)

    outcome = await Desk(store, clock=Ahead()).ask(WHICH, deadline=timedelta(seconds=0.3))

    assert outcome == Expired()
    assert requests(server, "GET", "/v1/asks/{id}") < 12


# Being stopped


def threads(name: str = "askdesk-") -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith(name)]


def sockets() -> int:
    """How many this process has open."""
    links = []
    for descriptor in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):
            links.append(os.readlink(f"/proc/self/fd/{descriptor}"))
    return len([link for link in links if link.startswith("socket:")])


async def test_an_ask_that_is_stopped_while_it_is_being_sent_is_withdrawn(
    server: Running, wire: Wire, store: HTTPStore
) -> None:
    wire.script += [Deed(holds=True)] * 2  # the ask and the stream
    asking = asyncio.ensure_future(Desk(store).ask(WHICH))
    await until(lambda: wire.connections == 2)
    asking.cancel()
    await asyncio.sleep(0)
    wire.released.set()
    with pytest.raises(asyncio.CancelledError):
        await asking

    (entry,) = (await server.desk.page("settled")).entries
    assert entry.settlement is not None
    assert entry.settlement.outcome == Withdrawn("the agent stopped waiting")


async def test_closing_leaves_no_thread_and_no_socket(wire: Wire) -> None:
    async with behind(wire, Desk(MemoryStore())) as server:
        before = sockets()
        store = await HTTPStore.open(wire.url, **await tokens_of(server))
        ask = await store.add(an_ask())
        await asyncio.gather(*(store.get(ask.id) for _ in range(20)))
        store.hints(lambda _: None)
        store.hints(lambda _: None, ask.id)
        await until(lambda: server.service.metrics.streams == 1)
        assert threads() == [*["askdesk-http"] * 4, "askdesk-events"]
        await store.close()
        assert threads() == []
        await until(lambda: sockets() == before)
        with pytest.raises(StoreError, match="is closed"):
            await store.get(ask.id)
        with pytest.raises(StoreError, match="is closed"):
            store.hints(lambda _: None)
        await store.close()


async def test_closing_does_not_wait_for_a_server_that_does_not_answer(server: Running, wire: Wire) -> None:
    store = await HTTPStore.open(wire.url, **await tokens_of(server))
    wire.script += [Deed(holds=True)] * 9
    reading = asyncio.ensure_future(store.get(an_ask().id))
    store.hints(lambda _: None)
    await until(lambda: wire.connections == 2)
    reading.cancel()
    started = time.monotonic()
    await store.close()

    assert (threads(), time.monotonic() - started < 5) == ([], True)


async def test_what_was_begun_is_finished_before_it_is_closed(server: Running, wire: Wire, store: HTTPStore) -> None:
    wire.script.append(Deed(holds=True))
    writing = asyncio.ensure_future(store.shelf.put("draft/1", '"a"'))
    await until(lambda: wire.connections == 1)
    closing = asyncio.ensure_future(store.close())
    await asyncio.sleep(0)
    wire.released.set()
    await closing

    assert await writing == await server.desk.shelf.get("draft/1")


async def test_a_loop_that_ends_takes_the_threads_with_it(server: Running, wire: Wire) -> None:
    """Whoever forgets to close it: in a process of its own, with everything that Python has to complain of."""
    given = await tokens_of(server)
    code = f"""
import asyncio, threading, time
from askdesk.core.desk import Desk
from askdesk.stores.http import HTTPStore

async def main():
    store = await HTTPStore.open({wire.url!r}, asker_token={given["asker_token"]!r})
    await store.expire(None)
    heard = asyncio.Event()
    store.hints(lambda _: heard.set())
    await heard.wait()
    return store

store = asyncio.run(main())
end = time.monotonic() + 5
while threading.active_count() > 1 and time.monotonic() < end:
    time.sleep(0.01)
print(threading.active_count())
"""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-X", "dev", "-W", "error", "-c", code), stdout=-1, stderr=-1
    )

    assert await process.communicate() == (b"1\n", b"")


# A server that is killed


async def test_a_server_that_is_killed_and_started_again_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "desk.db"
    given = await new_tokens(path)
    with serving(path) as first:
        agent = Desk(await HTTPStore.open(first.url, asker_token=given["asker_token"], pauses=at_once))
        person = Desk(await HTTPStore.open(first.url, answerer_token=given["answerer_token"], pauses=at_once))
        asks = [await agent.post(WHICH) for _ in range(20)]
        waiting = [asyncio.ensure_future(agent.wait(ask.id)) for ask in asks]
        first_ten = [await person.settle(ask.id, SQLITE, by="me", surface="form") for ask in asks[:10]]
        assert await asyncio.gather(*waiting[:10]) == first_ten
        first.killed()
        meanwhile = asyncio.ensure_future(person.settle(asks[10].id, SQLITE, by="me", surface="form"))
        posting = asyncio.ensure_future(agent.post(WHICH))
        with serving(path, first.port):
            rest = [await meanwhile]
            rest += [await person.settle(ask.id, SQLITE, by="me", surface="form") for ask in asks[11:]]
            assert await asyncio.wait_for(asyncio.gather(*waiting[10:]), ROOMY) == rest
            assert [entry.ask.id for entry in (await agent.page("open")).entries] == [(await posting).id]
            assert len((await agent.page("settled")).entries) == 20
            await agent.close()
            await person.close()


async def test_whoever_may_answer_others_only_still_hears_of_their_own_asks(server: Running) -> None:
    asker = await server.token("asker")
    answerer = await server.token("answerer", projects=["another"])
    store = await HTTPStore.open(server.url, asker_token=asker, answerer_token=answerer)
    try:
        asking = asyncio.ensure_future(Desk(store).ask(WHICH, asker=Asker(project="mine")))
        ask = await _posted(server)
        await server.desk.settle(ask, SQLITE, by="ben", surface="page")
        assert await asyncio.wait_for(asking, ROOMY) == SQLITE
    finally:
        await store.close()


async def _posted(server: Running) -> str:
    """The id of the first ask, once it is there."""
    async with server.desk.watch() as hints:
        while not (entries := (await server.desk.page("open")).entries):
            await anext(hints)
    return entries[0].ask.id
