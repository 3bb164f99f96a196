"""A program for a terminal: one real form after the other, each with a hostile text in every field it can stand in.

Every paint brings the next one on, so each is drawn once by the real app; Enter then leaves. Run as
`python -m tests.surfaces.terminal.parade EVERY`: every so many payloads.
"""

import asyncio
import sys
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace
from tests.hostile import PAYLOADS

from askdesk.core.model import Ask, Asker, Option, Permission, PreviewFormat, Question, Questions
from askdesk.core.text import Shown
from askdesk.surfaces.terminal.decision import Decision
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.screen import DialogApp, Guard
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.terminal.started import drawn, started
from askdesk.surfaces.terminal.tty import on_terminal, terminal_size
from askdesk.surfaces.terminal.view import Picture, Size
from askdesk.testing.clock import NOON

END = "Was that all?"
FORMATS: tuple[PreviewFormat, ...] = ("none", "markdown", "html")


def asks(payload: str, number: int) -> Iterator[Ask]:
    """A text in every field of a lone question or of a whole form, and of a call."""
    asker = Asker(payload, project=payload, parent=payload)
    options = [Option(payload, payload, payload), Option(f"{payload} (Recommended)", payload)]
    question = Question(payload, options, header=payload, multi_select=bool(number % 2))
    preview = FORMATS[number % 3]
    text = Question(f"{payload}?", kind="text", default=payload)
    asked = [text, question] if number % 4 == 3 else [question]
    yield Ask("a" * 32, Questions(asked), asker, NOON, preview_format=preview)
    tool, fields = TOOLS[number % len(TOOLS)]
    rule = {"type": "addRules", "rules": [{"toolName": payload, "ruleContent": payload}], "behavior": "allow"}
    named = {name: payload if value is None else value for name, value in fields.items()}
    yield Ask("b" * 32, Permission(tool or payload, {**named, payload: payload}, payload, payload, [rule]), asker, NOON)


TOOLS: tuple[tuple[str, dict[str, object]], ...] = (
    ("Bash", {"command": None, "timeout": 5, "description": None}),
    ("Edit", {"file_path": None, "old_string": None, "new_string": "x"}),
    ("Write", {"file_path": None, "content": None}),
    ("WebFetch", {"url": None, "prompt": None}),
    ("mcp__desk__say", {"words": None}),
    ("", {"deep": [{"a": "b"}]}),
)


class Parade(Struct, frozen=True):
    """What is shown now, and what comes."""

    now: Sheet | Decision
    left: tuple[Ask, ...]

    @property
    def size(self) -> Size:
        return self.now.size

    @property
    def subject(self) -> str:
        return str(len(self.left))

    @property
    def page(self) -> str:
        return self.subject

    @property
    def spoken(self) -> Shown:
        return Shown("")

    def looked(self, picture: Picture) -> "Parade":
        """Go through the pages of a form, then bring on the next."""
        if isinstance(self.now, Sheet) and not self.now.form.is_lone and not self.now.form.in_review:
            step = self.now.press("tab")
            assert isinstance(step, Sheet)
            return replace(self, now=step)
        if not self.left:
            return self
        return Parade(started(self.left[0], self.size, None), self.left[1:])

    def press(self, key: str) -> "Parade | Edit | None":
        return None if key == "enter" and not self.left else self

    def paste(self, words: str) -> "Parade":
        return self

    def resized(self, size: Size) -> "Parade":
        return replace(self, now=self.now.resized(size))

    def told(self, said: Shown) -> "Parade":
        return self


def picture(parade: Parade) -> Picture:
    return drawn(parade.now)


async def main(every: int) -> None:
    first, *rest = (ask for number, text in enumerate(PAYLOADS[::every]) for ask in asks(text, number))
    rest.append(Ask("c" * 32, Questions([Question(END, ["Yes", "No"])]), Asker(), NOON))
    size = terminal_size()
    assert size
    with on_terminal(drawing=True):
        app = DialogApp(Parade(started(first, size, None), tuple(rest)), picture, guard=Guard(0, 0))
        await app.run_async(inline=True)
    print(f"{1 + len(rest)} shown", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
