"""Agent text cannot write to the terminal: hostile texts in every field, through the real form on a real terminal."""

import os
import re
import sys

import pytest
from tests.hostile import PAYLOADS, controls, marker
from tests.surfaces.terminal.parade import END
from tests.terminal import Terminal

EVERY = 1 if os.environ.get("ASKDESK_TEST_PAYLOADS") == "all" else 3  # scripts/faults shows all of them
ABOVE = tuple(f"line {number} of an earlier command" for number in range(5))


def without_erasing(raw: bytes) -> bytes:
    """The stream without what forms erase: each line where it begins, and all of them at the end."""
    whole = re.sub(rb"\x1b7(?:\x1b\[\d+A)?\r(?:\x1b\[2K\x1b\[B)+\x1b8", b"", raw)
    return re.sub(rb"(\A|\n|\x1b\[[\d;?>]*[A-Za-z]|\a)\x1b\[2K", rb"\1", whole)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_hostile_texts_put_nothing_but_text_on_the_terminal(columns: int) -> None:
    shown = PAYLOADS[::EVERY]
    assert len(shown) >= 300
    command = (sys.executable, "-m", "tests.surfaces.terminal.parade", str(EVERY))
    quick = {"TEXTUAL_FPS": "1000"}  # one paint after the other, and not sixty a second
    with Terminal(command=command, columns=columns, lines=50, before=ABOVE, env=quick) as person:
        person.shows(END, seconds=300)
        person.press("enter")
        ran = person.leaves()
        raw = bytes(person.raw)
        rows = [row for row in person.history if row]

    assert ran.code == 0
    assert controls(without_erasing(raw)) == []
    assert rows == [*ABOVE, f"{2 * len(shown) + 1} shown"]
    text = raw.decode()
    assert [payload for payload in shown if marker(payload) not in text] == []
