"""The URL of a store as people and logs may see it. Knows no store."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, urlsplit

_OF_A_FILE = re.compile(r"sqlite:|(?![a-z][a-z0-9+.-]+:)", re.I)
# One @ at most, in its place: where a password holds signs that it must not hold as they are, nobody can tell its end.
_PLAIN = re.compile(r"([a-z][a-z0-9+.-]*://)(?:([^:@/?#]*)(?::[^@/?#]*)?(@))?([^@?#]*)(?:[?#][^@]*)?", re.I)
_SECRETS = ("password", "sslpassword")


def without_password(url: str) -> str:
    """Who, where and which, without parameters; where a password could be anywhere, only what kind of a store it is."""
    if _OF_A_FILE.match(url):
        return url
    if plain := _PLAIN.fullmatch(url):
        return "".join(part or "" for part in plain.groups())
    return f"{url.partition(':')[0]}:…" if "@" in url else url


def has_password(url: str) -> bool:
    """Whether it holds one, or may."""
    if _OF_A_FILE.match(url):
        return False
    if not _PLAIN.fullmatch(url):
        return "@" in url
    parts = urlsplit(url)
    return bool(parts.password) or any(name in _SECRETS for name, _ in parse_qsl(parts.query))
