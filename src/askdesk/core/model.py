"""Pure values: what is asked, what is said, how it ended. No I/O, no clock, no JSON of other people.

A value that exists is valid: each one checks itself when it is made.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import force_setattr, replace

from askdesk.core.checks import fragment_problems, json_text, object_problems, repeated, sound, text_problems
from askdesk.core.errors import InvalidAsk, InvalidReply, Problem, quoted
from askdesk.core.text import is_blank

Kind: TypeAlias = Literal["choice", "text", "number"]
PreviewFormat: TypeAlias = Literal["none", "markdown", "html"]

_FARTHEST = 1e300
RECOMMENDED = "(Recommended)"
_DIGEST_PREFIX = "askdesk permission v1"
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


class Option(Struct, frozen=True, omit_defaults=True):
    """One thing a person may choose."""

    label: str
    description: str = ""
    preview: str | None = None

    def __post_init__(self) -> None:
        if sound(self.label, self.description, "" if self.preview is None else self.preview):
            return
        problems = [
            *text_problems("label", self.label, blank=False),
            *text_problems("description", self.description),
            *(text_problems("preview", self.preview) if self.preview is not None else ()),
        ]
        raise InvalidAsk(problems)

    @property
    def recommended(self) -> bool:
        """The agent's own claim, made at the end of the label."""
        return self.label.rstrip().lower().endswith(RECOMMENDED.lower())


