"""Tables in pages of the documents, which a run puts anew between two marks."""

from __future__ import annotations

from pathlib import Path

_END = "<!-- until here -->\n"


def put(path: Path, command: str, text: str) -> None:
    """Put what a command measured in its place on a page."""
    path.write_text(replaced(path.read_text("utf-8"), command, text), "utf-8")


def replaced(page: str, command: str, text: str) -> str:
    """A page with another text between its marks."""
    before, begin, _, after = _parts(page, command)
    return f"{before}{begin}\n{text}\n{_END}{after}"


def standing(page: str, command: str) -> str:
    """What stands between its marks now."""
    return _parts(page, command)[2].strip("\n") + "\n"


def _parts(page: str, command: str) -> tuple[str, str, str, str]:
    mark = f"<!-- measured by {command} -->\n"
    before, begin, rest = page.partition(mark)
    between, end, after = rest.partition(_END)
    assert end, f"there is no place for it: {mark.strip()} … {_END.strip()}"
    return before, begin, between, after
