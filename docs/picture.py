"""Draws docs/picture.svg: a real exchange, as the demo prints it. Run it as `python docs/picture.py`."""

from __future__ import annotations

import subprocess
import sys
from html import escape
from pathlib import Path

LINE, CHARACTER, MARGIN = 19, 8.2, 22
SHOWN = (
    ("The agent builder in new service asks:", "Your choice: 1"),
    ("What the agent reads:", '  - "Which database'),
    ("Permission to use the tool Bash", "Allow this call?"),
)
COLOURS = {"Your choice": "#8bd5a0", "Allow this call": "#8bd5a0", "  ANSWERED": "#e8c27a", "  - ": "#e8c27a"}


def exchange() -> list[str]:
    command = [sys.executable, "-m", "askdesk.cli.main", "demo", "--script"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def chosen(lines: list[str]) -> list[str]:
    """The telling passages, each from its first line to its last."""
    picked: list[str] = []
    for first, last in SHOWN:
        start = next(n for n, line in enumerate(lines) if line.startswith(first))
        end = next(n for n, line in enumerate(lines) if n >= start and line.startswith(last))
        picked += [*(line for line in lines[start : end + 1] if line), ""]
    return [line if len(line) <= 92 else f"{line[:91]}…" for line in picked[:-1]]


def svg(lines: list[str]) -> str:
    width = int(max(len(line) for line in lines) * CHARACTER) + 2 * MARGIN
    height = (len(lines) + 1) * LINE + 2 * MARGIN
    rows = [
        f'<text x="{MARGIN}" y="{MARGIN + 14 + (n + 1) * LINE}" fill="{_colour(line)}" xml:space="preserve">'
        f"{escape(line)}</text>"
        for n, line in enumerate(lines)
    ]
    dots = [f'<circle cx="{MARGIN + n * 18}" cy="{MARGIN}" r="5.5" fill="#4a5261"/>' for n in range(3)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img"',
            '  font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="13.5">',
            "<title>A terminal: an agent asks which database to use, a person chooses, the agent reads the answer"
            "</title>",
            f'<rect width="{width}" height="{height}" rx="10" fill="#1d222b"/>',
            *dots,
            *rows,
            "</svg>\n",
        ]
    )


def _colour(line: str) -> str:
    return next((colour for start, colour in COLOURS.items() if line.startswith(start)), "#d6dbe4")


if __name__ == "__main__":
    Path(__file__).with_suffix(".svg").write_text(svg(chosen(exchange())), "utf-8")
