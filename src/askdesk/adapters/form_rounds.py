"""Somebody else's form on a desk: asked until it fits or people have had enough. No protocol, no guest library.

What was answered well is kept; only what cannot go back is asked again, in an ask that follows the one before.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TypeAlias

from askdesk.adapters.asking import Asking, Show
from askdesk.core.desk import Desk, new_id
from askdesk.core.errors import AskdeskError
from askdesk.core.model import Answered, Asker, Declined, Expired, Outcome, PreviewFormat, Questions
from askdesk.wire import form_of_others
from askdesk.wire.field import Value
from askdesk.wire.form_of_others import OthersForm

Content: TypeAlias = dict[str, Value]

_ROUNDS = 5
_LONGEST_DEADLINE = timedelta(days=36_500)
_GOODBYE_SECONDS = 3.0  # to take an ask back where nobody waits for it any more


class FormDesk:
    """A desk as forms of others need it: the same asker, and one deadline for all that comes of a form."""

    def __init__(
        self,
        desk: Desk,
        asker: Asker,
        *,
        deadline: timedelta | None = None,
        previews: PreviewFormat = "none",
        show: Show | None = None,
    ) -> None:
        self._desk, self._asker, self._deadline, self._previews = desk, asker, deadline, previews
        self._asking = Asking(desk, asker, show=show)

    async def filled(self, form: OthersForm) -> Content | Outcome:
        """What goes back, or how it ended otherwise. Cancelled, it takes back what it asked."""
        until = self._until()
        outcome, ask_id = await self._asked(form.questions, until, None)
        if not isinstance(outcome, Answered):
            return outcome
        for _ in range(_ROUNDS - 1):
            if not (found := form_of_others.flaws(form, outcome)):
                break
            later, ask_id = await self._asked(form_of_others.again(form, found), until, ask_id)
            if not isinstance(later, Answered):
                return later
            outcome = form_of_others.amended(outcome, found, later)
        if form_of_others.flaws(form, outcome):
            return Declined()
        given = form_of_others.content(form, outcome)
        return Declined() if given is None else given

    async def asked(self, questions: Questions) -> Outcome:
        """How some questions ended. Cancelled, it takes them back."""
        return (await self._asked(questions, self._until(), None))[0]

    def _until(self) -> datetime | None:
        return None if self._deadline is None else self._desk.now() + min(self._deadline, _LONGEST_DEADLINE)

    async def _asked(self, questions: Questions, until: datetime | None, follows: str | None) -> tuple[Outcome, str]:
        if follows and until and until <= self._desk.now():
            return Expired(), follows
        ask_id = new_id()  # known before it is kept, so that it can be taken back at any moment
        try:
            ask = await self._desk.post(
                questions,
                asker=self._asker,
                deadline=until,
                preview_format=self._previews,
                follows=follows,
                id=ask_id,
            )
            settlement = await self._asking.shown(ask)
        except BaseException:  # cancelled, or the store broke: nobody waits for it any more
            await self._take_back(ask_id)
            raise
        assert settlement is not None  # noqa: S101 - a wait without a timeout ends with a settlement
        return settlement.outcome, ask_id

    async def _take_back(self, ask_id: str) -> None:
        taking = asyncio.ensure_future(self._withdraw(ask_id))
        ends = asyncio.get_running_loop().time() + _GOODBYE_SECONDS
        while not taking.done() and (left := ends - asyncio.get_running_loop().time()) > 0:
            with suppress(asyncio.CancelledError):  # some cancel again and again until we are gone
                await asyncio.wait({taking}, timeout=left)

    async def _withdraw(self, ask_id: str) -> None:
        with suppress(AskdeskError):  # settled meanwhile, never kept, or the store is gone: nothing to take back
            await self._desk.withdraw(ask_id, "the agent stopped waiting")
