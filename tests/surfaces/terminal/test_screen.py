"""The Textual screen with a person at it, played by Pilot: what is drawn, what reaches a dialog, what never does."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, get_args

import pytest
from rich.style import Style as RichStyle
from textual import events
from textual.pilot import Pilot

from askdesk.core.model import Allowed, Answer, Answered, Ask, Asker, Denied, Permission, Question, Questions
from askdesk.core.text import Shown
from askdesk.surfaces.spans import Span, Style, line
from askdesk.surfaces.terminal.decision import Decision
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.screen import GUARD, STYLES, DialogApp, Guard, Interrupted, Paper, strip
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.terminal.started import drawn
from askdesk.surfaces.terminal.view import Size
from askdesk.surfaces.texts import say
from askdesk.testing.clock import NOON

pytestmark = pytest.mark.anyio

Dialog: TypeAlias = Sheet | Decision
App: TypeAlias = DialogApp[Dialog]

DATABASE = Question("Which database?", ["SQLite", "Postgres"], header="Database")
PARTS = Question("Which parts?", ["Sign-in", "Logging"], header="Parts", multi_select=True)
NAME = Question("Which name?", kind="text")
LS = Permission("Bash", {"command": "ls"})
LONG = Permission("Bash", {"command": "\n".join(f"echo {number}" for number in range(100))})
OPEN = Guard(0, 0)


class Seconds:
    """A clock for the guard that only moves when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


def dialog(*body: Question | Permission) -> Dialog:
    first = body[0]
    if isinstance(first, Permission):
        return Decision.start(Ask("a1", first, Asker("builder"), NOON), Size(80, 24))
    questions = [question for question in body if isinstance(question, Question)]
    return Sheet.start(Ask("a1", Questions(questions), Asker("builder"), NOON), Size(80, 24))


def app_for(
    *body: Question | Permission,
    guard: Guard = OPEN,
    clock: Callable[[], float] = lambda: 1000.0,
    changed: Callable[[Dialog], None] = lambda _: None,
) -> App:
    return DialogApp(dialog(*body), drawn, guard=guard, clock=clock, changed=changed)


@asynccontextmanager
async def running(app: App, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Pilot[Any]]:
    async with app.run_test(size=size) as pilot:
        await painted(pilot)
        yield pilot


async def painted(pilot: Pilot[Any]) -> None:
    """Everything that was sent was taken in, and is on the screen."""
    assert isinstance(pilot.app, DialogApp)
    await pilot.pause()
    await pilot.app.painted()
    await pilot.pause()


async def types(pilot: Pilot[Any], *keys: str) -> None:
    """All of the keys at once, as where they waited for the form."""
    for key in keys:
        character = key if len(key) == 1 else {"enter": "\r", "escape": "\x1b", "tab": "\t"}.get(key)
        name = {" ": "space"}.get(key, key)
        event = events.Key(name, character)
        event.set_sender(pilot.app)
        driver = pilot.app._driver
        assert driver is not None
        driver.send_message(event)
    await painted(pilot)


async def pastes(pilot: Pilot[Any], words: str) -> None:
    pilot.app.query_one(Paper).post_message(events.Paste(words))
    await painted(pilot)


async def clicks(pilot: Pilot[Any], key: str) -> None:
    """A click on the first place that presses this key."""
    app = pilot.app
    assert isinstance(app, DialogApp)
    for y, spans in enumerate(app.picture.lines):
        for x in range(sum(len(span.text) for span in spans)):
            if app.picture.key_at(x, y) == key:
                await pilot.click(Paper, offset=(x, y))
                await painted(pilot)
                return
    raise AssertionError(f"{key} is nowhere")


def screen(app: App) -> list[str]:
    """What is on the screen, drawn by Textual, without the blanks at the end of each row."""
    return [row.text.rstrip() for row in app.screen._compositor.render_strips()]


def told(app: App) -> str:
    return app.dialog.said


def thrown_away(count: int) -> str:
    return say("sheet.typed_ahead", count=count)


async def test_what_is_drawn_is_the_picture_and_the_rest_of_the_screen_is_blank() -> None:
    app = app_for(LS)
    async with running(app) as pilot:
        assert screen(app) == [
            "builder asks",
            "",
            "Bash command · Bash",
            "│ ls",
            "",
            "  1. Allow this call, once",
            "  2. Allow it with changes…",
            "  3. Deny it",
            "  4. Deny it and say why…",
            "  5. Suggest another way…",
            "  6. Deny it and give a new instruction…",
            "  7. Deny it and stop the agent…",
            "",
            "↑↓ move  Enter decide  Esc leave  ? all keys",
            *[""] * 10,
        ]
        await types(pilot, "d")
        assert screen(app)[7] == "❯ 3. Deny it"


