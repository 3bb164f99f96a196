"""Who may do what over HTTP: tokens, kept hashed on the desk's shelf, and one-time links that sign a browser in.

An asker's token asks, waits and withdraws; an answerer's settles; a page's belongs to a browser and does what an
answerer's does, on the page alone. No token does both. A limited one knows only the asks of its projects and agents.
"""

from __future__ import annotations

import hmac
import logging
import re
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_hex, token_urlsafe
from typing import Annotated, Literal, Protocol, TypeAlias

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from askdesk.core.checks import text_problems
from askdesk.core.errors import InvalidAsk, InvalidSettings, Problem, StoreBusy, VersionConflict, quoted
from askdesk.core.model import Ask, Asker
from askdesk.core.seal import SEAL
from askdesk.core.store import Document, Shelf
from askdesk.stores.upkeep import COPIED

log = logging.getLogger(__name__)

Kind: TypeAlias = Literal["asker", "answerer", "page"]
Moment: TypeAlias = Annotated[datetime, Meta(tz=True)]

PREFIXES = ("token/", "link/", SEAL, COPIED)  # documents that are about secrets: nobody gets at them over HTTP
LINK_LIFE = timedelta(minutes=15)
PAGE_LIFE = timedelta(hours=12)  # since the page was last used
_RENEW_AFTER = timedelta(hours=1)
_MOST_READINGS = 3  # of a store that takes longer than that for each
RECENT_SECONDS = 1.0  # a server takes a token as it read it so long ago: whoever revokes one waits until none does

_TEXT = re.compile(r"askdesk_(asker|answerer|page)_([0-9a-f]{16})_([A-Za-z0-9_-]{43})", re.ASCII)