class Question(Struct, frozen=True, omit_defaults=True):
    """A question with its options, or one that wants a text or a number instead."""

    text: str
    options: tuple[Option, ...] = ()
    header: str = ""
    multi_select: bool = False
    kind: Kind = "choice"
    default: str | None = None
    minimum: float | None = None
    maximum: float | None = None

    if TYPE_CHECKING:  # what callers may write; __post_init__ makes the types above of it

        def __init__(
            self,
            text: str,
            options: Iterable[Option | str] = (),
            *,
            header: str = "",
            multi_select: bool = False,
            kind: Kind = "choice",
            default: str | None = None,
            minimum: float | None = None,
            maximum: float | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        given: tuple[object, ...] = tuple(self.options)
        if wrong := [option for option in given if not isinstance(option, Option | str)]:
            raise InvalidAsk([Problem("options", f"must be options or texts, got {quoted(wrong[0])}")])
        force_setattr(self, "options", tuple([Option(o) if isinstance(o, str) else o for o in given]))
        problems = [
            *(() if sound(self.text, self.header) else self._own_text_problems()),
            *repeated("options", "label", [option.label for option in self.options]),
            *self._kind_problems(),
        ]
        if problems:
            raise InvalidAsk(problems)

    def _own_text_problems(self) -> Iterable[Problem]:
        yield from text_problems("question", self.text, blank=False)
        yield from text_problems("header", self.header)

    def _kind_problems(self) -> Iterable[Problem]:
        if self.kind not in ("choice", "text", "number"):
            yield Problem("kind", f"must be choice, text or number, is {quoted(self.kind)}")
        elif self.kind != "choice":
            if self.options:
                yield Problem("options", f"must be empty for a {self.kind} question, has {len(self.options)}")
            if self.multi_select:
                yield Problem("multiSelect", f"must be false for a {self.kind} question")
            if self.default is not None:
                yield from text_problems("default", self.default)
                if self.kind == "number" and (flaw := self.number_flaw(self.default)):
                    yield Problem("default", flaw)
        for name, bound in (("min", self.minimum), ("max", self.maximum)):
            if bound is not None and not -_FARTHEST < bound < _FARTHEST:
                yield Problem(name, "must be a number within reason")
                return
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            yield Problem("min", f"must not be above max {self.maximum:.15g}, is {self.minimum:.15g}")

    def fit(self, answer: Answer) -> Answer:
        """The answer in its one canonical form, or InvalidReply where it does not answer this question.

        Choices stand in the order of the options, and own words that read as a label are that choice, so an answer
        and the text of it name each other on every surface.
        """
        if answer.note and is_blank(answer.note):
            answer = replace(answer, note="")
        if self.kind == "number":
            return self._fit_number(answer)
        labels = [option.label for option in self.options]
        chosen, other = answer.chosen, "" if is_blank(answer.other) else answer.other
        if other and not chosen:
            chosen, other = (read, "") if (read := self._choices(other)) else (chosen, other)
        elif other in labels:
            chosen, other = (*chosen, other), ""
        if unknown := [label for label in chosen if label not in labels]:
            raise InvalidReply([Problem("", f"offers no option {quoted(unknown[0])}; own words belong in Other")])
        if not self.multi_select and len(set(chosen)) + bool(other) > 1:
            raise InvalidReply([Problem("", f"takes one answer, got {len(set(chosen)) + bool(other)}")])
        ordered = tuple([label for label in labels if label in chosen])
        if (ordered, other, self.multi_select) == (answer.chosen, answer.other, answer.multi_select):
            return answer
        return replace(answer, chosen=ordered, other=other, multi_select=self.multi_select)

    def _fit_number(self, answer: Answer) -> Answer:
        if answer.chosen:
            raise InvalidReply("takes a number, not an option")
        number = "" if is_blank(answer.other) else answer.other.strip()
        if number and (flaw := self.number_flaw(number)):
            raise InvalidReply(flaw)
        return replace(answer, other=number, multi_select=False)

    def number_flaw(self, text: str) -> str | None:
        """Why a text is not a number that this question takes."""
        if not _NUMBER.fullmatch(text.strip()) or not math.isfinite(number := float(text)):
            return f"takes a number, got {quoted(text)}"
        if self.minimum is not None and number < self.minimum:
            return f"takes a number from {self.minimum:.15g}, got {text.strip()}"
        if self.maximum is not None and number > self.maximum:
            return f"takes a number up to {self.maximum:.15g}, got {text.strip()}"
        return None

    def read(self, text: str) -> Answer:
        """The answer that a text of the tool format stands for: an exact label or join is choices, else own words."""
        return self.fit(Answer(other=text))

    def _choices(self, text: str) -> tuple[str, ...] | None:
        labels = [option.label for option in self.options]
        if not self.multi_select:
            return (text,) if text in labels else None
        # Eat one token after the other. A token is quoted wherever it could be read two ways, so at most one fits.
        tokens = {_token(label): label for label in labels}
        chosen: list[str] = []
        rest = text
        while rest not in tokens:
            head = next((token for token in tokens if rest.startswith(f"{token}, ")), None)
            if head is None:
                return None
            chosen.append(tokens.pop(head))  # popped, so a label named twice is own words
            rest = rest[len(head) + 2 :]
        return (*chosen, tokens[rest])


class Questions(Struct, frozen=True, omit_defaults=True, tag="questions", tag_field="body"):
    """What an ask with questions carries, and how it came in."""

    items: tuple[Question, ...]
    source: str | None = None  # the tool's metadata.source: kept, never displayed
    received: str | None = None  # the array as it came, where we would have written it otherwise
    warnings: tuple[str, ...] = ()

    if TYPE_CHECKING:

        def __init__(
            self,
            items: Iterable[Question],
            source: str | None = None,
            received: str | None = None,
            warnings: tuple[str, ...] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        force_setattr(self, "items", tuple(self.items))
        if not self.items:
            raise InvalidAsk([Problem("questions", "needs at least 1, has 0")])
        if problems := list(repeated("questions", "question", [question.text for question in self.items])):
            raise InvalidAsk(problems)

    def fit(self, answers: tuple[Answer | None, ...]) -> tuple[Answer | None, ...]:
        """Each answer in canonical form, or InvalidReply naming every question whose answer does not fit."""
        if len(answers) != len(self.items):
            raise InvalidReply(f"needs an answer or a blank for each question: {len(self.items)}, got {len(answers)}")
        fitted: list[Answer | None] = []
        problems: list[Problem] = []
        for question, answer in zip(self.items, answers, strict=True):
            try:
                fitted.append(answer and question.fit(answer))
            except InvalidReply as error:
                problems += (problem.under(quoted(question.text)) for problem in error.problems)
        if problems:
            raise InvalidReply(problems)
        return tuple(fitted)


class Permission(Struct, frozen=True, omit_defaults=True, tag="permission", tag_field="body"):
    """A tool call that the agent wants allowed. `input` is JSON text: what was shown is what runs."""

    tool: str
    input: str
    folder: str = ""
    description: str = ""  # the agent's claim about the call
    suggestions: tuple[str, ...] = ()  # rules the agent proposes to remember, each as JSON text

    if TYPE_CHECKING:

        def __init__(
            self,
            tool: str,
            input: str | Mapping[str, Any],
            folder: str = "",
            description: str = "",
            suggestions: Iterable[str | Mapping[str, Any]] = (),
        ) -> None: ...

    def __post_init__(self) -> None:
        suggestions = (json_text(f"suggestions[{n}]", rule) for n, rule in enumerate(self.suggestions))
        force_setattr(self, "input", json_text("input", self.input))
        force_setattr(self, "suggestions", tuple(suggestions))
        problems = [
            *text_problems("tool", self.tool, blank=False),
            *object_problems("input", self.input),
            *text_problems("folder", self.folder),
            *text_problems("description", self.description),
            *(p for n, rule in enumerate(self.suggestions) for p in object_problems(f"suggestions[{n}]", rule)),
        ]
        if problems:
            raise InvalidAsk(problems)

    @property
    def digest(self) -> str:
        """Binds a settlement to the exact call that was shown."""
        parts = json.dumps([_DIGEST_PREFIX, self.tool, self.folder, self.input], ensure_ascii=False)
        return f"sha256:{sha256(parts.encode()).hexdigest()}"

    @property
    def value(self) -> dict[str, Any]:
        """The input as an object, made anew from the text each time: nobody can change what was shown."""
        value: dict[str, Any] = json.loads(self.input)
        return value


class Asker(Struct, frozen=True, omit_defaults=True):
    """Who asked. `host` and `process` let surfaces tell when the asker is gone."""

    agent: str = "agent"
    session: str = ""
    project: str = ""
    parent: str = ""
    host: str = ""
    process: int | None = None

    def __post_init__(self) -> None:
        if sound(self.agent, self.session, self.project, self.parent, self.host):
            return
        fields = {n: getattr(self, n) for n in ("session", "project", "parent", "host")}
        problems = [
            *text_problems("agent", self.agent, blank=False),
            *(p for name, text in fields.items() for p in text_problems(name, text)),
        ]
        raise InvalidAsk(problems)


class Ask(Struct, frozen=True, omit_defaults=True):
    """One request by one agent: an envelope whose body is questions or a permission."""

    id: str
    body: Questions | Permission
    asker: Asker
    created: datetime
    key: str | None = None
    deadline: datetime | None = None
    preview_format: PreviewFormat = "none"
    follows: str | None = None

    def __post_init__(self) -> None:
        problems = [] if self.key is None else list(text_problems("key", self.key, blank=False))
        if self.preview_format == "html":
            problems += self._preview_problems()
        if problems:
            raise InvalidAsk(problems)

    def _preview_problems(self) -> Iterable[Problem]:
        for q, question in enumerate(self.questions):
            for o, option in enumerate(question.options):
                if option.preview:
                    yield from fragment_problems(f"questions[{q}].options[{o}].preview", option.preview)

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.body.items if isinstance(self.body, Questions) else ()

    @property
    def permission(self) -> Permission | None:
        return self.body if isinstance(self.body, Permission) else None

    def is_due(self, now: datetime) -> bool:
        return self.deadline is not None and self.deadline <= now

    def fit(self, reply: Reply, digest: str | None) -> Reply:
        """The reply in canonical form, or InvalidReply where it does not fit this ask or names another digest."""
        match self.body, reply:
            case Questions() as questions, Answered(answers):
                fitted = questions.fit(answers)
                return reply if fitted == answers else Answered(fitted)
            case Questions() as questions, Declined(so_far=so_far):
                return replace(reply, so_far=questions.fit(so_far)) if so_far else reply
            case Permission() as permission, Allowed():
                _check_digest(permission, digest, required=True)
                _check_remembered(permission, reply)
                return reply
            case Permission() as permission, Denied():
                _check_digest(permission, digest, required=False)
                return reply
            case Questions(), _:
                raise InvalidReply("this ask has questions: answer or decline it")
            case _:
                raise InvalidReply("this ask is a permission: allow or deny it")


class Answer(Struct, frozen=True, omit_defaults=True):
    """What a person chose for one question: labels, own words, a note. A blank is None, never an empty Answer."""

    chosen: tuple[str, ...] = ()
    other: str = ""
    note: str = ""
    multi_select: bool = False  # how the question was asked; Question.fit() sets it

    if TYPE_CHECKING:

        def __init__(
            self, chosen: Iterable[str] = (), other: str = "", note: str = "", multi_select: bool = False
        ) -> None: ...

    def __post_init__(self) -> None:
        force_setattr(self, "chosen", tuple(self.chosen))
        if not all(map(sound, self.chosen)) or not sound("seen", self.other, self.note):
            raise InvalidReply(
                [
                    *(p for label in self.chosen for p in text_problems("chosen", label, blank=False)),
                    *text_problems("other", self.other),
                    *text_problems("note", self.note),
                ]
            )
        if not self.chosen and is_blank(self.other) and is_blank(self.note):
            raise InvalidReply("an answer needs a choice, own words or a note")

    @classmethod
    def choose(cls, question: Question, *numbers: int, note: str = "") -> Answer:
        """The options with these numbers, counted from 0."""
        count = len(question.options)
        if wrong := [number for number in numbers if not 0 <= number < count]:
            raise InvalidReply(f"options are numbered 0 to {count - 1}, got {wrong[0]}")
        return question.fit(cls([question.options[number].label for number in numbers], note=note))

    @property
    def text(self) -> str:
        """The string that the tool format gives for this answer; empty where there is only a note."""
        if not self.multi_select:
            return ", ".join(self.chosen) or self.other
        if not self.chosen:
            return self.other
        parts = [*self.chosen, self.other] if self.other else self.chosen
        return ", ".join(_token(part) for part in parts)


class Answered(Struct, frozen=True, tag="answered", tag_field="outcome"):
    """A person's answers, aligned with the questions; None where one was left blank on purpose."""

    answers: tuple[Answer | None, ...]

    if TYPE_CHECKING:

        def __init__(self, answers: Iterable[Answer | None]) -> None: ...

    def __post_init__(self) -> None:
        force_setattr(self, "answers", tuple(self.answers))
        if not any(self.answers):
            raise InvalidReply("blank everywhere is not an answer")


class Declined(Struct, frozen=True, omit_defaults=True, tag="declined", tag_field="outcome"):
    """The person will not answer, perhaps saying something instead; what was chosen so far is kept."""

    message: str = ""
    so_far: tuple[Answer | None, ...] = ()
    stop: bool = False

    def __post_init__(self) -> None:
        force_setattr(self, "so_far", tuple(self.so_far) if any(self.so_far) else ())
        _check_said("message", self.message)


class Allowed(Struct, frozen=True, omit_defaults=True, tag="allowed", tag_field="outcome"):
    """A person's explicit yes; `input` is None, or the changed input as JSON text."""

    input: str | None = None
    remember: tuple[str, ...] = ()  # which of the suggestions to keep as rules

    def __post_init__(self) -> None:
        force_setattr(self, "remember", tuple(self.remember))
        if self.input is not None and (problems := list(object_problems("input", self.input))):
            raise InvalidReply(problems)


class Denied(Struct, frozen=True, omit_defaults=True, tag="denied", tag_field="outcome"):
    """A no, perhaps with a reason, an end of the run, or a new instruction to follow instead."""

    message: str = ""
    stop: bool = False
    redirect: str = ""

    def __post_init__(self) -> None:
        _check_said("message", self.message)
        _check_said("redirect", self.redirect)

    @classmethod
    def another_way(cls, words: str) -> Denied:
        """A no that shows the agent a way the person would rather have."""
        return cls(f"Another way: {words}")


class Expired(Struct, frozen=True, tag="expired", tag_field="outcome"):
    """Nobody replied before the deadline."""


class Withdrawn(Struct, frozen=True, omit_defaults=True, tag="withdrawn", tag_field="outcome"):
    """The asker took it back."""

    reason: str = ""

    def __post_init__(self) -> None:
        _check_said("reason", self.reason)


Reply: TypeAlias = Answered | Declined | Allowed | Denied
Outcome: TypeAlias = Reply | Expired | Withdrawn


class Settlement(Struct, frozen=True, omit_defaults=True):
    """How an ask ended, who ended it, on which surface and when."""

    outcome: Outcome
    at: datetime
    submission: str  # the same submission sent twice succeeds twice
    by: str = ""
    surface: str = ""
    digest: str | None = None  # of the permission input that the person was shown

    def __post_init__(self) -> None:
        if not sound(self.submission, self.by, self.surface):
            texts = {"submission": self.submission, "by": self.by, "surface": self.surface}
            problems = [
                p for name, text in texts.items() for p in text_problems(name, text, blank=name != "submission")
            ]
            raise InvalidReply(problems)

    @property
    def summary(self) -> str:
        """One plain clause for messages: what, by whom, where."""
        what = type(self.outcome).__name__.lower()
        return f"{what}{f' by {self.by}' if self.by else ''}{f' on {self.surface}' if self.surface else ''}"


class Entry(Struct, frozen=True):
    """An ask as a store keeps it: open, or with the settlement that ended it."""

    ask: Ask
    settlement: Settlement | None = None


def _token(label: str) -> str:
    # Quoted where a join could be read two ways, in the very form that Claude Code writes.
    return json.dumps(label, ensure_ascii=False) if ", " in label or '"' in label else label


def _check_said(path: str, text: str) -> None:
    if problems := list(text_problems(path, text)):
        raise InvalidReply(problems)


def _check_digest(permission: Permission, digest: str | None, *, required: bool) -> None:
    if digest is None and not required:
        return
    if digest != permission.digest:
        raise InvalidReply(f"digest: the input shown was not the one asked for, which has {permission.digest}")


def _check_remembered(permission: Permission, allowed: Allowed) -> None:
    if unknown := [rule for rule in allowed.remember if rule not in permission.suggestions]:
        raise InvalidReply(f"remember: not among the suggestions: {quoted(unknown[0])}")
