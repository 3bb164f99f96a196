"""An ask as a dialog: a Sheet for questions, a Decision for a permission; with its draft, and how it is drawn. Pure."""

from __future__ import annotations

from askdesk.core.model import Ask
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.terminal import decision_view, sheet_view
from askdesk.surfaces.terminal.decision import Decision
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.terminal.view import Picture, Size
from askdesk.surfaces.texts import say


def started(ask: Ask, size: Size, before: Draft | None) -> Sheet | Decision:
    """The dialog for an ask, with the draft where there is one."""
    if ask.permission:
        decision = Decision.start(ask, size, before.words, before.input) if before else Decision.start(ask, size)
        return decision.told(say("decision.restored")) if before else decision
    if before is None:
        return Sheet.start(ask, size)
    return Sheet.start(ask, size, before.given, before.at, before.message).told(say("sheet.restored"))


def drawn(dialog: Sheet | Decision) -> Picture:
    return sheet_view.picture(dialog) if isinstance(dialog, Sheet) else decision_view.picture(dialog)


def draft_of(dialog: Sheet | Decision) -> Draft:
    match dialog:
        case Sheet(form=form, message=message):
            return Draft(v=1, given=form.given if form.is_touched else (), at=form.at, message=message)
        case Decision(words=words, input=input):
            return Draft(v=1, words=words, input=input)