async def test_keys_are_pressed_on_the_dialog_and_its_reply_ends_the_app() -> None:
    app = app_for(DATABASE)
    async with running(app) as pilot:
        await types(pilot, "down", "enter")

    assert (app.return_value, app.ended) == (Answered([Answer(["Postgres"])]), True)


async def test_what_is_typed_and_pasted_reaches_the_field_and_the_cursor_stands_in_it() -> None:
    changes: list[Dialog] = []
    app = app_for(NAME, changed=changes.append)
    async with running(app) as pilot:
        await types(pilot, *"Zoë ")
        await pastes(pilot, "日本\nB")
        assert isinstance(app.dialog, Sheet)
        assert app.dialog.field.text == "Zoë 日本\nB"
        assert app.cursor_position == app.picture.cursor
        assert changes[-1] == app.dialog
        await types(pilot, "enter")

    assert app.return_value == Answered([Answer(other="Zoë 日本\nB")])


async def test_a_wish_for_the_editor_ends_the_app_with_it() -> None:
    app = app_for(NAME)
    async with running(app) as pilot:
        await types(pilot, *"abc", "ctrl+g")

    assert app.return_value == Edit("abc")


async def test_leaving_ends_with_none_after_it_was_asked() -> None:
    app = app_for(DATABASE)
    async with running(app) as pilot:
        await types(pilot, "escape")
        assert not app.ended
        await types(pilot, "2", "enter")

    assert (app.return_value, app.ended) == (None, True)


async def test_ctrl_c_ends_with_interrupted_also_while_keys_are_thrown_away(seconds: Seconds) -> None:
    for guard in (OPEN, GUARD):
        app = app_for(LS, guard=guard, clock=seconds)
        async with running(app) as pilot:
            await types(pilot, "ctrl+c")

        assert app.return_value == Interrupted()


BODIES = [(DATABASE,), (DATABASE, PARTS), (NAME,), (LS,), (LONG,)]


@pytest.mark.parametrize("body", BODIES)
async def test_keys_pressed_before_anything_was_painted_are_thrown_away_and_counted(
    body: tuple[Question | Permission, ...], seconds: Seconds
) -> None:
    app = app_for(*body, guard=GUARD, clock=seconds)
    before = app.dialog
    for key in ("1", "y", "enter", " "):
        app.press(key)
    app.paste("words")
    assert app.dialog == before.told(Shown(thrown_away(5)))

    async with running(app):
        assert thrown_away(5) in "\n".join(screen(app))
    assert not app.ended


