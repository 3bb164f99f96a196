"""Somebody else's form as questions, and the answers as what goes back: for the elicitations of MCP and of ACP.

A form is a message and a flat JSON Schema. What a person says is never bent to fit: own words where only options may go
back, a note where there is no field for one, a number that is none are told to the person, who is asked again. Nothing
is filled in beforehand; a default is shown as what the form suggests. A form that asks for a secret is refused.

Fields that belong together are one question: `question_n` with `question_n_custom` and `question_n_note`, as our own
form and claude-agent-acp have them, and codex-acp's choice with "None of the above" beside its field for a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core import strict
from askdesk.core.checks import likeness
from askdesk.core.errors import InvalidAsk, InvalidReply, Problem, named, quoted
from askdesk.core.limits import HEADER, OPEN
from askdesk.core.model import Answer, Answered, Question, Questions
from askdesk.core.text import is_blank, shown, width
from askdesk.wire.field import Choice, Field, Number, Text, Value, told
from askdesk.wire.field_of_others import field, refuse_forbidding
from askdesk.wire.form import Words

_MOST = OPEN.questions[1]
_MOST_PROPERTIES = 3 * _MOST  # a question has three at most
_OURS = re.compile(r"question_\d+", re.ASCII)
_CODEX_OTHER = "None of the above"
_UNANSWERED = "This needs an answer."
Style: TypeAlias = Literal["plain", "ours", "codex"]
_ACCEPT, _REFUSE = "Accept", "Do not accept"
_DECIDE = f"Choose {_ACCEPT} or {_REFUSE}, and nothing beside it."


class Flaw(NamedTuple):
    """Which question was not answered in a way that can go back, and what to tell the person."""

    number: int
    words: str


class Beside(Struct, frozen=True):
    """A field that only completes another one, with own words or a note."""

    name: str
    rule: Text


class Item(Struct, frozen=True):
    """One question of a form, and the fields that its answer goes into."""

    field: Field
    custom: Beside | None = None
    note: Beside | None = None
    style: Style = "plain"

    @property
    def other(self) -> str | None:
        """The value that says: none of these, but what the note says."""
        return _CODEX_OTHER if self.note and not self.custom and _offers(self.field, _CODEX_OTHER) else None


class OthersForm(Struct, frozen=True):
    """A form as the questions it asks. One without fields asks for a yes to its message."""

    message: str
    items: tuple[Item, ...]
    questions: Questions


def read(message: str, schema: object) -> OthersForm:
    """The form, or InvalidAsk naming every place that is no part of a form, or asks for a secret."""
    properties, required = _parts(message, schema)
    fields: dict[str, Field] = {}
    problems: list[Problem] = []
    for name, written in properties.items():
        try:
            fields[name] = field(name, written, required=name in required)
        except InvalidAsk as error:
            problems += error.problems
    if problems:
        raise InvalidAsk(problems)
    items = tuple(_items(fields, properties))
    if len(items) > _MOST:
        raise InvalidAsk([Problem("properties", f"needs at most {_MOST} fields, has {len(items)}")])
    return OthersForm(message, items, Questions(_questions(message, items)))


def _parts(message: object, schema: object) -> tuple[Mapping[str, Any], list[str]]:
    try:
        strict.check([message, schema])
    except strict.NotStrict as error:
        raise InvalidAsk(f"the form {error}") from None
    if not isinstance(message, str) or not isinstance(schema, Mapping):
        raise InvalidAsk("the form must have a message and a schema")
    properties, required = schema.get("properties"), schema.get("required") or []
    if schema.get("type", "object") != "object" or not isinstance(properties, Mapping):
        raise InvalidAsk([Problem("requestedSchema", "must be an object with properties")])
    refuse_forbidding(schema, "properties", "required", "additionalProperties")
    if len(properties) > _MOST_PROPERTIES:
        raise InvalidAsk([Problem("properties", f"needs at most {_MOST} fields, has {len(properties)}")])
    if not isinstance(required, list):
        raise InvalidAsk([Problem("required", f"must be a list of names, is {quoted(required)}")])
    if strangers := [name for name in required if not isinstance(name, str) or name not in properties]:
        raise InvalidAsk([Problem("required", f"must name properties, names {quoted(strangers[0])}")])
    return properties, required


def _items(fields: Mapping[str, Field], properties: Mapping[str, Any]) -> Iterable[Item]:
    """The fields, each with those that only complete it."""
    known = {name: found for name in fields if (found := _completed(name, fields, properties))}
    completing = {name: found for name, found in known.items() if found[0] not in known}
    for name, own in fields.items():
        if name in completing:
            continue
        beside = {role: found for owner, role, found in completing.values() if owner == name}
        style: Style = "codex" if _codex(properties[name]) else "ours" if _OURS.fullmatch(name) else "plain"
        item = Item(own, beside.get("custom"), beside.get("note"), style)
        yield Item(_unhinted(own), None, item.note, "codex") if item.other else item


def _completed(name: str, fields: Mapping[str, Field], properties: Mapping[str, Any]) -> tuple[str, str, Beside] | None:
    """The field that this one only completes, and with what."""
    rule = fields[name].rule
    if not isinstance(rule, Text) or fields[name].required:
        return None
    owner, _, role = name.rpartition("_")
    if marks := _codex(properties[name]):
        owner, role = f"{marks.get('questionId')}", "note" if marks.get("role") == "user_note" else ""
    if owner not in fields or owner == name or role not in ("custom", "note"):
        return None
    is_known = marks or _OURS.fullmatch(owner) or (role == "note" and _offers(fields[owner], _CODEX_OTHER))
    return (owner, role, Beside(name, rule)) if is_known else None


def _codex(written: Mapping[str, Any]) -> Mapping[str, Any]:
    meta = written.get("_meta")
    marks = meta.get("codex") if isinstance(meta, Mapping) else None
    return marks if isinstance(marks, Mapping) else {}


def _offers(field: Field, value: str) -> bool:
    return isinstance(field.rule, Choice) and any(pick.value == value for pick in field.rule.picks)


def _unhinted(field: Field) -> Field:
    """Without what is said of a field for a note: at a desk, own words have a place of their own."""
    assert isinstance(field.rule, Choice)  # noqa: S101 - only a choice offers something
    picks = tuple([replace(pick, description="") if pick.value == _CODEX_OTHER else pick for pick in field.rule.picks])
    return replace(field, rule=replace(field.rule, picks=picks))


def _questions(message: str, items: tuple[Item, ...]) -> list[Question]:
    if not items:
        return [Question(message, [_ACCEPT, _REFUSE])]
    texts = [_text(item, message, is_lone=len(items) == 1) for item in items]
    alike = [likeness(text) for text in texts]
    texts = [
        text if alike.count(like) == 1 else f"{text} ({item.field.name})"
        for text, like, item in zip(texts, alike, items, strict=True)
    ]
    if len(items) > 1 and not is_blank(message) and message != Words().several:
        texts[0] = f"{message}\n\n{texts[0]}"
    return [_question(item, text) for item, text in zip(items, texts, strict=True)]


def _question(item: Item, text: str) -> Question:
    try:
        return item.field.rule.question("\n".join((text, *_hint(item))), _header(item))
    except InvalidAsk as error:
        raise InvalidAsk(
            [problem.under(f"properties.{named(item.field.name)}") for problem in error.problems]
        ) from None


def _text(item: Item, message: str, *, is_lone: bool) -> str:
    """What is asked: who made the form put it into the message, the title or the description."""
    title, description = item.field.title or _named(item.field), item.field.description
    if item.style == "codex":
        return f"{message}\n\n{title}" if is_lone and not is_blank(message) else title
    if is_lone and not is_blank(message):
        is_told = item.style == "ours" or width(shown(title)) <= HEADER or likeness(title) == likeness(message)
        return "\n\n".join(part for part in (message, "" if is_told else title, description) if part)
    if item.style == "ours":
        return description or title
    return f"{title}\n{description}" if description else title


def _header(item: Item) -> str:
    match item.style:
        case "codex":
            return item.field.description
        case "ours":
            return item.field.title
        case "plain":
            return item.field.title or _named(item.field)


def _named(field: Field) -> str:
    return quoted(field.name) if is_blank(field.name) else field.name


def _hint(item: Item) -> Iterable[str]:
    """What a person should know before they answer, so that they need not be asked again."""
    hints = [*(["optional"] if item.style == "plain" and not item.field.required else ()), *item.field.rule.hints()]
    return [f"({'; '.join(hints)})"] if hints else ()


def flaws(form: OthersForm, answered: Answered) -> list[Flaw]:
    """What cannot go back as it was answered, question by question, in words for the person."""
    if not form.items:
        return [] if _consent(answered) is not None else [Flaw(0, _DECIDE)]
    found = []
    for number, (item, answer) in enumerate(zip(form.items, answered.answers, strict=True)):
        try:
            _filled(item, answer)
        except InvalidReply as error:
            found.append(Flaw(number, str(error)))
    return found


def content(form: OthersForm, answered: Answered) -> dict[str, Value] | None:
    """What goes back, which satisfies the schema; InvalidReply where something is flawed.

    None where the form only asked for a yes and the person said no.
    """
    if not form.items:
        return {} if _consent(answered) else None
    filled: dict[str, Value] = {}
    for item, answer in zip(form.items, answered.answers, strict=True):
        filled |= _filled(item, answer)
    return filled


def again(form: OthersForm, found: Sequence[Flaw]) -> Questions:
    """The questions that must be asked again, each with what was wrong."""
    items = form.questions.items
    return Questions([replace(items[number], text=f"{words}\n\n{items[number].text}") for number, words in found])


def amended(answered: Answered, found: Sequence[Flaw], later: Answered) -> Answered:
    """The first answers, with what was said when it was asked again in the place of what was flawed."""
    answers = list(answered.answers)
    for flaw, answer in zip(found, later.answers, strict=True):
        answers[flaw.number] = answer
    return Answered(answers)


def _consent(answered: Answered) -> bool | None:
    match answered.answers[0]:
        case Answer(chosen=(label,), other="", note=""):
            return label == _ACCEPT
        case _:
            return None


def _filled(item: Item, answer: Answer | None) -> dict[str, Value]:
    """The fields of one question as its answer fills them in, or InvalidReply with a sentence for the person."""
    if answer is None:
        return _blank(item)
    match item.field.rule:
        case Choice() as rule:
            values, own = rule.read(answer)
            value = rule.value(values) if values else None
        case Text() | Number() as rule:
            own = ""
            value = None if is_blank(answer.other) else rule.value(answer.other)
    if own and value is None and item.other:
        value, own, note = item.other, "", "\n".join(filter(None, (own, answer.note)))
    else:
        note = answer.note
    said = _beside(item, own, note)
    if value is None:
        return {**_blank(item), **said}
    return {item.field.name: value, **said}


def _blank(item: Item) -> dict[str, Value]:
    if item.field.required:
        raise InvalidReply(_UNANSWERED)
    return {}


def _beside(item: Item, own: str, note: str) -> dict[str, Value]:
    """Own words and a note, in the fields that there are for them."""
    is_one = not (isinstance(item.field.rule, Choice) and item.field.rule.multi)
    # Where there is none for notes, own words beside a choice are one; beside several they would be one more of them.
    noted = item.note or (item.custom if is_one else None)
    if own and not item.custom:
        raise InvalidReply(f"This takes one of its options, not own words: {told(own)}.")
    if note and not noted:
        raise InvalidReply("There is no place for a note here, and nobody would read it.")
    if own and note and noted == item.custom:
        own, note = f"{own}\n{note}", ""
    said = [(place, words) for place, words in ((item.custom, own), (noted, note)) if place and words]
    return {place.name: place.rule.value(words) for place, words in said}
