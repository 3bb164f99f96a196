"""What following the agents' own recommendations would answer, listed before it is sent. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from askdesk.core.model import Answered, Ask
from askdesk.core.text import Shown, shown
from askdesk.surfaces.phrases import answer_words, subject
from askdesk.surfaces.recommended import recommended
from askdesk.surfaces.spans import MARGIN, Line, Span, line
from askdesk.surfaces.terminal.view import wrap
from askdesk.surfaces.texts import say

Proposal: TypeAlias = tuple[Ask, Answered | None]


def proposals(asks: Iterable[Ask]) -> tuple[Proposal, ...]:
    """Each ask with what it would be answered; None where that is left to the person."""
    return tuple((ask, recommended(ask)) for ask in asks)


def proposal_rows(proposed: Iterable[Proposal], columns: int) -> list[Line]:
    """Every question of every ask with its answer, in rows that leave nothing out."""
    return [row for spans in proposal_lines(proposed) for row in wrap(spans, columns, (Span(Shown("  ")), MARGIN))]


def proposal_lines(proposed: Iterable[Proposal]) -> Iterable[Line]:
    for ask, reply in proposed:
        agent = Span(Shown(f"{shown(ask.asker.agent)}: "), "dim")
        if reply is None:
            yield line(agent, subject(ask), Shown(" → "), Span(say("inbox.left_to_you"), "dim"))
            continue
        for question, answer in zip(ask.questions, reply.answers, strict=True):
            yield line(agent, shown(question.text), Shown(" → "), Span(answer_words(answer), "chosen"))
