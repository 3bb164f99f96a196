"""SQLite and PostgreSQL keep the very same bytes, whatever is in them, and a server gives the very same back."""

from __future__ import annotations

from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.postgres import Cluster
from tests.server.running import Answer, Running, running
from tests.stores.on_postgres import Seen

from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, InvalidDocument, InvalidReply
from askdesk.core.model import (
    Allowed,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Permission,
    Question,
    Questions,
    Settlement,
    Withdrawn,
)
from askdesk.core.model import (
    Answer as Chosen,
)
from askdesk.core.store import Store
from askdesk.stores.postgres import PostgresStore
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import FakeClock
from askdesk.testing.store_contract import an_ask

pytestmark = pytest.mark.anyio

INPUTS = (
    '{"n":1.0,"m":1e0,"k":1E+0,"z":-0,"y":-0.0,"long":0.1000000000000000055511151231257827,"big":1e308,"i":9007199254740993}',
    '{"b":1,"a":2,"":3,"aa":4,"A":5}',
    '{ "spaces" :\t[ 1 , 2 ]\n}',
    r'{"escaped":"\u00e9\/\b\f\n\r\t\"\\","same":"é/"}',
    '{"pair":"\\ud83d\\ude00","sign":"😀"}',
    '{"digits":' + "7" * 4000 + "}",
)
TEXTS = (
    "$1 %s {0} :name ? \\ \\\\ \\' '' \"\" `x` -- /* */ ;",
    "\\x00 \\u0000 E'\\n' U&'\\0041' $$ $tag$",
    "👩‍👩‍👧‍👦 🏳️‍🌈 ‍ ‌ é é ﷺ Z̷̩̈ ß ſ ı İ ǅ",
    "‮عكس‬ مرحبا שלום ⁦x⁩ ‏",
    "\x01\x02\x1b[31m\x7f\x80\x9f\xad ﻿ ￾ \uffff \U0010ffff \U000e0001",
    " \t leading and trailing \r\n  ",
    "漢字かなカナ한국어",
)
LARGE = "é🧑‍💻x" * 70_000  # a megabyte
REFUSED = ("a\0b", "\ud800", "a\udfffb")
COLUMNS = "SELECT id, project, key, record, deadline, settlement FROM {}asks ORDER BY seq"
DOCUMENTS = "SELECT name, value FROM {}shelf ORDER BY version"


class Both:
    """A store of each kind, and what is in their columns."""

    def __init__(self, seen: Seen, path: Path, postgres: Store, sqlite: Store) -> None:
        self._seen, self._path = seen, path
        self.stores = (postgres, sqlite)

    def kept(self, query: str) -> list[tuple[Any, ...]]:
        """The same in both."""
        file = apsw.Connection(str(self._path))
        try:
            there = [tuple(row) for row in file.execute(query.format(""))]
        finally:
            file.close()
        assert self._seen.sql(query.format("askdesk.")) == there
        return there


@pytest.fixture
async def both(cluster: Cluster, postgres: str, tmp_path: Path) -> Any:
    async with AsyncExitStack() as stack:
        stores: list[Store] = [await PostgresStore.open(postgres), await SQLiteStore.open(tmp_path / "desk.db")]
        for store in stores:
            stack.push_async_callback(store.close)
        yield Both(Seen(cluster, postgres), tmp_path / "desk.db", *stores)


def asks() -> list[Ask]:
    bodies: list[Questions | Permission] = [Permission("Bash", given) for given in INPUTS]
    bodies += [Permission("Bash", {"command": text}, text, text) for text in (*TEXTS, LARGE)]
    bodies += [Questions([Question(f"x{text}", [f"a{text}", f"b{text}"], header=text)]) for text in TEXTS]
    texts = TEXTS * len(bodies)
    return [
        an_ask(
            number,
            body=body,
            key=f"{number}{text}",
            asker=Asker(f"x{text}", text, text, text, text, number),
            deadline=an_ask().created + timedelta(days=number, microseconds=number),
        )
        for number, (body, text) in enumerate(zip(bodies, texts, strict=False))
    ]


def replies(ask: Ask) -> list[Any]:
    text = ask.asker.project
    if ask.permission:
        return [Allowed(ask.permission.input, (INPUTS[0],)), Denied(text, stop=True, redirect=text)]
    chosen = (Chosen((f"a{text}",), other=text, note=text),)
    return [Answered(chosen), Declined(text, chosen), Withdrawn(text)]


