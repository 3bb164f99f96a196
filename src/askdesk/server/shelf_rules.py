"""Which documents of the shelf a token may read and write, and what the server itself writes into them.

What people told an agent is theirs alone to write, under the name of their token; what an agent says of itself and is
still to be told, the agent's. Times are the server's.
"""

from __future__ import annotations

import re
from datetime import timedelta
from typing import NoReturn, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from askdesk.core import owed, strict, work
from askdesk.core.errors import InvalidAsk, InvalidDocument, InvalidReply, Problem, UnknownAsk, quoted
from askdesk.core.model import Asker
from askdesk.core.owed import OWED, Owed
from askdesk.core.store import Document
from askdesk.core.work import Heard, Instruction, Working
from askdesk.server import tokens
from askdesk.server.given import check_rate
from askdesk.server.problems import Refused
from askdesk.server.service import Service
from askdesk.server.tokens import Token
from askdesk.wire.api import NewDocument

_T = TypeVar("_T", bound=Struct)
_OF_AGENTS = (work.WORKING, work.HEARD)
_OF_WORK = (*_OF_AGENTS, work.INSTRUCTION)
_SERVERS_OWN = ("serving/", "told/", "notify/")
_WORKING_NAME = re.compile(rf"{work.WORKING}([0-9a-f]{{32}})", re.ASCII)
_ID = re.compile(r"[0-9a-f]{32}", re.ASCII)
_MOST_OWED = 1000  # to one asker: all of it is read whenever it collects
_TOLD_NAME = re.compile(rf"(?:{work.INSTRUCTION}|{work.HEARD})[0-9a-f]{{32}}/([0-9A-Za-z]{{1,128}})", re.ASCII)


async def may_read(service: Service, token: Token, name: str, document: Document | None = None) -> bool:
    """A limited token knows what belongs to its asks and agents, an asker's only agents; tokens nobody sees.

    The document itself is read where the name does not tell, unless it is given.
    """
    if name.startswith(tokens.PREFIXES):
        return False
    if name.startswith(OWED):
        return token.kind == "asker" and (not token.is_limited or await _knows_owed(service, token, name, document))
    if name.startswith(_OF_WORK):
        return not token.is_limited or await _knows_agent(service, token, name.split("/")[1])
    if token.kind == "asker":
        return False
    return not token.is_limited or await _knows_ask(service, token, name)


async def _knows_owed(service: Service, token: Token, name: str, document: Document | None) -> bool:
    """An address says nothing of who is there, and an ask may not be there yet: the note tells whose it is."""
    document = document or await service.desk.shelf.get(name)
    found = owed.read(document) if document else None
    return found is not None and found.name == name and token.takes(found.asker)


async def _knows_agent(service: Service, token: Token, address: str) -> bool:
    """An address says nothing of who is there: only the note of an agent at work does."""
    noted = await work.noted(service.desk.shelf, address)
    return noted is not None and token.takes(noted.asker)


async def _knows_ask(service: Service, token: Token, name: str) -> bool:
    """Whether it was typed or put off for an ask that the token knows."""
    kind, _, rest = name.partition("/")
    if kind not in ("draft", "snooze"):
        return False
    try:
        return token.knows((await service.desk.store.get(rest.partition("/")[0])).ask)
    except UnknownAsk:
        return False


async def written(service: Service, token: Token, name: str, new: NewDocument) -> NewDocument | None:
    """What is to be written in the end, where the token may write it; None where there is nothing to do."""
    if name.startswith(OWED):
        return await _noted(service, token, name, new)
    begins = name.startswith(work.WORKING) and new.value is not None  # nothing is there yet to know the agent by
    if not begins and not await may_read(service, token, name):
        refuse()
    _check_writer(token, name)
    if new.value is None:
        return new
    if name.startswith(work.WORKING):
        return replace(new, value=_working(service, token, name, new.value))
    if name.startswith(work.HEARD):
        return replace(new, value=_heard(service, name, new.value))
    if name.startswith(work.INSTRUCTION):
        return replace(new, value=_instruction(service, token, name, new.value), expect=0)  # nobody says it otherwise
    return new


def refuse(name: str = "") -> NoReturn:
    """An agent that a token may not know is as unknown as one that is not at work, or is owed nothing."""
    if name.startswith((*_OF_WORK, OWED)):
        raise Refused(404, "not-found")
    raise Refused(403, "forbidden", "this document is not for this token")


