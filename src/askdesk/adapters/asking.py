"""One agent's asks: each waits at a desk, on the screen here if there is one, and is taken back where nobody waits.

What the agent makes of an outcome is none of its business.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import timedelta
from typing import TypeAlias

from msgspec.structs import replace

from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AskdeskError
from askdesk.core.model import Ask, Asker, Permission, PreviewFormat, Questions, Settlement, Withdrawn

Show: TypeAlias = Callable[[Ask], Awaitable[object]]

_LAST_WORDS = 2.0  # seconds for a screen to say who settled what it shows


class Asking:
    """Any number of asks may wait at once. `show` shows one to somebody here until it is settled."""

    def __init__(
        self,
        desk: Desk,
        asker: Asker,
        *,
        previews: PreviewFormat = "none",
        deadline: timedelta | None = None,
        show: Show | None = None,
    ) -> None:
        self._desk, self.asker, self._previews, self._deadline, self._show = desk, asker, previews, deadline, show

    async def settlement(
        self,
        body: Questions | Permission,
        *,
        key: str | None = None,
        parent: str = "",
        patience: timedelta | None = None,
    ) -> Settlement | None:
        """How an ask ends; None where the patience ended first, and then it stays open.

        It is withdrawn where whoever waits is cancelled, or showing it breaks.
        """
        ask_id = new_id()  # known before it is kept, so that it can be taken back at any moment
        try:
            ask = await self._posted(body, key, parent, ask_id)
            ask_id = ask.id
            return (await self._desk.get(ask_id)).settlement or await self.shown(ask, patience)
        except BaseException:  # nobody will hear of an answer any more
            await asyncio.shield(self._withdraw(ask_id))
            raise

    async def _posted(self, body: Questions | Permission, key: str | None, parent: str, ask_id: str) -> Ask:
        """The ask; a new one where the one under this key was withdrawn, as by a run that was stopped and resumed."""
        asker = replace(self.asker, parent=parent) if parent else self.asker

        async def post(key: str | None) -> Ask:
            return await self._desk.post(
                body, asker=asker, key=key, deadline=self._deadline, preview_format=self._previews, id=ask_id
            )

        ask = await post(key)
        settled = (await self._desk.get(ask.id)).settlement if ask.id != ask_id else None
        return await post(f"{key}/{ask_id}") if settled and isinstance(settled.outcome, Withdrawn) else ask

    async def shown(self, ask: Ask, patience: timedelta | None = None) -> Settlement | None:
        """Wait, with the ask on the screen here if there is one; who leaves that leaves it to people elsewhere."""
        waiting = asyncio.ensure_future(
            self._desk.wait(ask.id, timeout=patience.total_seconds() if patience is not None else None)
        )
        showing = asyncio.ensure_future(self._show(ask)) if self._show else None
        try:
            if showing:
                await asyncio.wait((waiting, showing), return_when=asyncio.FIRST_COMPLETED)
                if waiting.done() and waiting.result():
                    await asyncio.wait((showing,), timeout=_LAST_WORDS)
                if showing.done():
                    showing.result()  # raises where it broke
            return await waiting
        finally:
            for task in filter(None, (waiting, showing)):
                task.cancel()
            await asyncio.gather(*filter(None, (waiting, showing)), return_exceptions=True)

    async def _withdraw(self, ask_id: str) -> None:
        with suppress(AskdeskError):  # settled meanwhile, or the store is gone: nothing to take back
            await self._desk.withdraw(ask_id, "the run was interrupted")
