"""Where a URL really leads, read as browsers and JavaScript read it (WHATWG), for that is what fetches it.

Python's own parser takes another host out of `https://evil.com\\@example.com/`.
"""

from __future__ import annotations

import re
import socket
from typing import NamedTuple
from unicodedata import category, normalize
from urllib.parse import unquote

_SPECIAL = {"http", "https", "ws", "wss", "ftp"}
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_SPECIAL_START = re.compile(r"([/\\]*)([^/\\?#]*)")
_START = re.compile(r"(//)([^/?#]*)")
_PORT = re.compile(r"(.*?)(?::([0-9]*))?", re.ASCII | re.DOTALL)
_IPV6 = re.compile(r"\[[0-9a-f:.]+\]")
_DOTS = re.compile("[.\u3002\uff0e\uff61]")
_FORBIDDEN = re.compile(r"[\x00-\x20#/:<>?@\[\\\]^|%\x7f\ufffd]")
_NUMERIC = re.compile(r"(?:.*\.)?(?:[0-9]+|0x[0-9a-f]*)\.?", re.ASCII)
_LONGEST = 1000  # names end at 253 characters; this leaves room for ways to write them
_JOINERS = "\u200c\u200d"
_SELECTORS = re.compile("[\u034f\ufe00-\ufe0f]")


class Place(NamedTuple):
    """What a URL says about where it leads; `ascii` is the host as it goes over the network."""

    scheme: str
    host: str
    ascii: str
    port: str = ""
    user: str = ""  # what stands before the @, and is no host
    doubtful: bool = False  # other programs may read another host out of it


def place_of(url: str) -> Place | None:
    """Where a URL leads, or None where nobody can tell."""
    text = re.sub(r"[\t\r\n]", "", url.strip("".join(map(chr, range(33)))))
    if not (parts := _SCHEME.fullmatch(text)):
        return None
    scheme, rest = parts[1].lower(), parts[2]
    start = (_SPECIAL_START if scheme in _SPECIAL else _START).match(rest)
    if not start:
        return None
    doubtful = text != url or "\\" in url or "%" in start[2] or start[1] != "//"
    return _place(scheme, start[2], doubtful)


def _place(scheme: str, authority: str, doubtful: bool) -> Place | None:
    user, _, address = authority.rpartition("@")
    parts = _PORT.fullmatch(address)
    host = _host(parts[1]) if parts else ""
    if not parts or not host:
        return None
    ascii_host = ".".join(_ascii(label) for label in host.split("."))
    return Place(scheme, host, ascii_host, parts[2] or "", user, doubtful)


def _host(written: str) -> str:
    """The host in the form in which it is looked up, or nothing where there is no such form."""
    if _IPV6.fullmatch(written.lower()):
        return written.lower()
    host = ".".join(_mapped(label) for label in _DOTS.split(unquote(written[:_LONGEST])))
    if len(written) > _LONGEST or _FORBIDDEN.search(host):
        return ""
    return _ipv4(host) if _NUMERIC.fullmatch(host) else host


def _mapped(label: str) -> str:
    """The label as UTS 46 maps it, near enough: small letters, compatible forms made one, the invisible left out."""
    visible = "".join(character for character in normalize("NFKC", label) if not _is_ignored(character))
    return normalize("NFKC", "".join(character.lower() for character in visible))


def _is_ignored(character: str) -> bool:
    return character not in _JOINERS and (category(character) == "Cf" or bool(_SELECTORS.match(character)))


def _ipv4(host: str) -> str:
    """The usual form of an address, which may be written as one number, or in base 8 or 16."""
    try:
        return socket.inet_ntoa(socket.inet_aton(host.removesuffix(".")))
    except OSError:
        return ""


def _ascii(label: str) -> str:
    return label if label.isascii() else f"xn--{label.encode('punycode').decode()}"
