"""Questions as one flat form, and a filled-in form as answers: what the elicitations of MCP and ACP share.

Nothing in a form is required and nothing is filled in beforehand, so that whoever sends it unread has said nothing.
The fields of question n are `question_n`, `question_n_custom` for own words and, where wanted, `question_n_note`; their
names sort as the questions do, since some hosts show them by name.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from askdesk.core.errors import InvalidReply, Problem, quoted
from askdesk.core.model import Answer, Option, Question, Questions
from askdesk.core.text import Shown, is_blank, shown

log = logging.getLogger("askdesk")

Dialect: TypeAlias = Literal["mcp", "acp", "narrow"]
"""Of MCP, of ACP, or of an MCP host that shows nothing but texts and choices of one, and sends only with a choice."""

PREVIEW_META = "_claude/askUserQuestionOption"  # where clients of ACP look for an option's preview
_OWN_NAME = re.compile(r"option_\d+")
_LONGEST_PREVIEW = 2000  # characters of one that stands among the texts of a form
_YES, _NO = "yes", "no"
_SEND = "send"  # the last field of a narrow form, which sorts behind all questions


class Words(NamedTuple):
    """Our own words in a form."""

    several: Shown = Shown("Please answer the following questions.")
    other: Shown = Shown("Other")
    other_single: Shown = Shown("Type your own answer, or add a note to the option you chose above (optional).")
    other_multi: Shown = Shown("Type your own answer to add to your selection above (optional).")
    note: Shown = Shown("Note")
    note_hint: Shown = Shown("Anything to say beside it (optional).")
    suggested: Shown = Shown("Suggested: {value}")
    preview: Shown = Shown("Preview of {value}:")
    cut: Shown = Shown("(the rest is not shown here)")
    yes: Shown = Shown("Yes")
    no: Shown = Shown("No")
    done: Shown = Shown("Done?")
    send: Shown = Shown("Send the answers")


class Form(NamedTuple):
    """What a host shows: a message, and a flat JSON Schema with a field or two for each question."""

    message: str
    schema: dict[str, Any]


class Returned(NamedTuple):
    """What came back from a dialog, and how long it was there."""

    action: str
    content: Mapping[str, object]
    seconds: float


class Left(NamedTuple):
    """The dialog is gone and nothing was said; `seen` is whether a person can have closed it."""

    seen: bool


class Unfit(NamedTuple):
    """What was sent does not fit what was asked: tell the person, and show the form again."""

    why: Shown


def form(questions: Questions, dialect: Dialect, *, notes: bool = False, words: Words | None = None) -> Form:
    """The form for some questions. In MCP an option is nothing but a title, so the rest of it is folded into that."""
    return _Writer(questions, dialect, notes, words or Words()).written()


class _Writer:
    def __init__(self, questions: Questions, dialect: Dialect, notes: bool, words: Words) -> None:
        self._items, self._dialect, self._notes, self._words = questions.items, dialect, notes, words
        self._is_lone = len(questions.items) == 1

    def written(self) -> Form:
        properties: dict[str, Any] = {}
        for key, question in zip(keys(len(self._items)), self._items, strict=True):
            properties |= self._fields(key, question)
            if question.kind == "choice":
                hint = self._words.other_multi if question.multi_select else self._words.other_single
                properties[f"{key}_custom"] = _text(self._words.other, hint)
            if self._notes:
                properties[f"{key}_note"] = _text(self._words.note, self._words.note_hint)
        if self._dialect == "narrow":
            properties[_SEND] = _one_of({_SEND: self._words.send}, title=self._words.done)
        message: str = shown(self._items[0].text, lines=True) if self._is_lone else self._words.several
        return Form(message, {"type": "object", "properties": properties})

    def _fields(self, key: str, question: Question) -> dict[str, Any]:
        if not (question.multi_select and self._dialect == "narrow"):
            return {key: self._field(question)}
        answers = {_NO: self._words.no, _YES: self._words.yes}  # what is highlighted, and sent unread, is No
        described = {"description": description} if (description := self._description(question)) else {}
        return {
            name: _one_of(answers, title=_titled(option), **described)
            for name, option in zip(_choicekeys(key, question), question.options, strict=True)
        }

    def _field(self, question: Question) -> dict[str, Any]:
        described: dict[str, str] = {}
        if not is_blank(question.header):
            described["title"] = shown(question.header)
        if description := self._description(question):
            described["description"] = description
        match question.kind:
            case "text":
                return {"type": "string", **described}
            case "number":
                bounds = {"minimum": question.minimum, "maximum": question.maximum}
                if self._dialect == "narrow":
                    return {"type": "string", **described}
                return {"type": "number", **described, **{name: b for name, b in bounds.items() if b is not None}}
            case "choice":
                options = [self._option(number, option) for number, option in enumerate(question.options)]
                if question.multi_select:
                    return {"type": "array", **described, "items": {"anyOf": options}}
                return {"type": "string", **described, "oneOf": options}

    def _description(self, question: Question) -> str:
        texts: list[str] = [] if self._is_lone else [shown(question.text, lines=True)]
        if question.default:
            texts.append(self._words.suggested.format(value=shown(question.default)))
        if self._dialect == "acp":
            return "\n\n".join(texts)
        line = " ".join(" ".join(texts).split())  # hosts show it on one line, with signs for what breaks it
        previews = (self._preview(option) for option in question.options if option.preview)
        return "\n\n".join(text for text in (line, *previews) if text)

    def _preview(self, option: Option) -> str:
        whole = shown(option.preview or "", lines=True)
        rest = f"\n{self._words.cut}" if len(whole) > _LONGEST_PREVIEW else ""
        return f"{self._words.preview.format(value=shown(option.label))}\n{whole[:_LONGEST_PREVIEW]}{rest}"

    def _option(self, number: int, option: Option) -> dict[str, Any]:
        const = _const(number, option)
        if self._dialect != "acp":
            return {"const": const, "title": _titled(option)}
        written: dict[str, Any] = {"const": const, "title": shown(option.label)}
        if description := shown(option.description):
            written["description"] = description
        if option.preview:
            written["_meta"] = {PREVIEW_META: {"preview": option.preview}}
        return written


def keys(count: int) -> list[str]:
    """Names that sort as the questions do."""
    digits = len(str(count - 1))
    return [f"question_{number:0{digits}}" for number in range(count)]


def _choicekeys(key: str, question: Question) -> list[str]:
    """Names for the options of a question that are asked for one by one; they sort before its other fields."""
    digits = len(str(max(len(question.options) - 1, 0)))
    return [f"{key}_choice_{number:0{digits}}" for number in range(len(question.options))]


def _titled(option: Option) -> str:
    label, description = shown(option.label), shown(option.description)
    return f"{label} - {description}" if description else label


def _one_of(answers: Mapping[str, Shown], **described: str) -> dict[str, Any]:
    return {
        "type": "string",
        **described,
        "oneOf": [{"const": const, "title": title} for const, title in answers.items()],
    }


def _const(number: int, option: Option) -> str:
    """The label, as it is the answer; a name of ours where a host that shows it would show more than text."""
    is_plain = shown(option.label) == option.label and not _OWN_NAME.fullmatch(option.label)
    return option.label if is_plain else f"option_{number}"


def _text(title: Shown, description: Shown) -> dict[str, Any]:
    return {"type": "string", "title": title, "description": description}


def read(questions: Questions, content: Mapping[str, object]) -> tuple[Answer | None, ...]:
    """The answers in a form that was sent, blanks included; InvalidReply names every field that does not fit.

    A text that is none of the options is own words. Own words beside a choice, where only one thing may be said, are a
    note to it.
    """
    answers: list[Answer | None] = []
    problems: list[Problem] = []
    known: set[str] = {_SEND}
    for key, question in zip(keys(len(questions.items)), questions.items, strict=True):
        names = (key, f"{key}_custom", f"{key}_note")
        choices = dict(zip(_choicekeys(key, question), question.options, strict=True))
        known.update(names, choices)
        picked = [option.label for name, option in choices.items() if content.get(name) == _YES]
        value, custom, note = (content.get(name) for name in names)
        try:
            answers.append(_answer(question, picked or value, custom, note))
        except InvalidReply as error:
            problems += (problem.under(key) for problem in error.problems)
    if strangers := [name for name in content if name not in known]:
        log.warning("a form came back with fields that it did not have: %s", quoted(strangers))
    if problems:
        raise InvalidReply(problems)
    return tuple(answers)


def _answer(question: Question, value: object, custom: object, note: object) -> Answer | None:
    picked = _values(value)
    options = {_const(number, option): option.label for number, option in enumerate(question.options)}
    labels = {option.label for option in question.options}
    chosen = [options.get(text, text) for text in picked if text in options or text in labels]
    own = [text for text in picked if text not in options and text not in labels]
    own += _values(custom, many=False)
    notes = _values(note, many=False)
    if question.kind == "choice" and not question.multi_select and chosen:
        notes, own = [*own, *notes], []
    if not chosen and not own and not notes:
        return None
    return question.fit(Answer(chosen, ", ".join(own), "\n".join(notes)))


def _values(value: object, *, many: bool = True) -> list[str]:
    """The texts of a field; none where it was left blank."""
    values = value if isinstance(value, list) and many else [value]
    texts = []
    for item in values:
        if item is None:
            continue
        if isinstance(item, bool) or not isinstance(item, str | int | float):
            raise InvalidReply(f"must be text, is {quoted(item)}")
        texts.append(item if isinstance(item, str) else _digits(item))
    return [text for text in texts if not is_blank(text)]


def _digits(number: float) -> str:
    try:
        return str(int(number)) if number == int(number) and abs(number) < 1e15 else repr(number)
    except (ValueError, OverflowError):  # thousands of digits, or no number at all
        raise InvalidReply("takes a number, got one that is beyond reason") from None


def filled(
    questions: Questions, answers: tuple[Answer | None, ...], *, notes: bool = False, dialect: Dialect = "mcp"
) -> dict[str, str | float | list[str]]:
    """A form as somebody would send it to give these answers."""
    content: dict[str, str | float | list[str]] = {}
    for key, question, answer in zip(keys(len(questions.items)), questions.items, answers, strict=True):
        if answer is None:
            continue
        consts = {option.label: _const(number, option) for number, option in enumerate(question.options)}
        chosen = [consts[label] for label in answer.chosen]
        if chosen and question.multi_select and dialect == "narrow":
            names = zip(_choicekeys(key, question), question.options, strict=True)
            content |= {name: _YES for name, option in names if option.label in answer.chosen}
        elif chosen:
            content[key] = chosen if question.multi_select else chosen[0]
        if answer.other and question.kind == "choice":
            content[f"{key}_custom"] = answer.other
        elif answer.other:
            content[key] = float(answer.other) if question.kind == "number" else answer.other
        if answer.note and notes:
            content[f"{key}_note"] = answer.note
    return content