def _check_writer(token: Token, name: str) -> None:
    """What servers tell each other is theirs alone, and what a person typed, put off or told is that person's."""
    if name.startswith(_SERVERS_OWN):
        raise Refused(403, "forbidden", "this document is the servers' own")
    if token.kind == "asker":
        if name.startswith(work.INSTRUCTION):
            raise Refused(403, "forbidden", "what people tell an agent is written by people alone")
        return
    if name.startswith(_OF_AGENTS):
        raise Refused(403, "forbidden", "this document is an agent's own")
    kind, _, rest = name.partition("/")
    by = rest.partition("/")[2].split("\t")[0]
    if kind in ("draft", "snooze") and by and by != token.name:
        raise Refused(403, "forbidden", "this document is another person's")


async def _noted(service: Service, token: Token, name: str, new: NewDocument) -> NewDocument | None:
    """What is owed to an agent, under its own address. Removed twice is once, also where a token cannot know of it."""
    if token.kind != "asker":
        raise Refused(403, "forbidden", "this document is an agent's own")
    if new.value is None:
        return new if await may_read(service, token, name) else None
    check_rate(service.notes, token, len(new.value), "notes")
    note = _document(service, new.value, Owed)
    check_asker(token, note.asker)
    if not _ID.fullmatch(note.ask):
        raise InvalidDocument([Problem("value.ask", f"must be the id of an ask, is {quoted(note.ask)}")])
    if name != note.name:
        raise InvalidDocument([Problem("name", f"must be {note.name}, the address of value.asker and value.ask")])
    if await service.desk.shelf.get(name) is None:
        await check_room(service, note.asker)
    return replace(new, value=_text(replace(note, at=service.desk.now())))


async def check_room(service: Service, asker: Asker) -> None:
    """Whether an asker may leave one more."""
    if (count := len(await service.desk.shelf.list(f"{OWED}{work.address(asker)}/"))) >= _MOST_OWED:
        raise InvalidAsk(f"{count} asks of this agent are left and not collected: collect or withdraw some first")


def _working(service: Service, token: Token, name: str, value: str) -> str:
    """An agent's note of itself, under its own address."""
    found = _matched(_WORKING_NAME, name)
    note = _document(service, value, Working)
    check_asker(token, note.asker)
    if found[1] != note.address:
        raise InvalidDocument([Problem("name", f"must be {work.WORKING}{note.address}, the address of value.asker")])
    now = service.desk.now()
    return _text(replace(note, seen=now, since=now - max(note.seen - note.since, timedelta())))


def _heard(service: Service, name: str, value: str) -> str:
    _matched(_TOLD_NAME, name)
    return _text(replace(_document(service, value, Heard), at=service.desk.now()))


def _instruction(service: Service, token: Token, name: str, value: str) -> str:
    """What a person says, with who they are and when it was, whatever their program says of either."""
    found = _matched(_TOLD_NAME, name)
    instruction = _document(service, value, Instruction)
    if found[1] != instruction.id:
        raise InvalidDocument([Problem("value.id", f"must be the last part of the name, is {quoted(instruction.id)}")])
    return _text(replace(instruction, by=token.name, at=service.desk.now()))


def check_asker(token: Token, asker: Asker) -> None:
    """Whether a token may be used for this asker."""
    if token.projects and asker.project not in token.projects:
        raise Refused(403, "forbidden", f"asker.project: this token asks for {quoted(list(token.projects))} alone")
    if token.agents and asker.agent not in token.agents:
        raise Refused(403, "forbidden", f"asker.agent: this token asks as {quoted(list(token.agents))} alone")


def _matched(pattern: re.Pattern[str], name: str) -> re.Match[str]:
    if found := pattern.fullmatch(name):
        return found
    raise InvalidDocument(
        [Problem("name", f"must end in an address, and then an id where one is told, is {quoted(name)}")]
    )


def _document(service: Service, value: str, kind: type[_T]) -> _T:
    """A document that others will read: of this version, or refused here and not by each of them."""
    limits = service.limits
    try:
        found = msgspec.convert(strict.loads(value, size=limits.size, depth=limits.depth), kind)
    except (strict.NotStrict, msgspec.ValidationError) as error:
        raise InvalidDocument([Problem("value", str(error))]) from None
    except (InvalidAsk, InvalidReply) as error:
        raise InvalidDocument([problem.under("value") for problem in error.problems]) from None
    if (version := getattr(found, "v", 0)) != 1:
        raise InvalidDocument([Problem("value.v", f"must be 1, is {version}")])
    return found


def _text(value: Struct) -> str:
    return msgspec.json.encode(value).decode()
