"""Tokens and one-time links: made, checked, revoked, renewed; kept hashed."""

from __future__ import annotations

import asyncio
import itertools
import re
from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, InvalidSettings, Problem, StoreBusy
from askdesk.core.model import Ask, Asker, Question, Questions
from askdesk.core.store import Document, Shelf
from askdesk.server import tokens
from askdesk.server.tokens import Kind, Token
from askdesk.stores.sqlite import SQLiteStore
from askdesk.testing.clock import NOON

pytestmark = pytest.mark.anyio

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
ASK = Ask("0" * 32, Questions([Question("Which?", ["a", "b"])]), Asker("builder", project="ours"), NOON)


@pytest.fixture
def shelf(desk: Desk) -> Shelf:
    return desk.shelf


@pytest.mark.parametrize("kind", ["asker", "answerer", "page"])
async def test_a_token_is_found_by_its_text(shelf: Shelf, kind: Kind) -> None:
    token, text = await tokens.new_token(
        shelf, kind, "ana", now=NOON, projects=["p"], agents=["a"], expires=NOON + HOUR
    )
    assert token == Token(
        id=token.id,
        kind=kind,
        name="ana",
        hash=token.hash,
        created=NOON,
        projects=("p",),
        agents=("a",),
        expires=NOON + HOUR,
    )
    assert re.fullmatch(rf"askdesk_{kind}_{token.id}_[\w-]{{43}}", text)
    assert await tokens.found(shelf, text, NOON) == token


async def test_no_other_text_is_a_token(shelf: Shelf) -> None:
    _, text = await tokens.new_token(shelf, "asker", "ana", now=NOON)
    other = (await tokens.new_token(shelf, "asker", "bob", now=NOON))[1]
    head, secret = text[:-43], text[-43:]
    wrong = [
        "",
        " ",
        head,
        secret,
        text[:-1],
        text[1:],
        f"{text} ",
        f" {text}",
        f"{text}\n",
        f"{text}\0",
        f"{text}{text}",
        text.upper(),
        text.lower() if text != text.lower() else "x",
        f"{head}{other[-43:]}",
        f"{other[:-43]}{secret}",
        text.replace("asker", "answerer"),
        text.replace("asker", "page"),
        text.replace("asker", "ASKER"),
        f"{head}{secret[:-1]}é",
        f"{head}{secret[:-1]}１",
        "askdesk_asker_../../token_" + secret,
        "askdesk_asker_%2e%2e_" + secret,
        "\ud800",
        "x" * 1_000_000,
    ]
    assert [await tokens.found(shelf, each, NOON) for each in wrong] == [None] * len(wrong)


async def test_a_token_holds_until_it_expires(shelf: Shelf) -> None:
    token, text = await tokens.new_token(shelf, "asker", "ana", now=NOON, expires=NOON + HOUR)
    moments = [NOON, NOON + HOUR - timedelta(microseconds=1), NOON + HOUR, NOON + DAY]
    assert [await tokens.found(shelf, text, moment) for moment in moments] == [token, token, None, None]
    assert [await tokens.is_still_valid(shelf, token, moment) for moment in moments] == [True, True, False, False]


async def test_a_revoked_token_holds_for_nothing_and_stays_revoked(shelf: Shelf) -> None:
    token, text = await tokens.new_token(shelf, "answerer", "ana", now=NOON)
    revoked = await tokens.revoke(shelf, token.id, NOON + HOUR)
    assert revoked == msgspec.structs.replace(token, revoked=NOON + HOUR)
    assert await tokens.revoke(shelf, token.id, NOON + DAY) == revoked
    assert await tokens.found(shelf, text, NOON) is None
    assert not await tokens.is_still_valid(shelf, token, NOON)
    assert await tokens.tokens(shelf) == (revoked,)


class SlowShelf:
    """Each reading takes its time, and something else is done meanwhile."""

    def __init__(self, shelf: Shelf, takes: Iterable[float]) -> None:
        self._shelf, self._takes, self._now = shelf, iter(takes), 100.0
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    def clock(self) -> float:
        return self._now

    async def get(self, name: str) -> Document | None:
        found = await self._shelf.get(name)
        self._now += next(self._takes)
        if self.meanwhile:
            await self.meanwhile()
        return found


