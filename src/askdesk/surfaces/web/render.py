"""Templates to HTML. Whatever a template prints goes through shown() and is escaped, unless it is markup of ours."""

from __future__ import annotations

import mimetypes
from functools import cache
from gzip import compress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from askdesk.core.text import shown
from askdesk.surfaces import phrases
from askdesk.surfaces.texts import languages, say, speaking, spoken
from askdesk.surfaces.web import views
from askdesk.surfaces.web.filled import OWN, SUGGESTED

_FOLDER = Path(__file__).parent


class Static(NamedTuple):
    """A file of the page, as it is served."""

    body: bytes
    zipped: bytes
    kind: str
    version: str


@cache
def static_files() -> dict[str, Static]:
    """All there are: only these names can be asked for."""
    return {path.name: _static(path) for path in sorted((_FOLDER / "static").iterdir()) if path.is_file()}


def _static(path: Path) -> Static:
    body = path.read_bytes()
    kind = mimetypes.types_map.get(path.suffix, "text/javascript" if path.suffix == ".js" else "text/plain")
    return Static(body, compress(body, 9, mtime=0), f"{kind}; charset=utf-8", sha256(body).hexdigest()[:12])


def static_url(name: str) -> str:
    return f"/static/{name}?v={static_files()[name].version}"


def prose(text: str) -> Markup:
    """An agent's or a person's text in paragraphs as they wrote it."""
    return Markup('<span class="prose" dir="auto">{}</span>').format(Markup("\n").join(map(escape, _lines(text))))


def typed(text: str) -> Markup:
    """A person's own text for a field: as they typed it, to the character. Browsers drop a text area's first break."""
    return Markup("\n") + escape(text)


def exact(text: str) -> Markup:
    """A text for an attribute that comes back to us: as it is."""
    return escape(text)


def own_name(language: str) -> str:
    """What a language is called by those who speak it."""
    with speaking(language):
        return say("web.language")


def _lines(text: str) -> list[str]:
    return shown(text, lines=True).split("\n")


def _printed(value: Any) -> Any:
    """Every text that is not markup of ours, made harmless; it is escaped after that."""
    return shown(value) if isinstance(value, str) and not isinstance(value, Markup) else value


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printed,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        say=say,
        spoken=spoken,
        languages=languages,
        own_name=own_name,
        prose=prose,
        typed=typed,
        exact=exact,
        shown=shown,
        static=static_url,
        phrases=phrases,
        views=views,
        OWN=OWN,
        SUGGESTED=SUGGESTED,
    )
    return environment


def render(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(values)
