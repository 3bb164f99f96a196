"""The terminal surface: presents an ask as a form on the person's terminal, and keeps what they typed."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Ask, Reply, Settlement
from askdesk.core.store import Shelf
from askdesk.core.text import Shown, cut, shown
from askdesk.surfaces import draft
from askdesk.surfaces.draft import Keeper
from askdesk.surfaces.phrases import ended_words, left_line, settled_line
from askdesk.surfaces.terminal.browser import visited
from askdesk.surfaces.terminal.decision import Decision
from askdesk.surfaces.terminal.editor import edited
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.terminal.started import draft_of, drawn, started
from askdesk.surfaces.terminal.tty import on_terminal, terminal_size
from askdesk.surfaces.terminal.view import Size
from askdesk.surfaces.texts import say

if TYPE_CHECKING:
    from askdesk.surfaces.terminal.screen import DialogApp, End, Guard

log = logging.getLogger(__name__)

_USUAL = Size(80, 24)


class TerminalSurface:
    """Presents asks as inline forms, one after the other; each leaves one line behind."""

    name = "terminal"

    def __init__(self, shelf: Shelf, by: str, *, guard: Guard | None = None) -> None:
        self._shelf = shelf
        self._by = by
        self._guard = guard
        self._screen: DialogApp[Sheet | Decision] | None = None
        self._closed = Shown("")  # how somebody else ended what is on the screen

    async def present(self, ask: Ask) -> Reply | None:
        """A person's reply; None when they leave it open, which is no answer. What was typed is kept as a draft."""
        from askdesk.surfaces.terminal.screen import Interrupted

        before = await draft.kept(self._shelf, ask, self._by)
        dialog = started(ask, terminal_size() or _USUAL, before)
        self._closed = Shown("")
        keeper = Keeper(self._shelf, ask, self._by, before)
        try:
            end, dialog = await self._shown(dialog, keeper)
            while isinstance(end, Edit):
                end, dialog = await self._shown(await _edited(dialog, end, keeper), keeper)
        except asyncio.CancelledError:
            if self._closed:
                await asyncio.shield(keeper.keep_apart())
                self._tell(self._closed)
            raise
        finally:
            await asyncio.shield(keeper.done())
        if isinstance(end, Interrupted):
            await _signalled(end.signal)
        if end is None:
            self._tell(left_line(ask, drafted=keeper.has_kept))
        return end

    def sent(self, ask: Ask, settlement: Settlement) -> None:
        """It is settled, by what was said here: the one line that the form leaves behind."""
        if isinstance(settlement.outcome, Reply):
            self._tell(settled_line(ask, settlement.outcome))

    def lost(self, ask: Ask, settlement: Settlement) -> None:
        """Somebody else was first: the form says so at once, and the line it leaves behind says it too."""
        self._closed = say("lost.closed", how=ended_words(settlement))
        if self._screen:
            self._screen.close(self._closed)
        else:
            self._tell(self._closed)

    async def _shown(self, dialog: Sheet | Decision, keeper: Keeper) -> tuple[End, Sheet | Decision]:
        """Run the form until it ends, and what it was like then. Cancelled, it ends first and leaves no mess."""
        from askdesk.surfaces.terminal.screen import GUARD, DialogApp

        def changed(dialog: Sheet | Decision) -> None:
            keeper.note(draft_of(dialog))

        screen = self._screen = DialogApp(
            dialog,
            drawn,
            guard=self._guard or GUARD,
            changed=changed,
            visit=lambda wish: visited(self._shelf, wish),
        )
        with on_terminal(drawing=True):
            running = asyncio.ensure_future(screen.run_async(inline=True))
            try:
                end = await asyncio.shield(running)
            except asyncio.CancelledError:
                await screen.painted()
                screen.leave()
                await running
                raise
            finally:
                self._screen = None
                screen.release()
        if not screen.ended:
            log.error("the form failed; nothing was decided")
        return end, screen.dialog

    def _tell(self, words: Shown) -> None:
        columns = (terminal_size() or _USUAL).columns
        with suppress(OSError):  # nobody reads it any more
            sys.stderr.write(f"{cut(words, columns)}\n")
            sys.stderr.flush()


async def _signalled(number: int) -> NoReturn:
    """Let a signal do what it would have done without a form in its way."""
    signal.raise_signal(number)
    await asyncio.Event().wait()  # the event loop cancels us for Ctrl-C; other signals have ended us already
    raise AssertionError


async def _edited(dialog: Sheet | Decision, wish: Edit, keeper: Keeper) -> Sheet | Decision:
    """The dialog after the person's editor. Nobody is thrown out of it: cancelled, what they write is kept first."""
    editing = asyncio.ensure_future(_typed(dialog, wish))
    with on_terminal():
        try:
            return await asyncio.shield(editing)
        except asyncio.CancelledError:
            keeper.note(draft_of(await editing))
            raise


async def _typed(dialog: Sheet | Decision, wish: Edit) -> Sheet | Decision:
    try:
        return dialog.edited(await edited(wish))
    except InvalidReply as error:
        return dialog.told(shown(str(error)))
