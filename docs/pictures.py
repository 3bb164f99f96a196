"""Draws docs/pictures/*.svg: the real screens, driven by keys. Run it as `python docs/pictures.py`."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from askdesk import Ask, Asker, Option, Permission, Question, Questions
from askdesk.cli.demo import QUESTIONS
from askdesk.core.model import Entry
from askdesk.core.work import Working
from askdesk.surfaces.terminal import inbox_view
from askdesk.surfaces.terminal.inbox import Inbox
from askdesk.surfaces.terminal.screen import DialogApp, Guard
from askdesk.surfaces.terminal.started import drawn, started
from askdesk.surfaces.terminal.view import Picture, Size

FOLDER = Path(__file__).with_name("pictures")
NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
BUILDER = Asker("builder", project="/home/ana/new-service")
CODE = """\
A **thin** layer over the driver:

```python
async def page(after, limit=50):
    # one statement, one round trip
    return await fetch(PAGE, after, limit)
```

- no models to keep in step
- plain SQL in files
"""
LAYER = Question(
    "How should the service talk to its database?",
    [
        Option("Plain SQL (Recommended)", "A dozen statements in files", CODE),
        Option("An ORM", "Models, sessions, migrations"),
    ],
    header="Data layer",
)
COMMAND = {
    "command": "docker compose up -d db && \\\n  npm run migrate -- --env=staging",
    "timeout": 120_000,
    "description": "Start the database and migrate it",
}
RULE = {
    "type": "addRules",
    "rules": [{"toolName": "Bash", "ruleContent": "npm run migrate:*"}],
    "behavior": "allow",
    "destination": "localSettings",
}
CALL = Permission("Bash", COMMAND, folder="/home/ana/new-service", suggestions=[RULE])
DATABASE, PARTS, LAYOUT = QUESTIONS.items


def asked(*questions: Question) -> Ask:
    return Ask("3f2a9c01", Questions(questions), BUILDER, NOON, preview_format="markdown")


def waiting(number: int, minutes: int, agent: str, project: str, body: Questions | Permission) -> Entry:
    asker = Asker(agent, project=f"/home/ana/{project}")
    return Entry(Ask(f"{number:032x}", body, asker, NOON - timedelta(minutes=minutes)))


INBOX = Inbox(NOON, Size(92, 16)).entered(
    [
        waiting(1, 190, "reviewer", "billing", Permission("Edit", {"file_path": "billing/tax.py"})),
        waiting(2, 42, "builder", "new-service", QUESTIONS),
        waiting(3, 12, "builder", "shop", Questions([LAYER])),
        waiting(4, 3, "deployer", "shop", CALL),
        waiting(5, 1, "writer", "handbook", Questions([Question("Which tone?", ["Formal", "Friendly"])])),
    ]
)

AT_WORK = tuple(
    Working(asker=Asker(agent, "1", f"/home/ana/{project}"), since=NOON - timedelta(minutes=minutes), seen=NOON)
    for agent, project, minutes in (("claude", "shop", 25), ("builder", "new-service", 4))
)
TELLING = replace(Inbox(NOON, Size(92, 10)), working=AT_WORK)

ONE, ALL = asked(DATABASE), asked(DATABASE, PARTS, LAYOUT)
PICTURES: dict[str, tuple[Ask | Inbox, tuple[str, ...]]] = {
    "single": (ONE, ("down",)),
    "multi": (asked(PARTS), ("space", "down", "down", "space", "down", *"tracing")),
    "tabs": (ALL, ("enter", "space", "down")),
    "preview": (asked(LAYER), ()),
    "notes": (ONE, ("space", "n", *"only until we need a second machine")),
    "review": (ALL, ("enter", "space", "tab", "tab")),
    "permission": (Ask("9b01", CALL, BUILDER, NOON), ("down",)),
    "inbox": (INBOX, ("down", "space", "down", "space", "down")),
    "tell": (TELLING, ("t", "enter", *"leave the migrations alone")),
}


async def picture(shown: Ask | Inbox, keys: tuple[str, ...]) -> str:
    """The screen after these keys, as SVG."""
    size = shown.size if isinstance(shown, Inbox) else Size(100, 22)
    dialog: Any = shown if isinstance(shown, Inbox) else started(shown, size, None)
    draw: Callable[[Any], Picture] = inbox_view.picture if isinstance(shown, Inbox) else drawn
    app = DialogApp(dialog, draw, guard=Guard(0, 0))
    async with app.run_test(size=(size.columns, size.lines)) as pilot:
        await pilot.press(*keys)
        await pilot.pause()
        return plain_svg(app.export_screenshot(title="askdesk"))


def plain_svg(svg: str) -> str:
    """Without fonts from elsewhere, and the same each time."""
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r"terminal-\d+", "terminal", svg)
    return re.sub(r"Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono", svg) + "\n"


def draw_all() -> dict[str, str]:
    async def drawing() -> dict[str, str]:
        return {name: await picture(shown, keys) for name, (shown, keys) in PICTURES.items()}

    return asyncio.run(drawing())


if __name__ == "__main__":
    for name, svg in draw_all().items():
        (FOLDER / f"{name}.svg").write_text(svg, "utf-8")
