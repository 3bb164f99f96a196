"""What of an entry can be searched, and how a query is read: once, for all stores. Pure; knows no database.

An entry becomes terms, a query becomes wanted terms, and an entry matches where every wanted one is there. So a query
without any, like `""` or `"!!!"`, matches every entry; and whatever is in a query, it never raises.

    database              a word: some word begins so, whatever its case and accents; "Databases" does
    "which database"      quotes make no phrase: it is these two words, in any order
    agent:builder         a field, of FIELDS: its whole value is this, whatever its case
    project:"new service" the same for a value with blanks
    is:answered           or declined, allowed, denied, expired, withdrawn; open, settled; questions, permission
    colour:red            no field of ours: two words

A term consists of letters, digits and one joint that is not ASCII: a whole token for every database that splits at
ASCII punctuation alone, as the `ascii` tokenizer of SQLite's FTS5 does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from hashlib import sha256
from itertools import chain, islice
from typing import NamedTuple, assert_never
from unicodedata import category, normalize

from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Declined,
    Denied,
    Entry,
    Expired,
    Outcome,
    Permission,
    Questions,
    Settlement,
    Withdrawn,
)

FIELDS = frozenset({"agent", "project", "tool", "by", "on", "is"})

_LONGEST = 100  # characters of a word that count: every database can index so much
_MOST = 50  # terms of a query that count
_JOINT = "·"  # begins every field's term and is in no word, so no beginning of a word finds a field
_UNSPACED = "\u3005-\u3007\u3041-\u30ff\u31f0-\u31ff\u3400-\u9fff\U00020000-\U0003ffff"  # Chinese and Japanese
_WORD = re.compile(rf"(?![\W_])[{_UNSPACED}]|[^\W_{_UNSPACED}]+")  # no blanks between words there: each sign is one
_NO_LETTER = re.compile(r"[\W_]")
_PART = re.compile(r'"[^"]*"?|([A-Za-z]+):(?:"([^"]*)"?|(\S*))|[^\s"]+')


class Wanted(NamedTuple):
    """A term that must be there: `whole`, or as the beginning of one."""

    term: str
    whole: bool


def terms(entry: Entry) -> tuple[str, ...]:
    """Everything that an entry can be found by, each once."""
    return tuple(dict.fromkeys(chain(_fields(entry), _words("\n".join(_texts(entry))))))


def query(text: str) -> tuple[Wanted, ...]:
    """What a query wants, each once."""
    wanted = chain.from_iterable(map(_wanted, _PART.finditer(text)))
    return tuple(islice(dict.fromkeys(wanted), _MOST))


def matches(entry: Entry, wanted: Iterable[Wanted]) -> bool:
    there = terms(entry)
    return all(_is_there(one, there) for one in wanted)


def _is_there(wanted: Wanted, there: tuple[str, ...]) -> bool:
    return wanted.term in there if wanted.whole else any(term.startswith(wanted.term) for term in there)


def _wanted(part: re.Match[str]) -> Iterable[Wanted]:
    name = (part[1] or "").lower()
    if name in FIELDS:
        return (Wanted(_field(name, part[2] or part[3] or ""), whole=True),)
    return (Wanted(word, whole=False) for word in _words(part[0]))


def _words(text: str) -> Iterable[str]:
    if not text.isascii():
        text = "".join(character for character in normalize("NFKD", text) if category(character)[0] != "M")
    return (word[:_LONGEST] for word in _WORD.findall(text.casefold()))


def _field(name: str, value: str) -> str:
    """One term for a whole value: another one for every other, but for their case and the two ways of writing é."""
    value = normalize("NFC", value).casefold()
    if len(value) > _LONGEST:
        digest = sha256(value.encode("utf-8", "surrogatepass")).hexdigest()
        return f"{_JOINT}{name}{_JOINT}{_JOINT * 2}{digest}"  # two joints: no escape below is like that
    return f"{_JOINT}{name}{_JOINT}{_NO_LETTER.sub(_escape, value)}"


def _escape(found: re.Match[str]) -> str:
    return f"{_JOINT}{ord(found[0]):x}{_JOINT}"


def _fields(entry: Entry) -> Iterable[str]:
    yield _field("agent", entry.ask.asker.agent)
    yield _field("project", entry.ask.asker.project)
    if permission := entry.ask.permission:
        yield _field("tool", permission.tool)
    yield _field("is", "permission" if permission else "questions")
    yield _field("is", "settled" if entry.settlement else "open")
    if settlement := entry.settlement:
        yield _field("is", type(settlement.outcome).__name__)
        yield _field("by", settlement.by)
        yield _field("on", settlement.surface)


def _texts(entry: Entry) -> Iterable[str]:
    yield from _asked(entry.ask)
    if entry.settlement:
        yield from _settled(entry.settlement)


def _asked(ask: Ask) -> Iterable[str]:
    yield from (ask.asker.agent, ask.asker.project, ask.asker.session, ask.asker.parent)
    match ask.body:
        case Permission(tool, given, folder, description):
            yield from (tool, folder, description)
            yield from _json_texts(given)
        case Questions(items):
            for question in items:
                yield from (question.text, question.header)
                for option in question.options:
                    yield from (option.label, option.description, option.preview or "")
        case _:
            assert_never(ask.body)


def _settled(settlement: Settlement) -> Iterable[str]:
    yield from (settlement.by, settlement.surface)
    yield from _said(settlement.outcome)


def _said(outcome: Outcome) -> Iterable[str]:
    match outcome:
        case Answered(answers):
            return _answered(answers)
        case Declined(message, so_far):
            return (message, *_answered(so_far))
        case Allowed(changed):
            return _json_texts(changed) if changed is not None else ()
        case Denied(message, _, redirect):
            return (message, redirect)
        case Withdrawn(reason):
            return (reason,)
        case Expired():
            return ()
        case _:
            assert_never(outcome)


def _answered(answers: Iterable[Answer | None]) -> Iterable[str]:
    for answer in answers:
        if answer is not None:
            yield from (*answer.chosen, answer.other, answer.note)


def _json_texts(text: str) -> Iterable[str]:
    """The texts and numbers of a JSON text, as they are written, and the keys."""
    pending = [json.loads(text, parse_int=str, parse_float=str)]
    while pending:
        match pending.pop():
            case str(found):
                yield found
            case dict(found):
                pending += (*found.keys(), *found.values())
            case list(found):
                pending += found
            case _:
                pass  # true, false and null are no words
