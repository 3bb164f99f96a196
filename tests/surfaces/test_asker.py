"""How long something took, in words that a person reads at a glance."""

from datetime import UTC, datetime, timedelta

import pytest

from askdesk.core.model import Ask, Asker, Declined, Entry, Question, Questions, Settlement
from askdesk.surfaces.asker import lasted
from askdesk.surfaces.phrases import ended_words, took_words

ASKED = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
ASK = Ask("a", Questions([Question("Which?", ["x", "y"])]), Asker(), ASKED)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0.0s"),
        (0, "0.0s"),
        (0.37, "0.4s"),
        (9.94, "9.9s"),
        (12.9, "12s"),
        (60, "1m"),
        (200, "3m 20s"),
        (3600, "1h"),
        (3661, "1h 1m"),
        (86400 * 2 + 3600 * 5 + 60, "2d 5h"),
    ],
)
def test_a_span_is_told_in_the_two_units_that_matter(seconds: float, words: str) -> None:
    assert lasted(timedelta(seconds=seconds)) == words


def test_an_entry_tells_when_it_was_asked_and_how_long_it_took() -> None:
    asked = f"{ASKED.astimezone():%Y-%m-%d %H:%M}"
    later, before = (Settlement(Declined(), ASKED + timedelta(seconds=s), "s") for s in (200, -1))

    assert took_words(Entry(ASK)) == f"asked {asked}"
    assert took_words(Entry(ASK, later)) == f"asked {asked}, took 3m 20s"
    assert took_words(Entry(ASK, before)) == f"asked {asked}"  # clocks of two machines


def test_an_end_that_names_nobody_names_its_surface() -> None:
    assert ended_words(Settlement(Declined(), ASKED, "s", surface="claude-code")) == "declined on claude-code"
    assert ended_words(Settlement(Declined(), ASKED, "s")) == "declined"
