"""Inline styles that fetch nothing. Pure; knows CSS's tokens, and of its properties none.

CSS has many ways to name an address (url, src, image-set, cross-fade, paint) and gets more, so functions are let
through by name. A declaration with any other is left out. Where a style cannot be told apart into tokens, all of it is.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    (?P<blank> [ \t\n\r\f]+ | /\*.*?\*/ )
    | (?P<text> "[^"\\\x00-\x1f]*" | '[^'\\\x00-\x1f]*' )
    | (?P<address> url\( (?: [^"'()\\\x00-\x1f]* | [ ]*"[^"\\\x00-\x1f]*"[ ]* | [ ]*'[^'\\\x00-\x1f]*'[ ]* ) \) )
    | (?P<function> [a-z0-9_-]+\( )
    | (?P<plain> [a-z0-9_-]+ | [.%#+!*,:()\[\]] | /(?!\*) )
    | (?P<foreign> [^\x00-\x7f]+ )
    | (?P<end> ; )
    | (?P<stop> . )
    """,
    re.VERBOSE | re.ASCII | re.IGNORECASE | re.DOTALL,
)
_FUNCTIONS = {
    f"{name}("
    for name in (
        *("rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color", "color-mix", "light-dark"),
        *("linear-gradient", "radial-gradient", "conic-gradient"),
        *("repeating-linear-gradient", "repeating-radial-gradient", "repeating-conic-gradient"),
        *("calc", "min", "max", "clamp", "round", "var", "repeat", "minmax", "fit-content"),
        *("matrix", "matrix3d", "perspective", "rotate", "rotate3d", "rotatex", "rotatey", "rotatez"),
        *("scale", "scale3d", "scalex", "scaley", "scalez", "skew", "skewx", "skewy"),
        *("translate", "translate3d", "translatex", "translatey", "translatez"),
        *("blur", "brightness", "contrast", "drop-shadow", "grayscale", "hue-rotate", "invert", "opacity"),
        *("saturate", "sepia", "circle", "ellipse", "inset", "polygon", "cubic-bezier", "steps", "counter", "counters"),
    )
}


def safe_style(style: str) -> str:
    """The declarations of a style that can be seen to fetch nothing."""
    kept: list[str] = []
    words, safe = "", True
    for token in _TOKEN.finditer(f"{style};"):
        match token.lastgroup:
            case "stop":  # an escape, a block, a string or a comment without an end
                return ""
            case "end":
                kept += [words.strip()] if safe and words.strip() else []
                words, safe = "", True
            case "blank":
                words += "" if words.endswith(" ") else " "
            case "address" | "foreign":
                safe = False
            case "function":
                safe = safe and token[0].lower() in _FUNCTIONS
                words += token[0]
            case _:
                words += token[0]
    return "; ".join(kept)