@pytest.mark.parametrize("body", BODIES)
async def test_in_the_first_400_ms_keys_and_pasted_text_are_thrown_away_and_counted(
    body: tuple[Question | Permission, ...], seconds: Seconds
) -> None:
    app = app_for(*body, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        before = app.dialog
        await types(pilot, "y", "1", " ")
        seconds.now += 0.2
        await types(pilot, "enter")
        await pastes(pilot, "yes")
        seconds.now += 0.199
        await types(pilot, "down")

        assert app.dialog == before.told(Shown(thrown_away(6)))
        assert thrown_away(6) in "\n".join(screen(app))
    assert not app.ended


async def test_once_the_time_is_over_and_the_keyboard_was_quiet_keys_count(seconds: Seconds) -> None:
    app = app_for(LS, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        seconds.now += 0.39
        await types(pilot, "y")
        seconds.now += 0.39
        await types(pilot, "y")
        assert told(app) == thrown_away(2)
        seconds.now += 0.41
        await types(pilot, "y")
        assert isinstance(app.dialog, Decision)
        assert (app.dialog.row, told(app)) == ("allow", "")
        seconds.now += 1
        await types(pilot, "enter")

    assert app.return_value == Allowed()


async def test_without_keys_typed_ahead_the_first_key_counts_after_400_ms(seconds: Seconds) -> None:
    app = app_for(DATABASE, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        seconds.now += 0.4
        await types(pilot, "2")

    assert app.return_value == Answered([Answer(["Postgres"])])


@pytest.mark.parametrize("body", BODIES)
async def test_200_keys_typed_ahead_decide_nothing(body: tuple[Question | Permission, ...], seconds: Seconds) -> None:
    app = app_for(*body, guard=GUARD, clock=seconds)
    before = app.dialog
    keys = ["enter", " ", "1", "y", "a", "down", "tab", "2", "enter", "d"] * 20
    for key in keys[:50]:
        app.press(key)
    async with running(app) as pilot:
        await types(pilot, *keys[50:])

        assert app.dialog == before.looked(drawn(before)).told(Shown(thrown_away(200)))
    assert (app.ended, app.return_value) == (False, None)


@pytest.mark.parametrize("body", BODIES)
async def test_keys_held_down_from_before_the_form_came_never_count(
    body: tuple[Question | Permission, ...], seconds: Seconds
) -> None:
    app = app_for(*body, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        before = app.dialog
        for _ in range(100):
            seconds.now += 0.033
            app.press("enter")
        await painted(pilot)

        assert app.dialog == before.told(Shown(thrown_away(100)))
    assert not app.ended


async def test_of_an_enter_that_is_held_down_only_the_first_counts(seconds: Seconds) -> None:
    app = app_for(DATABASE, PARTS, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        seconds.now += 0.4
        await types(pilot, "enter")
        first = app.dialog
        assert isinstance(first, Sheet)
        assert first.form.at == 1
        for _ in range(20):
            seconds.now += 0.033
            await types(pilot, "enter")

        assert app.dialog == first.told(say("sheet.held"))
        seconds.now += 0.2
        await types(pilot, "enter")
        assert isinstance(app.dialog, Sheet)
        assert app.dialog.form.here.picked == (0,)
    assert not app.ended


async def test_a_held_enter_on_a_permission_only_explains(seconds: Seconds) -> None:
    app = app_for(LS, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        seconds.now += 1
        await types(pilot, "enter")
        assert told(app) == say("decision.nothing_chosen")
        for _ in range(20):
            seconds.now += 0.05
            await types(pilot, "enter")
        assert told(app) == say("sheet.held")
    assert not app.ended


async def test_without_a_guard_keys_count_at_once() -> None:
    app = app_for(LS)
    async with running(app) as pilot:
        await types(pilot, "y", "enter")

    assert app.return_value == Allowed()


async def test_clicks_are_thrown_away_too_before_they_can_be_meant(seconds: Seconds) -> None:
    app = app_for(LS, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        before = app.dialog
        await clicks(pilot, "row:allow")
        await clicks(pilot, "row:allow")

        assert app.dialog == before.told(Shown(thrown_away(2)))
    assert not app.ended


async def test_a_click_on_a_row_of_a_permission_moves_the_focus_and_a_second_one_decides() -> None:
    app = app_for(LS)
    async with running(app) as pilot:
        await clicks(pilot, "row:allow")
        assert isinstance(app.dialog, Decision)
        assert app.dialog.row == "allow"
        await clicks(pilot, "row:deny")
        assert isinstance(app.dialog, Decision)
        assert app.dialog.row == "deny"
        await clicks(pilot, "row:deny")

    assert app.return_value == Denied()


async def test_tabs_and_options_can_be_clicked() -> None:
    app = app_for(DATABASE, PARTS)
    async with running(app) as pilot:
        await clicks(pilot, "tab:1")
        assert isinstance(app.dialog, Sheet)
        assert app.dialog.form.at == 1
        await clicks(pilot, "row:option:1")
        await clicks(pilot, "row:option:0")
        await clicks(pilot, "tab:0")
        assert isinstance(app.dialog, Sheet)
        assert [given.picked for given in app.dialog.form.given] == [(), (0, 1)]


async def test_a_click_beside_everything_does_nothing() -> None:
    app = app_for(LS)
    async with running(app) as pilot:
        before = app.dialog
        await pilot.click(Paper, offset=(70, 0))
        await pilot.click(offset=(79, 23))

        assert app.dialog == before


async def test_the_wheel_reads_on_in_a_long_call() -> None:
    app = app_for(LONG)
    async with running(app) as pilot:
        for _ in range(2):
            await pilot._post_mouse_events([events.MouseScrollDown], Paper, (1, 1))
            await painted(pilot)

        assert isinstance(app.dialog, Decision)
        assert (app.dialog.mode, app.dialog.passage.top) == ("view", 1)


async def test_a_long_call_is_unlocked_by_being_read_on_the_screen() -> None:
    app = app_for(LONG)
    async with running(app) as pilot:
        await types(pilot, "y", "enter")
        assert not app.ended
        await types(pilot, "v")
        for _ in range(8):
            await types(pilot, "pagedown")
        assert say("decision.all_read") in screen(app)[-3]
        await types(pilot, "escape")
        await types(pilot, "y")
        await types(pilot, "enter")

    assert app.return_value == Allowed()


async def test_resizing_keeps_what_was_chosen_and_typed_and_draws_it_anew() -> None:
    app = app_for(DATABASE, PARTS)
    async with running(app) as pilot:
        await types(pilot, "2")
        await types(pilot, "1", "down", "down", *"my own words")
        before = app.dialog
        for columns, lines in ((40, 12), (200, 50), (24, 10), (80, 24)):
            await pilot.resize_terminal(columns, lines)
            await painted(pilot)
            assert app.dialog == before.resized(Size(columns, lines))
            assert app.size == (columns, lines)
            assert len(app.picture.lines) < lines
            assert screen(app)[0].startswith("builder asks")
        assert app.dialog == before


async def test_in_a_window_that_is_too_small_nothing_is_decided_and_nothing_is_lost() -> None:
    app = app_for(LS)
    async with running(app) as pilot:
        await types(pilot, "y")
        for columns, lines in ((23, 24), (80, 9), (20, 5), (1, 1)):
            await pilot.resize_terminal(columns, lines)
            await painted(pilot)
            assert screen(app)[0].startswith(say("page.too_small")[: min(columns, 9)].rstrip())
            await types(pilot, "enter", "y", "1", " ", "enter")
            assert not app.ended
        await pilot.resize_terminal(80, 24)
        await painted(pilot)
        assert isinstance(app.dialog, Decision)
        assert app.dialog.row == "allow"
        await types(pilot, "enter")

    assert app.return_value == Allowed()


async def test_a_window_that_is_too_small_says_so_and_escape_leaves_the_ask_open() -> None:
    app = app_for(LS)
    async with running(app, (80, 9)) as pilot:
        assert screen(app)[0] == say("page.too_small")
        await types(pilot, "escape")

    assert (app.ended, app.return_value) == (True, None)


async def test_what_is_hidden_because_the_window_is_too_small_was_not_seen() -> None:
    app = app_for(LONG)
    async with running(app, (80, 9)):
        assert isinstance(app.dialog, Decision)
        assert app.dialog.passage.seen == ()


async def test_in_a_narrow_window_all_of_the_message_that_it_is_too_small_can_be_read() -> None:
    app = app_for(LONG)
    async with running(app, (20, 12)):
        assert " ".join(row for row in screen(app) if row) == say("page.too_small")


@pytest.mark.parametrize("body", BODIES)
async def test_closed_by_somebody_else_it_says_who_and_takes_nothing_more(
    body: tuple[Question | Permission, ...],
) -> None:
    said = Shown("Closed: answered by ana on web. What you typed is kept.")
    app = app_for(*body)
    async with running(app) as pilot:
        before = app.dialog
        app.close(said)
        await painted(pilot)
        assert screen(app) == [said, *[""] * 23]
        await types(pilot, "1", "y", "enter", "ctrl+c", "escape")
        await pastes(pilot, "words")
        await pilot.click(Paper, offset=(2, 0))
        assert app.dialog == before
        await pilot.resize_terminal(60, 20)
        await painted(pilot)

        assert screen(app) == [said, *[""] * 19]
    assert (app.ended, app.return_value) == (False, None)


async def test_what_was_thrown_away_is_forgotten_with_the_next_key_that_counts(seconds: Seconds) -> None:
    app = app_for(LS, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        await types(pilot, "y")
        assert thrown_away(1) in "\n".join(screen(app))
        seconds.now += 1
        await types(pilot, "d")

        assert thrown_away(1) not in "\n".join(screen(app))


def test_every_style_has_a_look_and_only_the_sixteen_colours_are_used() -> None:
    assert set(STYLES) == set(get_args(Style))
    for look in STYLES.values():
        assert look.color is None or (look.color.number or 0) < 16
        assert look.bgcolor is None


def test_a_strip_is_as_wide_as_the_screen_whatever_its_text() -> None:
    spans = line(Span(Shown("日本語"), "bold", "row:x"), Shown(" and more"))

    assert [(part.text, part.style) for part in strip(spans, 20)] == [
        ("日本語", RichStyle(bold=True)),
        (" and more", RichStyle.null()),
        ("     ", None),
    ]
    assert strip(spans, 5).text == "日本…"
    assert strip(spans, 4).text == "日… "
    assert strip((), 3).text == "   "


async def test_letters_and_keys_reach_the_dialog_under_the_names_it_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = ("a", "G", " ", "?", "é", "日", "enter", "escape", "tab", "shift+tab", "up", "ctrl+j", "f1")
    pressed: list[str] = []
    app = app_for(LS)
    async with running(app) as pilot:
        monkeypatch.setattr(app, "press", lambda key, _: pressed.append(key))
        await types(pilot, *keys)

    assert pressed == list(keys)


async def test_a_sentence_that_was_meant_for_somebody_else_allows_nothing(seconds: Seconds) -> None:
    app = app_for(LS, guard=GUARD, clock=seconds)
    async with running(app) as pilot:
        seconds.now += 0.4
        for key in (*"let me try", "enter"):
            await types(pilot, "space" if key == " " else key)
            seconds.now += 0.2

    assert app.return_value is None
    assert isinstance(app.dialog, Decision)
    assert app.dialog.row == ""
