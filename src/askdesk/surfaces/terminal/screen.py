"""The Textual screen: draws a dialog's picture, hands it keys and clicks. All that is decided is decided elsewhere."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, ClassVar, Generic, Protocol, Self, TypeAlias, TypeVar
from unicodedata import category

from msgspec import Struct
from rich.segment import Segment
from rich.style import Style as RichStyle
from textual import events
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.geometry import Offset
from textual.geometry import Size as TextualSize
from textual.strip import Strip
from textual.widget import Widget

from askdesk.core.model import Reply
from askdesk.core.text import Shown
from askdesk.surfaces.spans import Line, Span, Style, line
from askdesk.surfaces.terminal.browser import Visit
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.page import LEAST
from askdesk.surfaces.terminal.view import Picture, Size, cells, cropped, wrap
from askdesk.surfaces.texts import say

# Only the sixteen colours that every terminal's owner has chosen: they suit a light background and a dark one.
STYLES: dict[Style, RichStyle] = {
    "": RichStyle.null(),
    "dim": RichStyle(dim=True),
    "bold": RichStyle(bold=True),
    "title": RichStyle(bold=True, color="cyan"),
    "tab": RichStyle(bold=True, reverse=True),
    "focus": RichStyle(bold=True, color="cyan"),
    "chosen": RichStyle(color="green"),
    "key": RichStyle(bold=True),
    "good": RichStyle(color="green"),
    "warning": RichStyle(color="yellow"),
    "error": RichStyle(bold=True, color="red"),
    "cursor": RichStyle(reverse=True),
    "escape": RichStyle(reverse=True, color="red"),
    "added": RichStyle(color="green"),
    "removed": RichStyle(color="red"),
    "host": RichStyle(bold=True, underline=True),
    "heading": RichStyle(bold=True, underline=True),
    "strong": RichStyle(bold=True),
    "emphasis": RichStyle(italic=True),
    "code": RichStyle(color="cyan"),
    "quote": RichStyle(italic=True),
    "link": RichStyle(dim=True, underline=True),
    "keyword": RichStyle(color="magenta"),
    "string": RichStyle(color="green"),
    "comment": RichStyle(dim=True, italic=True),
    "number": RichStyle(color="yellow"),
    "name": RichStyle(color="blue"),
}


_ON_TIME = 0.05  # seconds that a key may take to reach us
_LONGEST_PAINT = 0.5  # seconds
_SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGWINCH)


class Guard(Struct, frozen=True):
    """For how long, in seconds, keys decide nothing: from the first paint on, and after each key that came too early.

    An Enter after another one counts only after `quiet`, and where the first one brought a new page, after `held`.
    """

    seconds: float = 0.4
    quiet: float = 0.15
    held: float = 0.7  # longer than keyboards wait before they repeat a key


GUARD = Guard()


class Interrupted(Struct, frozen=True):
    """A signal, or Ctrl-C, which a terminal does not make one while a form is on it."""

    signal: int = signal.SIGINT


class Dialog(Protocol):
    """What a screen can show: a Sheet, a Decision, an Inbox. A key gives the next of it, or something to end with."""

    @property
    def size(self) -> Size: ...
    @property
    def subject(self) -> str: ...
    @property
    def page(self) -> str: ...
    @property
    def spoken(self) -> Shown: ...
    def press(self, key: str) -> Any: ...
    def paste(self, words: str) -> Self: ...
    def resized(self, size: Size) -> Self: ...
    def looked(self, picture: Picture) -> Self: ...
    def told(self, said: Shown) -> Self: ...


D = TypeVar("D", bound=Dialog)
End: TypeAlias = Reply | Edit | Interrupted | None


class Paper(Widget, can_focus=True):
    """One widget as large as the picture."""

    ALLOW_SELECT = False

    def __init__(self, stage: DialogApp[Any]) -> None:
        super().__init__()
        self._stage = stage

    def get_content_height(self, container: TextualSize, viewport: TextualSize, width: int) -> int:
        return len(self._stage.picture.lines)

    def render_line(self, y: int) -> Strip:
        lines = self._stage.picture.lines
        if y == len(lines) - 1:
            self._stage.rendered()
        return strip(lines[y] if y < len(lines) else (), self.size.width, erase=self._stage.erases)

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        typed = event.character or ""  # also a wide blank, or a joiner, which are not printable to Python
        waited = time.monotonic() - event.time  # on a busy machine for long: it counts when it was typed
        late = waited if waited > _ON_TIME else 0.0
        self._stage.press(event.key if not typed or category(typed[0]) == "Cc" else typed, late)

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self._stage.paste(event.text)

    def on_click(self, event: events.Click) -> None:
        if key := self._stage.picture.key_at(event.x, event.y):
            self._stage.press(key)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._stage.press("wheel:up")

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._stage.press("wheel:down")


def strip(spans: Line, columns: int, *, erase: bool = False) -> Strip:
    """A line as Textual draws it. Its width is ours to say: a count that differs from the terminal's would wrap it.

    What stood there before is covered with blanks, or erased: blanks to the edge would become rows of their own when a
    terminal is made narrower.
    """
    fitting = cropped(spans, columns)
    segments = [Segment(span.text, STYLES[span.style]) for span in fitting]
    if erase:
        return Strip([Segment("\x1b[2K"), *segments], columns)
    return Strip([*segments, Segment(" " * (columns - cells(fitting)))], columns)


class DialogApp(App[End], Generic[D], inherit_bindings=False):
    """Runs one dialog until it ends. Ends with a reply, the wish for an editor, Ctrl-C, or None to leave it open."""

    CSS = """
    Screen { background: ansi_default; border: none !important; padding: 0; overflow: hidden; }
    Screen:inline { height: auto; min-height: 1; border: none; }
    Paper { width: 100%; height: auto; background: ansi_default; color: ansi_default; }
    """
    ENABLE_COMMAND_PALETTE = False
    INLINE_PADDING = 0
    BINDINGS: ClassVar = []

    def __init__(
        self,
        dialog: D,
        draw: Callable[[D], Picture],
        *,
        guard: Guard = GUARD,
        changed: Callable[[D], None] = lambda _: None,
        visit: Callable[[Visit], Awaitable[Shown]] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(ansi_color=True)
        self.dialog = dialog
        self.ended = False
        self.away = False  # while something else is on the terminal
        self._draw = draw
        self._guard = guard
        self._changed = changed
        self._visit = visit
        self._visiting: asyncio.Task[None] | None = None
        self._clock = clock
        self._over: Shown | None = None  # how somebody else ended it
        self._opens_at: float | None = None  # when keys begin to count; None until something was painted
        self._on_screen: Picture | None = None
        self._paint = asyncio.Event()  # set while the newest picture is on the screen
        self._handlers: dict[signal.Signals, Any] = {}
        self._thrown_away = 0
        self._spoken = Shown("")
        self._pressed_last = "", 0.0, ""  # which key, when, and on which page
        self.picture = self._drawn()

    def compose(self) -> ComposeResult:
        yield Paper(self)

    def _build_driver(self, headless: bool, inline: bool, mouse: bool, size: tuple[int, int] | None) -> Driver:
        if headless or not inline or sys.platform == "win32":
            return super()._build_driver(headless, inline, mouse, size)
        from askdesk.surfaces.terminal.keyboard import KeyboardDriver  # there is no such thing on Windows

        self._driver = KeyboardDriver(self, mouse=mouse, size=size)
        return self._driver

    def on_mount(self) -> None:
        self.query_one(Paper).focus()
        if not self.is_headless:
            self._listen()

    def _listen(self) -> None:
        """Take signals that Textual leaves alone, or answers by clearing what others wrote."""
        loop = asyncio.get_running_loop()
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._end, Interrupted(number))
        if self.is_inline:
            loop.add_signal_handler(signal.SIGWINCH, self._terminal_resized)

    def _wipe(self) -> None:
        """Erase the form alone, line by line: cleared at once, it would go into the scrollback of some terminals."""
        up = f"\x1b[{y}A" if (y := self.cursor_position.y) else ""
        lines = "\x1b[2K\x1b[B" * len(self.picture.lines)
        if sys.__stderr__:
            with suppress(OSError):  # the terminal is gone
                sys.__stderr__.write(f"\x1b7{up}\r{lines}\x1b8")
                sys.__stderr__.flush()

    def on_unmount(self) -> None:
        if not self.is_headless:
            loop = asyncio.get_running_loop()
            for number, handler in self._handlers.items():
                loop.remove_signal_handler(number)
                signal.signal(number, handler)  # a script may have had its own

    def _terminal_resized(self) -> None:
        """Draw the form in the new size, where the old one was."""
        size = TextualSize(*os.get_terminal_size(0))
        self._wipe()
        self.post_message(events.Resize(size, size))

    def rendered(self) -> None:
        """The picture is being drawn: it will be on the screen when the next message is taken."""
        if self._on_screen is not self.picture:
            self._on_screen = self.picture
            self.call_later(self._painted, self.picture)

    def _painted(self, picture: Picture) -> None:
        if picture is not self.picture:  # there is a newer one by now, which nobody has seen
            return
        if self._opens_at is None:
            self._opens_at = self._clock() + self._guard.seconds
        if self._over is None and not self._is_too_small:
            self.dialog = self.dialog.looked(picture)
        self._paint.set()
        if (picture := self._drawn()) != self.picture:  # what was seen may unlock something
            self._show(picture)

    def on_resize(self, event: events.Resize) -> None:
        self._go(self.dialog.resized(Size(event.size.width, event.size.height)))

    def press(self, key: str, late: float = 0.0) -> None:
        if self._over is not None or self.ended:
            return
        if key == "ctrl+c":
            self._end(Interrupted())
        elif self._is_guarded(late):
            self._throw_away()
        elif self._is_held(key, late):
            self._go(self.dialog.told(say("sheet.held")))
        elif self._is_too_small:
            if key == "escape":
                self._end(None)
        else:
            before = self.dialog
            self._step(before.press(key))
            if len(key) == 1 and self.dialog == before.told(Shown("")):
                self._opens_at = self._clock() + self._guard.seconds  # it means nothing here: typed for something else

    def paste(self, words: str) -> None:
        if self._over is not None or self.ended:
            return
        if self._is_guarded():
            self._throw_away()
        else:
            self._go(self.dialog.paste(words))

    def _step(self, step: D | Reply | Edit | Visit | None) -> None:
        if step is None or isinstance(step, Reply | Edit):
            self._end(step)
        elif isinstance(step, Visit):
            self._visiting = asyncio.ensure_future(self._see(step))
        else:
            self._go(step)

    async def _see(self, wish: Visit) -> None:
        """The page in a browser, beside the form."""
        if self._visit:
            words = await self._visit(wish)
            if self._over is None and not self.ended:
                self._go(self.dialog.told(words))

    def _is_guarded(self, late: float = 0.0) -> bool:
        """Whether a key came before the person could have meant it; `late` is how long it has waited for us."""
        now = self._clock() - late
        if self._opens_at is None:
            return True
        if now < self._opens_at:
            self._opens_at = max(self._opens_at, now + self._guard.seconds)  # who is typing on has not read this yet
            return True
        return False

    def _is_held(self, key: str, late: float = 0.0) -> bool:
        """Whether Enter is held down: it would run through one question after the other."""
        now, page = self._clock() - late, self.dialog.page
        (before, at, old_page), self._pressed_last = self._pressed_last, (key, now, page)
        return key == before == "enter" and now - at < (self._guard.quiet if page == old_page else self._guard.held)

    def _throw_away(self) -> None:
        if not self._thrown_away:
            self._spoken = self.dialog.spoken  # somebody who is typing has not read it yet
        self._thrown_away += 1
        thrown = say("sheet.typed_ahead", count=self._thrown_away)
        self._go(self.dialog.told(Shown(f"{self._spoken} {thrown}") if self._spoken else thrown))

    @property
    def _is_too_small(self) -> bool:
        size = self.dialog.size
        return size.columns < LEAST.columns or size.lines < LEAST.lines

    async def painted(self) -> None:
        """Until what is to be shown now is on the screen; not for ever, should the terminal not take it."""
        if not self.is_running:
            return
        with suppress(TimeoutError):
            await asyncio.wait_for(self._paint.wait(), _LONGEST_PAINT)

    def release(self) -> None:
        """Let Textual's input thread go: where the terminal is gone, Textual fails half-way and leaves it spinning."""
        if (event := getattr(self._driver, "exit_event", None)) is not None:
            event.set()

    def close(self, said: Shown) -> None:
        """Somebody else was first: nothing can be decided here any more, and the person sees so at once."""
        self._over = said
        self._show(self._drawn())

    @property
    def erases(self) -> bool:
        """Whether lines are erased before they are drawn anew: on a real terminal, below what others wrote there."""
        return self.is_inline and not self.is_headless

    def leave(self, end: End = None) -> None:
        """End, and take the form off the terminal."""
        if self.erases:
            self._wipe()
        self.exit(end)

    def _end(self, end: End) -> None:
        self.ended = True
        self.leave(end)

    def _go(self, dialog: D) -> None:
        if dialog.subject != self.dialog.subject:  # keys that were meant for what was there before must not reach it
            self._opens_at, self._thrown_away = None, 0
        changed = dialog is not self.dialog
        self.dialog = dialog
        if changed:
            self._changed(dialog)
        self._show(self._drawn())

    def _drawn(self) -> Picture:
        if self._over is not None:
            return Picture((line(Span(self._over, "warning")),))
        if self._is_too_small:
            columns, lines = self.dialog.size
            return Picture(tuple(wrap(line(Span(say("page.too_small"), "warning")), max(columns, 1))[: max(lines, 1)]))
        return self._draw(self.dialog)

    def _show(self, picture: Picture) -> None:
        self._paint.clear()
        self.picture = picture
        self.cursor_position = Offset(*picture.cursor) if picture.cursor else Offset(0, 0)
        if self.away:
            return
        if self.is_running and self.screen_stack and (papers := self.query(Paper)):
            paper = papers.first()
            paper.refresh(layout=len(picture.lines) != paper.size.height)  # it may have changed while we were away
