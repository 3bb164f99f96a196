"""Code in colours: Pygments' tokens as spans. Whatever the colours, the text is shown() of what was given.

Pygments sees a stand-in, with blanks for what shown() escapes, and only one of a shape that its regexes are quick on.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import groupby
from time import thread_time

from askdesk.core.text import Shown, shown_parts
from askdesk.surfaces.spans import Line, Span, Style

_LONGEST = 20_000
_PATIENCE = 0.1  # seconds of computing; what is not lexed by then has no colours
# Some lexers take a minute for a line of blanks; within these bounds no single token of any takes long.
_UNTAME = re.compile(r"[^\n]{501}|\s{101}")

_ALIASES: Mapping[str, str] = {
    "python": "py python3 py3 pyi",
    "bash": "sh shell zsh ksh",
    "console": "shell-session sh-session terminal",
    "json": "jsonc json5 jsonl",
    "yaml": "yml",
    "toml": "",
    "ini": "cfg conf properties",
    "javascript": "js mjs cjs node",
    "typescript": "ts mts cts",
    "tsx": "",
    "jsx": "",
    "html": "htm xhtml",
    "xml": "svg xsd xsl",
    "css": "",
    "sql": "",
    "go": "golang",
    "rust": "rs",
    "java": "",
    "c": "h",
    "cpp": "c++ cc cxx hpp hh hxx",
    "diff": "patch udiff",
    "docker": "dockerfile containerfile",
    "make": "makefile mk gnumakefile",
    "markdown": "md",
    "ruby": "rb rake gemspec",
    "php": "",
    "kotlin": "kt kts",
    "swift": "",
}
_LEXERS = {alias: lexer for lexer, aliases in _ALIASES.items() for alias in (lexer, *aliases.split())}
_FILES = {
    **dict.fromkeys(("dockerfile", "containerfile"), "docker"),
    **dict.fromkeys(("makefile", "gnumakefile"), "make"),
    **dict.fromkeys(("gemfile", "rakefile"), "ruby"),
    **dict.fromkeys((".bashrc", ".bash_profile", ".profile", ".zshrc"), "bash"),
}

_STYLES: Mapping[tuple[str, ...], Style] = {
    ("Keyword",): "keyword",
    ("Operator", "Word"): "keyword",
    ("Literal", "String"): "string",
    ("Literal", "Number"): "number",
    ("Comment",): "comment",
    ("Name", "Attribute"): "name",
    ("Name", "Builtin"): "name",
    ("Name", "Class"): "name",
    ("Name", "Decorator"): "name",
    ("Name", "Function"): "name",
    ("Name", "Tag"): "name",
    ("Generic", "Inserted"): "added",
    ("Generic", "Deleted"): "removed",
    ("Generic", "Heading"): "heading",
    ("Generic", "Subheading"): "heading",
    ("Generic", "Strong"): "strong",
    ("Generic", "Emph"): "emphasis",
    ("Generic", "Prompt"): "dim",
}


def highlighted(text: str, language: str, *, exact: bool = False) -> list[Line]:
    """A line for each line of the text, in colours where the language is known and the text is not too long."""
    rows = [visible(row, exact=exact) for row in text.split("\n")]
    lexer = _LEXERS.get(language.strip().lower())
    if lexer is None or len(text) > _LONGEST:
        return rows
    stand_in = "\n".join("".join(map(_stand_in, row)) for row in rows)
    if len(stand_in) > _LONGEST or _UNTAME.search(stand_in):
        return rows
    try:
        styles = _styles(stand_in, lexer)
    except Exception:  # noqa: BLE001 - a lexer may raise anything; the text is shown without its colours
        return rows
    return list(_coloured(rows, styles))


def language_of(path: str) -> str:
    """The language of a file by its name, or nothing where that tells none."""
    name = re.split(r"[/\\]", path)[-1].lower()
    stem, _, extension = name.rpartition(".")
    return _FILES.get(name) or _FILES.get(stem) or (_LEXERS.get(extension, "") if stem else "")


def visible(text: str, style: Style = "", *, lines: bool = False, exact: bool = False) -> Line:
    """What shown() makes of a text, its escapes in a style of their own, so that no text passes for one."""
    parts = shown_parts(text, lines=lines, exact=exact)
    return tuple([Span(part, "escape" if escaped else style) for part, escaped in parts])


def _stand_in(span: Span) -> str:
    return " " * len(span.text) if span.style == "escape" else span.text


def _styles(code: str, name: str) -> list[Style]:
    """A style for each character of the code."""
    from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped] # here, as it is slow to load

    lexer = get_lexer_by_name(name, stripnl=False, startinline="<?" not in code)
    styles: list[Style] = []
    until = thread_time() + _PATIENCE
    for kind, value in lexer.get_tokens(code):
        styles += [_style(kind)] * len(value)
        if thread_time() > until:
            break
    return styles + [""] * (len(code) - len(styles))


@lru_cache(maxsize=256)
def _style(kind: tuple[str, ...]) -> Style:
    known = (_STYLES[kind[:length]] for length in range(len(kind), 0, -1) if kind[:length] in _STYLES)
    return next(known, "")


def _coloured(rows: Iterable[Line], styles: list[Style]) -> Iterable[Line]:
    at = 0
    for row in rows:
        spans: list[Span] = []
        for text, style, _ in row:
            spans += [Span(text, style)] if style else _runs(text, styles[at : at + len(text)])
            at += len(text)
        yield tuple(spans)
        at += 1  # the line break


def _runs(text: Shown, styles: list[Style]) -> Iterable[Span]:
    at = 0
    for style, run in groupby(styles):
        end = at + len(list(run))
        yield Span(Shown(text[at:end]), style)
        at = end