async def test_what_was_read_a_moment_ago_is_read_again_after_a_second(shelf: Shelf) -> None:
    moment = 100.0
    recent = tokens.Recent(shelf, seconds=tokens.RECENT_SECONDS, clock=lambda: moment)
    token, text = await tokens.new_token(shelf, "asker", "ana", now=NOON)
    held = [await tokens.found(recent, text, NOON)]
    await tokens.revoke(shelf, token.id, NOON)
    for later in (0.0, 0.999, 0.001):
        moment += later
        held.append(await tokens.found(recent, text, NOON))
    assert held == [token, token, token, None]


async def test_a_token_whose_reading_took_long_is_read_again(shelf: Shelf) -> None:
    token, text = await tokens.new_token(shelf, "asker", "ana", now=NOON)
    slow = SlowShelf(shelf, takes=[1.0, 0.0])
    recent = tokens.Recent(slow, seconds=tokens.RECENT_SECONDS, clock=slow.clock)
    slow.meanwhile = lambda: tokens.revoke(shelf, token.id, NOON)
    assert await tokens.found(recent, text, NOON) is None


async def test_a_token_that_cannot_be_read_in_time_holds_for_nothing(shelf: Shelf) -> None:
    token, text = await tokens.new_token(shelf, "asker", "ana", now=NOON)
    slow = SlowShelf(shelf, takes=[1.0, 1.0, 1.0, 1.0, 1.0, 0.999])
    recent = tokens.Recent(slow, seconds=tokens.RECENT_SECONDS, clock=slow.clock)
    with pytest.raises(StoreBusy):
        await tokens.found(recent, text, NOON)
    assert await tokens.found(recent, text, NOON) == token


async def test_of_what_was_read_a_moment_ago_its_end_is_still_seen_at_once(shelf: Shelf) -> None:
    recent = tokens.Recent(shelf, seconds=tokens.RECENT_SECONDS, clock=lambda: 0.0)
    token, text = await tokens.new_token(shelf, "asker", "ana", now=NOON, expires=NOON + HOUR)
    moments = [NOON, NOON + HOUR]
    assert [await tokens.found(recent, text, moment) for moment in moments] == [token, None]


async def test_what_was_not_there_is_looked_for_each_time_and_what_is_forgotten_is_read_again(shelf: Shelf) -> None:
    recent = tokens.Recent(shelf, seconds=tokens.RECENT_SECONDS, clock=lambda: 0.0)
    token, text = await tokens.new_token(shelf, "asker", "ana", now=NOON)
    name = f"token/{token.id}"
    document = await shelf.get(name)
    assert document is not None
    await shelf.put(name, None)
    held = [await tokens.found(recent, text, NOON)]
    await shelf.put(name, document.value)
    held.append(await tokens.found(recent, text, NOON))
    await tokens.revoke(shelf, token.id, NOON)
    recent.forget(token)
    held.append(await tokens.found(recent, text, NOON))
    assert held == [None, token, None]


async def test_of_very_many_documents_the_one_read_longest_ago_is_read_again(shelf: Shelf) -> None:
    recent = tokens.Recent(shelf, seconds=tokens.RECENT_SECONDS, clock=lambda: 0.0)
    recent._MOST = 2
    made = [await tokens.new_token(shelf, "asker", f"{n}", now=NOON) for n in range(3)]
    for _, text in made:
        assert await tokens.found(recent, text, NOON) is not None
    for token, _ in made:
        await tokens.revoke(shelf, token.id, NOON)
    assert [await tokens.found(recent, text, NOON) is not None for _, text in made[::-1]] == [True, True, False]


async def test_a_token_that_there_is_not_cannot_be_revoked(shelf: Shelf) -> None:
    with pytest.raises(InvalidAsk, match='there is no token "x"'):
        await tokens.revoke(shelf, "x", NOON)


async def test_a_token_revoked_and_renewed_at_once_is_revoked(shelf: Shelf) -> None:
    for _ in range(20):
        token, text = await tokens.new_token(shelf, "page", "ana", now=NOON, expires=NOON + HOUR)
        await asyncio.gather(
            tokens.revoke(shelf, token.id, NOON), *(tokens.renewed(shelf, token, NOON) for _ in range(3))
        )
        assert await tokens.found(shelf, text, NOON) is None


