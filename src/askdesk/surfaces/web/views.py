"""What the page shows of asks, as values for its templates. Pure but for the look whether a process still lives."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import NamedTuple, Self
from urllib.parse import urlencode

from markupsafe import Markup

from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Option,
    Permission,
    Question,
    Settlement,
    Withdrawn,
)
from askdesk.core.text import Shown, cut, is_blank, shown
from askdesk.core.work import Working
from askdesk.surfaces.asker import age, is_gone, project_name
from askdesk.surfaces.call import call_lines, changed_lines
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.form import Form
from askdesk.surfaces.phrases import answer_words, ended_words, subject, until_words
from askdesk.surfaces.rule import rule_lines
from askdesk.surfaces.spans import Line, Span
from askdesk.surfaces.texts import say
from askdesk.surfaces.web.agents import AgentRow, agent_row
from askdesk.surfaces.web.markdown import markdown_html
from askdesk.surfaces.web.markup import html_lines
from askdesk.surfaces.web.plain import plain_html


class Size(NamedTuple):
    lines: int = 0
    characters: int = 0

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Self:
        return cls(len(lines), sum(len(span.text) for spans in lines for span in spans))


_LONG = Size(40, 6_000)  # a call with more has its middle left out until the person opens it
_HEAD, _TAIL = Size(12, 2_000), Size(8, 1_000)
_TELLING = ("command", "file_path", "url", "query", "pattern")  # fields that tell one call from another in a list
_SUBJECT = 160  # cells of a row in a list


class Filter(NamedTuple):
    """Which open asks are listed, and in what order; as the address of the page has it."""

    order: str = "oldest"
    agent: str = ""
    project: str = ""

    @property
    def query(self) -> str:
        """For links that keep it: nothing where it is the usual one."""
        given = {name: value for name, value in self._asdict().items() if value != Filter._field_defaults[name]}
        return f"?{urlencode(given)}" if given else ""

    def takes(self, asker: Asker) -> bool:
        return self.agent in ("", asker.agent) and self.project in ("", asker.project)


class Row(NamedTuple):
    """One line of a list."""

    id: str
    kind: str
    subject: Shown
    agent: Shown
    project: Shown
    age: Shown
    created: datetime
    until: Shown
    is_gone: bool
    ended: Shown


class Listed(NamedTuple):
    """The list of open asks beside the page, and below them the agents at work."""

    rows: tuple[Row, ...]
    total: str  # of open asks, also those that the filter leaves out; "500+" where there are more than are listed
    filter: Filter
    agents: tuple[str, ...]
    projects: tuple[str, ...]
    working: tuple[AgentRow, ...]


def listed(
    asks: Sequence[Ask], filter: Filter, now: datetime, working: Sequence[Working] = (), *, is_cut: bool = False
) -> Listed:
    """Of open asks, in the order that the filter wants, and agents at work; `is_cut` where there are more asks."""
    rows = [row_of(Entry(ask), now) for ask in asks if filter.takes(ask.asker)]
    askers = [*(ask.asker for ask in asks), *(agent.asker for agent in working)]
    agents = sorted({asker.agent for asker in askers} | {filter.agent} - {""})
    projects = sorted({asker.project for asker in askers if asker.project} | {filter.project} - {""})
    at_work = tuple(agent_row(agent, now) for agent in working if filter.takes(agent.asker))
    return Listed(tuple(rows), f"{len(asks)}{'+' * is_cut}", filter, tuple(agents), tuple(projects), at_work)


def row_of(entry: Entry, now: datetime) -> Row:
    ask = entry.ask
    return Row(
        ask.id,
        "permission" if ask.permission else "questions",
        cut(summary(ask), _SUBJECT),
        shown(ask.asker.agent),
        shown(project_name(ask.asker)),
        _age(now - (entry.settlement.at if entry.settlement else ask.created)),
        entry.settlement.at if entry.settlement else ask.created,
        until_words(ask),
        entry.settlement is None and is_gone(ask.asker),
        ended_words(entry.settlement) if entry.settlement else Shown(""),
    )


def _age(span: timedelta) -> Shown:
    words = age(span)
    return say("web.now") if words == "now" else shown(words)


def ago(span: timedelta) -> Shown:
    """How long ago, in words of its own where it was just now."""
    words = age(span)
    return say("web.just_now") if words == "now" else say("web.ago", age=shown(words))


def summary(ask: Ask) -> Shown:
    """What an ask is about, on one line: a tool with the beginning of its input, or the first question."""
    if ask.permission:
        value = ask.permission.value
        telling = next((value[name] for name in _TELLING if isinstance(value.get(name), str)), ask.permission.input)
        return Shown(f"{subject(ask)}: {shown(telling[: 4 * _SUBJECT])}")
    more = len(ask.questions) - 1
    return say("web.more", what=subject(ask), count=more) if more else subject(ask)


class Call(NamedTuple):
    """A tool call to be judged: all of it, or its ends and how much lies between them."""

    before: Markup
    after: Markup = Markup()
    hidden: Size = Size()

    @property
    def is_whole(self) -> bool:
        return self.hidden == Size()


def call_of(permission: Permission, *, whole: bool) -> Call:
    return _part(call_lines(permission), whole=whole)


def change_of(permission: Permission, changed: str, *, whole: bool) -> Call:
    """What a change makes of the input."""
    return _part(changed_lines(permission.input, changed), whole=whole)


def _part(lines: Sequence[Line], *, whole: bool) -> Call:
    all_of_it = Size.of(lines)
    if whole or (all_of_it.lines <= _LONG.lines and all_of_it.characters <= _LONG.characters):
        return Call(html_lines(lines))
    head, tail = _ends(lines, _HEAD), [_backwards(spans) for spans in _ends(map(_backwards, reversed(lines)), _TAIL)]
    lines_left = all_of_it.lines - len(head) - len(tail)
    left = all_of_it.characters - Size.of(head).characters - Size.of(tail).characters
    return Call(html_lines(head), html_lines(reversed(tail)), Size(max(lines_left, 0), left))


def _ends(lines: Iterable[Line], most: Size) -> list[Line]:
    """The first lines, as many as fit; one that is too long is cut off."""
    taken: list[Line] = []
    left = most.characters
    for spans in islice(lines, most.lines):
        taken.append(_cut(spans, left))
        left -= sum(len(span.text) for span in spans)
        if left <= 0:
            break
    return taken


def _cut(spans: Line, most: int) -> Line:
    kept: list[Span] = []
    for span in spans:
        kept.append(Span(Shown(span.text[:most]), span.style))
        most -= len(span.text)
        if most <= 0:
            break
    return tuple(kept)


def _backwards(spans: Line) -> Line:
    return tuple(Span(Shown(span.text[::-1]), span.style) for span in reversed(spans))


def rules_of(permission: Permission) -> tuple[Markup, ...]:
    """What comes of keeping each of the rules that the agent proposes."""
    return tuple(html_lines(rule_lines(rule)) for rule in permission.suggestions)


def preview_html(ask: Ask, option: Option) -> Markup:
    """A preview for the page itself; one in HTML is not for it, but for a frame of its own."""
    text = option.preview or ""
    return markdown_html(text) if ask.preview_format == "markdown" else plain_html(text)


class Said(NamedTuple):
    """One question of a settled ask: every option with whether it was chosen, own words, a note."""

    question: Question
    chosen: tuple[bool, ...]
    answer: Answer | None


def said_of(ask: Ask, settlement: Settlement) -> tuple[Said, ...]:
    """What was said to each question, also to those options that were not chosen."""
    match settlement.outcome:
        case Answered(answers) | Declined(so_far=answers) if answers:
            pairs: Iterable[tuple[Question, Answer | None]] = zip(ask.questions, answers, strict=True)
        case _:
            pairs = ((question, None) for question in ask.questions)
    return tuple(
        Said(question, tuple(answer is not None and o.label in answer.chosen for o in question.options), answer)
        for question, answer in pairs
    )


class Words(NamedTuple):
    """What a person said beside the choice: with a label of ours."""

    label: Shown
    text: str


def words_of(settlement: Settlement) -> tuple[Words, ...]:
    match settlement.outcome:
        case Declined(message=message, stop=stop):
            said = [("web.message", message)]
        case Denied(message=message, stop=stop, redirect=redirect):
            said = [("web.message", message), ("web.instead", redirect)]
        case Withdrawn(reason=reason):
            said, stop = [("web.reason", reason)], False
        case _:
            return ()
    words = [Words(say(key), text) for key, text in said if text]
    return (*words, *((Words(say("web.stopped"), ""),) if stop else ()))


def allowed_of(permission: Permission, settlement: Settlement) -> tuple[Markup | None, tuple[Markup, ...]]:
    """What ran instead of what was asked for, and which rules were kept."""
    outcome = settlement.outcome
    if not isinstance(outcome, Allowed):
        return None, ()
    changed = html_lines(changed_lines(permission.input, outcome.input)) if outcome.input is not None else None
    return changed, tuple(html_lines(rule_lines(rule)) for rule in outcome.remember)


class Typed(NamedTuple):
    """What somebody typed and did not send."""

    by: str
    lines: tuple[str, ...]

    def goes_on(self, earlier: Typed) -> bool:
        """Whether it says all that an earlier one of the same person said, and perhaps more."""
        begun = (line.removesuffix('"') for line in earlier.lines)
        return self.by == earlier.by and all(any(line.startswith(begin) for line in self.lines) for begin in begun)


def typed_of(ask: Ask, drafts: Iterable[tuple[str, Draft]]) -> list[Typed]:
    """Of each person, without what they typed on the way to something longer."""
    fullest: list[Typed] = []
    for typed in (Typed(by, tuple(_typed_lines(ask, draft))) for by, draft in drafts):
        if not any(other.goes_on(typed) for other in fullest):
            fullest = [*(other for other in fullest if not typed.goes_on(other)), typed]
    return fullest


def _typed_lines(ask: Ask, draft: Draft) -> Iterator[str]:
    """Everything in a draft, also own words that would not have counted and numbers that do not fit."""
    yield from (text for text in (draft.message, draft.input, *(text for _, text in draft.words)) if text)
    for question, given in zip(ask.questions, draft.given, strict=False):  # a draft may hold a message alone
        chosen = [question.options[number].label for number in given.picked]
        own = given.own or (question.default or "" if given.taken else "")
        if chosen or not is_blank(own + given.note):
            yield f"{shown(question.text)}: {answer_words(Answer(chosen, own, given.note))}"


class Reviewed(NamedTuple):
    question: Question
    words: Shown
    is_blank: bool


def review_of(form: Form) -> tuple[Reviewed, ...]:
    answers = zip(form.questions, form.answers, strict=True)
    return tuple(Reviewed(question, answer_words(answer), answer is None) for question, answer in answers)