class Token(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of a token: everything but its secret.

    One with a field that this version does not know holds for nothing: the field may be what limits it.
    """

    v: int = 1
    id: str
    kind: Kind
    name: str  # who settles, as others will read it; or a name to know an agent's token by
    hash: str
    created: Moment
    projects: tuple[str, ...] = ()  # none: all
    agents: tuple[str, ...] = ()
    expires: Moment | None = None
    revoked: Moment | None = None

    def knows(self, ask: Ask) -> bool:
        """Whether it may hear of an ask at all."""
        return self.takes(ask.asker)

    def takes(self, asker: Asker) -> bool:
        """Whether an asker is one of its projects and agents."""
        return (not self.projects or asker.project in self.projects) and (not self.agents or asker.agent in self.agents)

    @property
    def is_limited(self) -> bool:
        return bool(self.projects or self.agents)

    def is_valid(self, now: datetime) -> bool:
        return self.revoked is None and (self.expires is None or now < self.expires)


class Readable(Protocol):
    """A shelf, or what was read from one."""

    async def get(self, name: str) -> Document | None: ...


class Recent:
    """Documents as they were read a moment ago: a server that is asked much need not read a token each time.

    What is not there is looked for each time, so that a new token holds at once.
    """

    _MOST = 10_000

    def __init__(self, shelf: Readable, *, seconds: float, clock: Callable[[], float]) -> None:
        self._shelf, self._seconds, self._clock = shelf, seconds, clock
        self._read: dict[str, tuple[Document, float]] = {}
        self._forgotten = 0

    async def get(self, name: str) -> Document | None:
        document, at = self._read.get(name, (None, 0.0))
        if document is not None and self._clock() - at < self._seconds:
            return document
        self._read.pop(name, None)
        for _ in range(_MOST_READINGS):
            now, forgotten = self._clock(), self._forgotten
            document = await self._shelf.get(name)
            took = self._clock() - now
            if took < self._seconds or not self._seconds:
                if document is not None and forgotten == self._forgotten:  # else it may be what is to be forgotten
                    self._keep(document, now)
                return document
            # It took so long that whoever revoked it has stopped to wait.
        raise StoreBusy("tokens cannot be read in time")

    def _keep(self, document: Document, now: float) -> None:
        """From when it was looked for: what it was when it was found may be older than that."""
        if len(self._read) >= self._MOST:
            del self._read[next(iter(self._read))]
        self._read[document.name] = (document, now)

    def forget(self, token: Token) -> None:
        self._forgotten += 1
        self._read.pop(f"token/{token.id}", None)


class Link(Struct, frozen=True, omit_defaults=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of a one-time link: the page token that it will become."""

    v: int = 1
    name: str
    expires: Moment
    projects: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()


async def new_token(
    shelf: Shelf,
    kind: Kind,
    name: str,
    *,
    now: datetime,
    projects: Iterable[str] = (),
    agents: Iterable[str] = (),
    expires: datetime | None = None,
) -> tuple[Token, str]:
    """A token and its text, which is known to nobody but the caller."""
    projects, agents = tuple(projects), tuple(agents)
    _check(name, projects, agents, expires)
    secret = token_urlsafe(32)
    token = Token(
        id=token_hex(8),
        kind=kind,
        name=name,
        hash=_hashed(secret),
        created=now,
        projects=projects,
        agents=agents,
        expires=expires,
    )
    await shelf.put(f"token/{token.id}", _written(token), expect=0)
    return token, f"askdesk_{kind}_{token.id}_{secret}"


async def found(shelf: Readable, text: str, now: datetime) -> Token | None:
    """The token that a text is, if it is valid now."""
    if (parts := _TEXT.fullmatch(text)) is None:
        return None
    kind, token_id, secret = parts.groups()
    token = await _read(shelf, token_id)
    if token is None or token.kind != kind or not token.is_valid(now):
        return None
    return token if hmac.compare_digest(_hashed(secret), token.hash) else None


async def is_still_valid(shelf: Readable, token: Token, now: datetime) -> bool:
    """Whether one that was valid when a stream began is valid now."""
    current = await _read(shelf, token.id)
    return current is not None and current.is_valid(now)


async def renewed(shelf: Shelf, token: Token, now: datetime) -> Token | None:
    """A page's token with a new life, where it was used long enough after the last time; else None.

    One that would live longer than any may was given its life by a clock that was wrong, and gets the right one.
    """
    expires = now + PAGE_LIFE
    if token.kind != "page" or token.expires is None or abs(expires - token.expires) < _RENEW_AFTER:
        return None
    document = await shelf.get(f"token/{token.id}")
    if document is None or (current := _token(document.value)) is None or not current.is_valid(now):
        return None
    longer = replace(current, expires=expires)
    try:
        await shelf.put(document.name, _written(longer), expect=document.version)
    except VersionConflict:  # renewed by another request, or revoked
        return None
    return longer


async def tokens(shelf: Shelf) -> tuple[Token, ...]:
    """All of them, oldest first, also those that no longer hold."""
    read = (_token(document.value) for document in await shelf.list("token/"))
    return tuple(sorted((token for token in read if token), key=lambda token: token.created))


async def revoke(shelf: Shelf, token_id: str, now: datetime) -> Token:
    """Make a token worthless, from now on and for ever. Twice is once."""
    while True:
        document = await shelf.get(f"token/{token_id}")
        token = _token(document.value) if document else None
        if document is None or token is None:
            raise InvalidAsk(f"there is no token {quoted(token_id)}")
        if token.revoked:
            return token
        revoked = replace(token, revoked=now)
        try:
            await shelf.put(document.name, _written(revoked), expect=document.version)
        except VersionConflict:
            continue
        return revoked


async def new_link(
    shelf: Shelf,
    name: str,
    *,
    now: datetime,
    projects: Iterable[str] = (),
    agents: Iterable[str] = (),
    life: timedelta = LINK_LIFE,
) -> str:
    """A code that signs one browser in, once."""
    projects, agents = tuple(projects), tuple(agents)
    _check(name, projects, agents)
    await _forget_old(shelf, now)
    code = token_urlsafe(24)
    link = Link(name=name, expires=now + life, projects=projects, agents=agents)
    await shelf.put(_link_name(code), msgspec.json.encode(link).decode())
    return code


async def redeem(shelf: Shelf, code: str, now: datetime) -> tuple[Token, str] | None:
    """A page token for a code; None where the code is unknown, too old or used. Of two at once one gets it."""
    document = await shelf.get(_link_name(code))
    link = _link(document.value) if document else None
    if document is None or link is None:
        return None
    try:
        await shelf.put(document.name, None, expect=document.version)
    except VersionConflict:
        return None
    if link.expires <= now:
        return None
    return await new_token(
        shelf, "page", link.name, now=now, projects=link.projects, agents=link.agents, expires=now + PAGE_LIFE
    )


async def _forget_old(shelf: Shelf, now: datetime) -> None:
    """What came of links and serves for nothing any more; the tokens that people made are theirs to look at."""
    for document in await shelf.list("link/"):
        link = _link(document.value)
        if link is not None and link.expires <= now:
            await shelf.put(document.name, None)
    for document in await shelf.list("token/"):
        token = _token(document.value)
        if token is not None and token.kind == "page" and not token.is_valid(now):
            await shelf.put(document.name, None)


async def _read(shelf: Readable, token_id: str) -> Token | None:
    document = await shelf.get(f"token/{token_id}")
    return _token(document.value) if document else None


def _token(value: str) -> Token | None:
    try:
        token = msgspec.json.decode(value, type=Token)
    except msgspec.MsgspecError:  # of a newer version: one that cannot be understood holds for nothing
        log.warning("a token on the shelf cannot be read by this version")
        return None
    return token if token.v == 1 else None


def _link(value: str) -> Link | None:
    try:
        link = msgspec.json.decode(value, type=Link)
    except msgspec.MsgspecError:
        return None
    return link if link.v == 1 else None


def _written(token: Token) -> str:
    return msgspec.json.encode(token).decode()


def _hashed(secret: str) -> str:
    return sha256(secret.encode()).hexdigest()  # of 256 random bits: nobody can guess them, so a quick hash will do


def _link_name(code: str) -> str:
    return f"link/{sha256(code.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _check(name: str, projects: tuple[str, ...], agents: tuple[str, ...], expires: datetime | None = None) -> None:
    texts = [("name", name), *(("project", text) for text in projects), *(("agent", text) for text in agents)]
    problems: list[Problem] = [p for path, text in texts for p in text_problems(path, text, blank=False)]
    if any(character in name for character in "/\t\n"):
        problems.append(Problem("name", f"must be a name without /, tabs and line breaks, is {quoted(name)}"))
    if expires is not None and expires.tzinfo is None:
        problems.append(Problem("expires", "must be a time with a time zone"))
    if problems:
        raise InvalidSettings(problems)