async def test_tokens_are_listed_oldest_first(shelf: Shelf) -> None:
    made = [(await tokens.new_token(shelf, "asker", f"{n}", now=NOON + n * HOUR))[0] for n in (3, 1, 2)]
    assert [token.name for token in await tokens.tokens(shelf)] == ["1", "2", "3"]
    assert set(await tokens.tokens(shelf)) == set(made)


async def test_a_page_lives_on_as_long_as_it_is_used(shelf: Shelf) -> None:
    token, text = await tokens.new_token(shelf, "page", "ana", now=NOON, expires=NOON + tokens.PAGE_LIFE)
    soon = NOON + timedelta(minutes=59)
    assert await tokens.renewed(shelf, token, soon) is None
    later = NOON + HOUR
    renewed = await tokens.renewed(shelf, token, later)
    assert renewed == msgspec.structs.replace(token, expires=later + tokens.PAGE_LIFE)
    assert await tokens.found(shelf, text, NOON + tokens.PAGE_LIFE) == renewed
    assert await tokens.renewed(shelf, token, NOON + 2 * tokens.PAGE_LIFE) is None  # too late


async def test_a_page_signed_in_by_a_clock_that_was_years_ahead_lives_no_longer_than_others(shelf: Shelf) -> None:
    years = timedelta(days=3653)
    token, text = await tokens.new_token(shelf, "page", "ana", now=NOON + years, expires=NOON + years + DAY)
    right = await tokens.renewed(shelf, token, NOON)
    assert right == msgspec.structs.replace(token, expires=NOON + tokens.PAGE_LIFE)
    assert await tokens.found(shelf, text, NOON + tokens.PAGE_LIFE) is None


@pytest.mark.parametrize("kind", ["asker", "answerer"])
async def test_a_programs_token_is_never_renewed(shelf: Shelf, kind: Kind) -> None:
    token, _ = await tokens.new_token(shelf, kind, "ana", now=NOON, expires=NOON + HOUR)
    assert await tokens.renewed(shelf, token, NOON + HOUR / 2) is None


async def test_a_link_signs_one_browser_in_with_what_it_was_made_for(shelf: Shelf) -> None:
    code = await tokens.new_link(shelf, "ana", now=NOON, projects=["p"], agents=["a"])
    redeemed = await tokens.redeem(shelf, code, NOON)
    assert redeemed is not None
    token, text = redeemed
    assert token == Token(
        id=token.id,
        kind="page",
        name="ana",
        hash=token.hash,
        created=NOON,
        projects=("p",),
        agents=("a",),
        expires=NOON + tokens.PAGE_LIFE,
    )
    assert await tokens.found(shelf, text, NOON) == token
    assert await tokens.redeem(shelf, code, NOON) is None


async def test_of_twenty_who_use_a_link_at_once_one_is_signed_in(shelf: Shelf) -> None:
    for _ in range(5):
        code = await tokens.new_link(shelf, "ana", now=NOON)
        redeemed = await asyncio.gather(*(tokens.redeem(shelf, code, NOON) for _ in range(20)))
        assert len([each for each in redeemed if each]) == 1


async def test_of_twenty_processes_who_use_a_link_one_is_signed_in(tmp_path: Path) -> None:
    """Each with a connection of its own to the file, as processes have."""
    stores = [await SQLiteStore.open(tmp_path / "desk.db") for _ in range(20)]
    code = await tokens.new_link(stores[0].shelf, "ana", now=NOON)
    redeemed = await asyncio.gather(*(tokens.redeem(store.shelf, code, NOON) for store in stores))
    assert len([each for each in redeemed if each]) == 1
    for store in stores:
        await store.close()


