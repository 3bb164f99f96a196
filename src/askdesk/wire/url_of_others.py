"""Somebody else's wish that a person opens a page, as a question: where it leads stands before what they say of it.

An address that no person should be sent to is refused, and nobody is asked. Opening it is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NoReturn
from urllib.parse import urlsplit

from askdesk.core.errors import InvalidAsk, Problem, quoted
from askdesk.core.host import Place, place_of
from askdesk.core.model import Answer, Answered, Option, Question, Questions
from askdesk.core.text import is_blank, shown

_OPEN, _REFUSE = "Open it", "Do not open it"
_LONGEST = 8000
_START = re.compile(r"https?://", re.IGNORECASE)
_LOOPBACK = re.compile(r"localhost\.?|.+\.localhost\.?|127\.\d+\.\d+\.\d+|\[::1\]")


def read(message: str, url: str, *, opens: bool = False) -> Questions:
    """The question whether to open a page, or InvalidAsk where nobody should be asked to.

    `opens` is whether it will be opened for the person, who else does it by hand.
    """
    place = _safe(url)
    text = "\n".join(_lines(message, url, place))
    hand = f"opens {place.ascii} in a browser" if opens else "you open it yourself, by the address above"
    return Questions([Question(text, [Option(_OPEN, hand), Option(_REFUSE)], header="Open a page")])


def is_wanted(answered: Answered) -> bool:
    """Whether the person chose to open it; own words are no choice."""
    match answered.answers:
        case (Answer(chosen=(label,)),):
            return label == _OPEN
        case _:
            return False


def _safe(url: str) -> Place:
    if len(url) > _LONGEST:
        _refuse(f"must not be longer than {_LONGEST} characters, has {len(url)}")
    if any(character.isspace() or not character.isprintable() for character in url):
        _refuse("must not hold blanks or characters that nobody sees")
    place = place_of(url)
    if not place:
        _refuse("must say where it leads")
    if place.scheme not in ("https", "http") or not _START.match(url):
        _refuse(f"must begin with https://, has the scheme {quoted(place.scheme)}")
    if place.scheme == "http" and not _LOOPBACK.fullmatch(place.ascii):
        _refuse(f"must be https outside this machine, is http to {quoted(place.ascii)}")
    if place.user or _has_user(url):
        _refuse(f"must not have a name before its host {quoted(place.ascii)}")
    return place


def _has_user(url: str) -> bool:
    """Whether a program that reads it otherwise than browsers do would find a name before another host."""
    try:
        return "@" in urlsplit(url).netloc
    except ValueError:
        return True


def _lines(message: str, url: str, place: Place) -> Iterable[str]:
    yield "Open this page?"
    port = f":{place.port}" if place.port else ""
    ascii_host = f" ({place.ascii})" if place.ascii != place.host else ""
    yield f"Host: {shown(place.host, exact=True)}{port}{ascii_host}"
    yield f"Address: {shown(url, exact=True)}"
    if place.ascii != place.host:
        yield "Careful: letters of the host may look like others."
    if place.doubtful:
        yield "Careful: this address is written in a way that programs read differently."
    if not is_blank(message):
        yield f"\nWho asks says: {shown(message)}"


def _refuse(rule: str) -> NoReturn:
    raise InvalidAsk([Problem("url", rule)])
