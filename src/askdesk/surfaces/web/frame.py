"""An agent's HTML as a document of its own, for a sandboxed frame: it looks as it was meant to, and does nothing.

Two walls, neither of which lets a request out when the other is missing: the policy that the response carries, and a
cleaning that leaves nothing to forbid. No script, no link, no field to type in, no address of anything but pictures
written out in the document itself. Pure.
"""

from __future__ import annotations

import re

import nh3

from askdesk.core.text import is_blank, shown
from askdesk.surfaces.web.inline_style import safe_style
from askdesk.surfaces.web.plain import plain_html

FRAME_POLICY = (
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)

_LONGEST = 100_000  # characters; in these bounds nh3 is done in a moment, whatever they are
_MOST_STEPS = 40_000_000  # for each tag, nh3 may look at all that are open
_MOST_COPIES = 250_000  # what is bold and never ends is opened again in each element that follows

_DOCUMENT = """<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="color-scheme" content="light">
<style>
:root { color-scheme: light; background: #fff; color: #1a1a1a; font: 16px/1.5 system-ui, sans-serif }
body { margin: 12px; overflow-wrap: anywhere }
pre { margin: 0; white-space: pre-wrap; font: 14px/1.5 ui-monospace, monospace }
table { border-collapse: collapse }
td, th { padding: 2px 8px }
img { max-width: 100% }
img:not([src]) { border: 1px dashed; padding: 0 4px }
:disabled { color: inherit }
.s-escape { color: #a3006a }
.s-dim { color: #595959 }
</style>
</head>
<body>
{fragment}
</body>
</html>
"""

_TEXT = {
    *("a", "abbr", "b", "bdi", "big", "br", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins", "kbd"),
    *(
        "mark",
        "q",
        "rp",
        "rt",
        "ruby",
        "s",
        "samp",
        "small",
        "span",
        "strike",
        "strong",
        "sub",
        "sup",
        "time",
        "tt",
        "u",
    ),
    *("var", "wbr"),
}
_BLOCKS = {
    *(
        "address",
        "article",
        "aside",
        "blockquote",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "figcaption",
        "figure",
    ),
    *("footer", "h1", "h2", "h3", "h4", "h5", "h6", "header", "hgroup", "hr", "li", "main", "nav", "ol", "p", "pre"),
    *("search", "section", "summary", "ul", "img"),
}
_TABLES = {"caption", "col", "colgroup", "table", "tbody", "td", "tfoot", "th", "thead", "tr"}
_CONTROLS = {"button", "input", "select", "textarea"}
_FORMS = {*_CONTROLS, "fieldset", "optgroup", "option", "label", "legend", "meter", "output", "progress"}
_DRAWINGS = {"svg", "g", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan"}

_PAINTS = {
    *("fill", "fill-opacity", "fill-rule", "stroke", "stroke-width", "stroke-opacity", "stroke-linecap"),
    *("stroke-linejoin", "stroke-dasharray", "stroke-dashoffset", "opacity", "transform", "color"),
    *("text-anchor", "dominant-baseline", "font-size", "font-weight", "font-family"),
}
_SHAPES = {
    *("viewBox", "preserveAspectRatio", "width", "height", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx"),
    *("ry", "dx", "dy", "d", "points"),
}
_ALIGNED = {"align", "valign", "bgcolor", "width", "height"}

_ATTRIBUTES = {
    "*": {"style", "title", "dir", "lang", "role", "align"},
    **dict.fromkeys(
        _TABLES, _ALIGNED | {"border", "cellpadding", "cellspacing", "colspan", "rowspan", "span", "scope"}
    ),
    **dict.fromkeys(_DRAWINGS, _PAINTS | _SHAPES),
    "img": {"src", "alt", "width", "height"},
    "font": {"color", "face", "size"},
    "ol": {"start", "reversed", "type"},
    "ul": {"type"},
    "li": {"value", "type"},
    "details": {"open"},
    "meter": {"value", "min", "max", "low", "high", "optimum"},
    "progress": {"value", "max"},
    "input": {"value", "placeholder", "checked", "size", "min", "max", "step"},
    "textarea": {"placeholder", "rows", "cols"},
    "select": {"multiple", "size"},
    "option": {"selected", "label"},
    "optgroup": {"label"},
}
_FIELDS = {
    *("text", "password", "search", "email", "tel", "url", "number", "range", "color", "date", "time", "month", "week"),
    *("datetime-local", "checkbox", "radio", "button", "submit", "reset"),
}

_PICTURE = re.compile(r"data:image/(?:png|gif|jpeg|webp);base64,[A-Za-z0-9+/=\s]*", re.ASCII | re.IGNORECASE)

# A tag without attributes is opened again three times at most, however often it was left open.
_BOLD = re.compile(r"<(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)(>|[\s/])", re.IGNORECASE)
_TAG = re.compile(r"<[a-z]", re.IGNORECASE)
_REOPENED = 3 * 14


def frame_document(preview: str) -> bytes:
    """The whole document for a preview in HTML; what is too long to clean, or breaks it, is the plain text it is."""
    return _DOCUMENT.replace("{fragment}", _fragment(preview)).encode()


def _fragment(preview: str) -> str:
    if is_blank(preview) or _is_heavy(preview):
        return plain_html(preview)
    try:
        cleaned = _CLEANER.clean(preview)
    except Exception:  # noqa: BLE001 - hostile text may make a parser raise anything; the text itself can be shown
        return plain_html(preview)
    # Characters that hide or reorder become visible here too; in what nh3 wrote, none of them is part of the markup.
    return shown(cleaned, lines=True) if not is_blank(cleaned) else plain_html(preview)


def _is_heavy(preview: str) -> bool:
    """Whether nh3 could take more than a moment for it."""
    if len(preview) > _LONGEST:
        return True
    tags = len(_TAG.findall(preview))
    steps = tags * (tags + preview.count("</"))
    ends = _BOLD.findall(preview)
    bold = min(ends.count(">"), _REOPENED) + len(ends) - ends.count(">")
    return steps > _MOST_STEPS or bold * tags > _MOST_COPIES


def _attribute(tag: str, name: str, value: str) -> str | None:
    """What stays of an attribute that may stay."""
    if name == "style" or name in _PAINTS:
        return safe_style(value) or None
    if name == "src":
        return value if _PICTURE.fullmatch(value) else None
    return value


_CLEANER = nh3.Cleaner(
    tags=_TEXT | _BLOCKS | _TABLES | _FORMS | _DRAWINGS,
    clean_content_tags={"script", "style", "template", "title", "iframe", "noframes", "noembed", "object", "noscript"},
    attributes=_ATTRIBUTES,
    attribute_filter=_attribute,
    tag_attribute_values={"input": {"type": _FIELDS}},
    set_tag_attribute_values={tag: {"disabled": ""} for tag in _CONTROLS},
    generic_attribute_prefixes={"aria-"},
    link_rel=None,
    url_schemes={"data"},
    url_relative="deny",
)