async def test_a_link_that_is_too_old_or_unknown_signs_nobody_in(shelf: Shelf) -> None:
    code = await tokens.new_link(shelf, "ana", now=NOON)
    for wrong in ("", "x", code[:-1], f"{code}x", code.swapcase(), "\ud800", "../token/x", "x" * 100_000):
        assert await tokens.redeem(shelf, wrong, NOON) is None
    assert await tokens.redeem(shelf, code, NOON + tokens.LINK_LIFE) is None
    assert await tokens.redeem(shelf, code, NOON) is None  # used up by having been tried too late


async def test_what_old_links_left_behind_is_removed_and_nothing_else(shelf: Shelf) -> None:
    kept = (await tokens.new_token(shelf, "asker", "ci", now=NOON, expires=NOON + HOUR))[0]
    used = await tokens.new_link(shelf, "ana", now=NOON)
    await tokens.new_link(shelf, "bob", now=NOON)
    assert await tokens.redeem(shelf, used, NOON)
    await tokens.new_link(shelf, "cem", now=NOON + DAY)
    assert await tokens.tokens(shelf) == (kept,)
    assert len(await shelf.list("link/")) == 1


async def test_where_the_clock_goes_back_what_was_revoked_or_removed_stays_so_and_only_what_was_kept_holds_again(
    shelf: Shelf,
) -> None:
    revoked, of_revoked = await tokens.new_token(shelf, "answerer", "ana", now=NOON, expires=NOON + HOUR)
    _, of_kept = await tokens.new_token(shelf, "answerer", "ben", now=NOON, expires=NOON + HOUR)
    _, of_page = await tokens.new_token(shelf, "page", "cleo", now=NOON, expires=NOON + HOUR)
    tried, unused = [await tokens.new_link(shelf, name, now=NOON) for name in ("dan", "eve")]
    await tokens.revoke(shelf, revoked.id, NOON + DAY)
    assert await tokens.redeem(shelf, tried, NOON + DAY) is None
    assert await tokens.found(shelf, of_kept, NOON + DAY) is None
    await tokens.new_link(shelf, "ana", now=NOON + DAY)  # removes old links, and old tokens of pages
    held = [await tokens.found(shelf, text, NOON) is not None for text in (of_revoked, of_kept, of_page)]
    assert held == [False, True, False]
    assert [await tokens.redeem(shelf, code, NOON) for code in (tried, unused)] == [None, None]


async def test_a_token_knows_the_asks_of_its_projects_and_agents(shelf: Shelf) -> None:
    limits: dict[tuple[tuple[str, ...], tuple[str, ...]], bool] = {
        ((), ()): True,
        (("ours",), ()): True,
        (("theirs",), ()): False,
        (("theirs", "ours"), ()): True,
        ((), ("builder",)): True,
        ((), ("reviewer",)): False,
        (("ours",), ("builder",)): True,
        (("ours",), ("reviewer",)): False,
        (("theirs",), ("builder",)): False,
        (("our",), ()): False,
        (("OURS",), ()): False,
    }
    known = {}
    for projects, agents in limits:
        token, _ = await tokens.new_token(shelf, "asker", "x", now=NOON, projects=projects, agents=agents)
        known[projects, agents] = token.knows(ASK)
        assert token.is_limited == bool(projects or agents)
    assert known == limits


async def test_limits_that_can_be_read_once_are_kept_all_the_same(shelf: Shelf) -> None:
    """A generator that was used up while its texts were checked would leave a token without limits."""
    token, _ = await tokens.new_token(shelf, "asker", "x", now=NOON, projects=iter(["p"]), agents=iter(["a"]))
    code = await tokens.new_link(shelf, "ana", now=NOON, projects=iter(["p"]), agents=iter(["a"]))
    redeemed = await tokens.redeem(shelf, code, NOON)
    assert redeemed is not None
    assert [(each.projects, each.agents) for each in (token, redeemed[0])] == [(("p",), ("a",))] * 2


