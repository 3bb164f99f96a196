"""Asks, the sheets they begin as, keys pressed on them, and pictures as rows of text."""

from typing import TypeAlias

from askdesk.core.model import Ask, Asker, Option, Question, Questions, Reply
from askdesk.surfaces.spans import text_of
from askdesk.surfaces.terminal.browser import Visit
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.terminal.sheet_view import picture
from askdesk.surfaces.terminal.view import Picture, Size
from askdesk.testing.clock import NOON

Step: TypeAlias = Sheet | Reply | Edit | Visit | None

USUAL = Size(80, 24)

DATABASE = Question(
    "Which database should we use?",
    [
        Option("Postgres (Recommended)", "A server: strong, and one more thing to run"),
        Option("SQLite", "One file, nothing to run"),
        Option("DuckDB", "For analysis"),
    ],
    header="Database",
)
PARTS = Question(
    "Which parts do you want?",
    [Option("Sign-in", "With a password"), "Logging", "Metrics"],
    header="Parts",
    multi_select=True,
)
NAME = Question("What should it be called?", kind="text", header="Name")
COUNT = Question("How many workers?", kind="number", minimum=1, maximum=64, header="Workers")
BAR = "+---------+------+\n| Sidebar | Main |\n+---------+------+"
LAYOUT = Question(
    "Which layout do you like?",
    [
        Option("Sidebar", "On the left", BAR),
        Option("Top bar", "Above", "\n".join(f"row {n} of the top bar" for n in range(1, 41))),
    ],
    header="Layout",
)


def ask(*questions: Question) -> Ask:
    return Ask("3f6b2c1d5e", Questions(questions), Asker("builder", project="/home/ana/shop"), NOON)


def sheet(*questions: Question, size: Size = USUAL) -> Sheet:
    return Sheet.start(ask(*questions), size)


def pressed(start: Sheet, *keys: str) -> Step:
    """What has come of a sheet after these keys."""
    step: Step = start
    for key in keys:
        assert isinstance(step, Sheet), f"the sheet ended before {key!r}"
        step = step.press(key)
        if isinstance(step, Sheet):
            step = step.looked(picture(step))  # as a screen does after each paint
    return step


def going_on(start: Sheet, *keys: str) -> Sheet:
    step = pressed(start, *keys)
    assert isinstance(step, Sheet), f"the sheet ended with {step}"
    return step


def rows(picture: Picture) -> list[str]:
    """What a person reads, without the blanks at the end of a row."""
    return [text_of(spans).rstrip() for spans in picture.lines]


def keys_in(picture: Picture) -> list[str]:
    """What clicks on a picture can press, from top to bottom."""
    return list(dict.fromkeys(span.key for spans in picture.lines for span in spans if span.key))