async def test_asks_and_settlements_are_kept_to_the_byte_as_they_came(both: Both) -> None:
    given = asks()
    for number, ask in enumerate(given):
        for store in both.stores:
            assert await store.add(ask) == ask
        reply = replies(ask)[number % len(replies(ask))]
        settlement = Settlement(reply, ask.created + timedelta(microseconds=number), ask.key or "", ask.asker.project)
        for store in both.stores:
            assert await store.settle(ask.id, settlement) == settlement
    rows = both.kept(COLUMNS)
    assert [(row[0], row[1], row[2]) for row in rows] == [(ask.id, ask.asker.project, ask.key) for ask in given]
    assert all(row[5] for row in rows)
    await both.stores[0].page("settled", text="x")  # no text keeps it from being indexed
    for ask in given:
        assert await both.stores[0].add(ask) == ask  # its key is known


async def test_documents_are_kept_to_the_byte_as_they_came(both: Both) -> None:
    for number, text in enumerate((*TEXTS, *INPUTS, LARGE)):
        for store in both.stores:
            await store.shelf.put(f"draft/{number}/{text}", text)
    assert [value for _, value in both.kept(DOCUMENTS)] == [*TEXTS, *INPUTS, LARGE]
    assert [each.name for each in await both.stores[0].shelf.list()] == [
        each.name for each in await both.stores[1].shelf.list()
    ]


async def test_what_no_text_may_hold_is_refused_alike(both: Both) -> None:
    for text in REFUSED:
        with pytest.raises(InvalidAsk):
            Permission("Bash", {"command": text})
        with pytest.raises(InvalidAsk):
            an_ask(1, key=text)
        with pytest.raises(InvalidReply):
            Denied(text)
        for store in both.stores:
            with pytest.raises(InvalidDocument):
                await store.shelf.put("a", text)
            with pytest.raises(InvalidDocument):
                await store.shelf.put(text, "1")
    assert (both.kept(COLUMNS), both.kept(DOCUMENTS)) == ([], [])


async def test_servers_on_both_give_the_same_bytes_back(both: Both) -> None:
    bodies: list[dict[str, Any]] = [
        *({"body": {"body": "permission", "tool": "Bash", "input": given}} for given in INPUTS),
        *({"body": {"body": "permission", "tool": "Bash", "input": '{"x":1}', "description": t}} for t in TEXTS),
        *(
            {"questions": [{"question": f"x{text}", "header": "h", "options": [{"label": f"a{text}"}, {"label": "b"}]}]}
            for text in TEXTS
        ),
        *({"body": {"body": "permission", "tool": text, "input": "{}"}} for text in REFUSED),
    ]
    answers = [await _answers(Desk(store, clock=FakeClock()), bodies) for store in both.stores]
    assert answers[0] == answers[1]
    statuses = [status for status, _ in answers[0][::3]]
    assert statuses == [201] * (len(bodies) - 3) + [400] * 3
    assert len(both.kept(COLUMNS)) == len(bodies) - 3


async def _answers(desk: Desk, bodies: list[dict[str, Any]]) -> list[tuple[int, bytes]]:
    """To a post, a settlement and a get of each."""
    answers: list[Answer] = []
    async with running(desk) as server:
        asker, answerer = await server.token("asker", "builder"), await server.token("answerer", "ana")
        for number, body in enumerate(bodies):
            given = {"id": f"{number:032x}", "key": f"{number}{TEXTS[number % len(TEXTS)]}", **body}
            answers.append(await server.request("POST", "/v1/asks", token=asker, body=given))
            answers += await _settled(server, answerer, f"{number:032x}", TEXTS[number % len(TEXTS)])
    return [(answer.status, answer.body) for answer in answers]


async def _settled(server: Running, token: str, ask_id: str, text: str) -> list[Answer]:
    reply = {"reply": {"outcome": "declined", "message": text}, "submission": f"s{text}"}
    return [
        await server.request("POST", f"/v1/asks/{ask_id}/settlement", token=token, body=reply),
        await server.request("GET", f"/v1/asks/{ask_id}", token=token),
    ]