@pytest.mark.parametrize(
    ("name", "projects", "expires", "problems"),
    [
        ("", [], None, [Problem("name", 'must not be blank, is ""')]),
        ("a/b", [], None, [Problem("name", 'must be a name without /, tabs and line breaks, is "a/b"')]),
        ("a\nb", [], None, [Problem("name", 'must be a name without /, tabs and line breaks, is "a\\nb"')]),
        ("a\0", [], None, [Problem("name", 'holds a NUL character: "a\\u0000"')]),
        ("ana", ["p", " "], None, [Problem("project", 'must not be blank, is " "')]),
        ("ana", [], datetime(2030, 1, 1), [Problem("expires", "must be a time with a time zone")]),
    ],
)
async def test_a_token_that_could_not_be_told_from_others_is_not_made(
    shelf: Shelf, name: str, projects: list[str], expires: datetime | None, problems: list[Problem]
) -> None:
    with pytest.raises(InvalidSettings) as caught:
        await tokens.new_token(shelf, "asker", name, now=NOON, projects=projects, expires=expires)
    assert list(caught.value.problems) == problems
    assert await shelf.list() == ()


@pytest.mark.parametrize(
    "change",
    [
        {"v": 2},
        {"v": "1"},
        {"kind": "admin"},
        {"surfaces": ["web"]},  # a limit that this version does not know
        {"expires": "2030-01-01T00:00:00"},
        {"hash": None},
        {"projects": "ours"},
    ],
)
async def test_a_token_that_a_newer_version_wrote_holds_for_nothing(shelf: Shelf, change: dict[str, object]) -> None:
    token, text = await tokens.new_token(shelf, "asker", "ana", now=NOON)
    changed = msgspec.json.encode({**msgspec.to_builtins(token), **change}).decode()
    await shelf.put(f"token/{token.id}", changed)
    assert await tokens.found(shelf, text, NOON) is None
    assert not await tokens.is_still_valid(shelf, token, NOON)
    assert await tokens.tokens(shelf) == ()
    with pytest.raises(InvalidAsk):
        await tokens.revoke(shelf, token.id, NOON)
    document = await shelf.get(f"token/{token.id}")
    assert document is not None
    assert document.value == changed  # nobody rewrites what they do not understand


@pytest.mark.parametrize("value", ["", "{", "[]", "null", '{"v":1}', '"\\ud800"', "[" * 10_000])
async def test_a_damaged_token_or_link_holds_for_nothing(shelf: Shelf, value: str) -> None:
    token, text = await tokens.new_token(shelf, "asker", "ana", now=NOON)
    code = await tokens.new_link(shelf, "ana", now=NOON)
    for document in (*await shelf.list("token/"), *await shelf.list("link/")):
        await shelf.put(document.name, value)
    assert await tokens.found(shelf, text, NOON) is None
    assert await tokens.redeem(shelf, code, NOON) is None
    assert await tokens.tokens(shelf) == ()
    assert not await tokens.is_still_valid(shelf, token, NOON)
    await tokens.new_link(shelf, "bob", now=NOON)


async def test_no_secret_is_in_the_file(tmp_path: Path) -> None:
    store = await SQLiteStore.open(tmp_path / "desk.db")
    texts = [(await tokens.new_token(store.shelf, kind, "ana", now=NOON))[1] for kind in ("asker", "answerer")]
    used, unused = [await tokens.new_link(store.shelf, "ana", now=NOON) for _ in range(2)]
    redeemed = await tokens.redeem(store.shelf, used, NOON)
    assert redeemed is not None
    await tokens.revoke(store.shelf, redeemed[0].id, NOON)
    secrets = [*(text[-43:] for text in (*texts, redeemed[1])), used, unused]
    for closed in (False, True):
        if closed:
            await store.close()
        kept = b"".join(path.read_bytes() for path in sorted(tmp_path.iterdir()))  # noqa: ASYNC240 - alone in its loop
        assert b"token/" in kept
        assert [secret for secret in secrets if secret.encode() in kept] == []


async def test_secrets_are_as_long_as_they_must_be_and_never_the_same(shelf: Shelf) -> None:
    texts = [(await tokens.new_token(shelf, "asker", "x", now=NOON))[1] for _ in range(100)]
    codes = [await tokens.new_link(shelf, "x", now=NOON) for _ in range(100)]
    assert len({text[-43:] for text in texts}) == len({text[:-43] for text in texts}) == len(set(codes)) == 100
    assert all(len(code) == 32 for code in codes)  # 192 bits
    shared = [1 for one, other in itertools.pairwise(texts) if one[-43:-35] == other[-43:-35]]
    assert shared == []
