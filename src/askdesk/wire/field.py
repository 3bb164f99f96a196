"""What may be put into one field of somebody else's form, and why something may not. Pure; reads no schema.

A rule makes the question that a person sees, and of the person's words the value that goes back. InvalidReply is what
the person should read before they are asked again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Decimal
from typing import TypeAlias

from msgspec import Struct

from askdesk.core.errors import InvalidReply
from askdesk.core.limits import OPEN
from askdesk.core.model import RECOMMENDED, Answer, Option, Question
from askdesk.wire.pattern import Pattern
from askdesk.wire.words import quote

Value: TypeAlias = str | int | float | bool | list[str]

_EMAIL = re.compile(r"[^@\s\"(),:;<>\[\\\]]+@[^@\s\"(),:;<>\[\\\]]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=-]|%[0-9A-Fa-f]{2})+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})", re.ASCII)
_NOTHING = "None of these"
_FEWEST, _MOST = OPEN.options
_LONGEST_TOLD = 60


def told(words: str) -> str:
    """A person's words as they are told to them again, on one line."""
    return quote(words if len(words) <= _LONGEST_TOLD else f"{words[:_LONGEST_TOLD]}…")


class Text(Struct, frozen=True):
    """A text of some length, perhaps in some form."""

    shortest: int = 0
    longest: int | None = None
    format: str = ""
    pattern: Pattern | None = None
    default: str | None = None

    def question(self, text: str, header: str) -> Question:
        return Question(text, header=header, kind="text", default=self.default)

    def hints(self) -> Iterable[str]:
        if self.format:
            yield FORMATS[self.format].wanted
        if self.shortest > 1 or self.longest is not None:
            yield _between(self.shortest, self.longest, "character")
        if self.pattern:
            yield f"of the pattern {self.pattern.text}"

    def value(self, words: str) -> str:
        text = words.strip() if self.format else words
        if len(text) < self.shortest or (self.longest is not None and len(text) > self.longest):
            wanted = _between(self.shortest, self.longest, "character")
            raise InvalidReply(f"This takes {wanted}; {told(text)} has {len(text)}.")
        if self.format and not FORMATS[self.format].fits(text):
            raise InvalidReply(f"This takes {FORMATS[self.format].wanted}; {told(text)} is none.")
        if self.pattern and not self.pattern.is_in(text):
            raise InvalidReply(f"This takes a text of the pattern {self.pattern.text}; {told(text)} is none.")
        return text


class Number(Struct, frozen=True):
    """A number within bounds, perhaps a whole one. The bounds `above` and `below` are no values themselves."""

    whole: bool = False
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    default: float | None = None

    def question(self, text: str, header: str) -> Question:
        default = None if self.default is None else f"{self.default}"
        return Question(text, header=header, kind="number", default=default, minimum=self.minimum, maximum=self.maximum)

    def hints(self) -> Iterable[str]:
        if self.whole:
            yield "a whole number"
        if self.above is not None:
            yield f"above {self.above:.15g}"
        if self.below is not None:
            yield f"below {self.below:.15g}"

    def value(self, words: str) -> int | float:
        if flaw := Question("?", kind="number", minimum=self.minimum, maximum=self.maximum).number_flaw(words):
            raise InvalidReply(f"This {flaw}.")
        exact = Decimal(words.strip())
        if self.whole and exact != exact.to_integral_value():
            raise InvalidReply(f"This takes a whole number, got {words.strip()}.")
        number = int(exact) if exact == exact.to_integral_value() else float(exact)
        if self.above is not None and number <= self.above:
            raise InvalidReply(f"This takes a number above {self.above:.15g}, got {words.strip()}.")
        if self.below is not None and number >= self.below:
            raise InvalidReply(f"This takes a number below {self.below:.15g}, got {words.strip()}.")
        return number


class Pick(Struct, frozen=True):
    """One thing that may be chosen, and the value that stands for it."""

    value: str | bool
    label: str
    description: str = ""
    preview: str | None = None
    suggested: bool = False

    @property
    def option(self) -> Option:
        is_marked = Option(self.label).recommended or not self.suggested
        label = self.label if is_marked else f"{self.label} {RECOMMENDED}"
        return Option(label, self.description, self.preview)


class Choice(Struct, frozen=True):
    """One or several of some values. More than a desk takes as options are listed, and one is typed."""

    picks: tuple[Pick, ...]
    multi: bool = False
    fewest: int = 0
    most: int | None = None

    @property
    def is_typed(self) -> bool:
        return len(self.picks) > _MOST

    def question(self, text: str, header: str) -> Question:
        if self.is_typed:
            return Question(text, header=header, kind="text", default=self._suggestion() or None)
        return Question(text, self._options(), header=header, multi_select=self.multi)

    def _options(self) -> list[Option]:
        options = [pick.option for pick in self.picks]
        return options if len(options) >= _FEWEST else [*options, Option(self._nothing)]

    @property
    def _nothing(self) -> str:
        """What stands beside a thing that is the only one, as a desk takes no fewer than two."""
        return _NOTHING if self.picks[0].label != _NOTHING else "Leave it blank"

    def _suggestion(self) -> str:
        labels = [pick.label for pick in self.picks if pick.suggested]
        return Answer(labels, multi_select=self.multi).text if labels else ""

    def hints(self) -> Iterable[str]:
        if self.is_typed:
            labels = Answer([pick.label for pick in self.picks], multi_select=True).text
            yield f"{'some' if self.multi else 'one'} of: {labels}"
        if self.multi and (self.fewest > 1 or self.most is not None):
            yield f"choose {_between(self.fewest, self.most)}"

    def read(self, answer: Answer) -> tuple[list[str | bool], str]:
        """The values that were chosen, and what of the own words names none of them."""
        chosen, own = list(answer.chosen), answer.other
        if self.is_typed and own:
            typed = Question("?", [pick.label for pick in self.picks], multi_select=self.multi).read(own.strip())
            chosen, own = list(typed.chosen), typed.other
        picked = [pick for pick in self.picks if pick.label in chosen or pick.option.label in chosen]
        if own and (named := [pick for pick in self.picks if own.strip() == pick.label]):
            picked, own = [*picked, *named], ""  # its label, but for what marks it as suggested
        if len(self.picks) < _FEWEST and self._nothing in chosen and (picked or own):
            raise InvalidReply(f"{told(self._nothing)} goes with nothing else.")
        if len(picked) + bool(own) > 1 and not self.multi:
            raise InvalidReply("This takes one answer.")
        return [pick.value for pick in self.picks if pick in picked], own

    def value(self, values: list[str | bool]) -> Value:
        """Chosen values as the field takes them, at least one."""
        if not self.multi:
            return values[0]
        if len(values) < self.fewest or (self.most is not None and len(values) > self.most):
            raise InvalidReply(f"Choose {_between(self.fewest, self.most)} of these; you chose {len(values)}.")
        return [f"{value}" for value in values]


Rule: TypeAlias = Text | Number | Choice


class Field(Struct, frozen=True):
    """A field of a form: its name is the form's own, everything else is for people."""

    name: str
    rule: Rule
    title: str = ""
    description: str = ""
    required: bool = False


class Format(Struct, frozen=True):
    """A form that a text may have to have."""

    wanted: str
    fits: Callable[[str], bool]


def _is_date(text: str) -> bool:
    return bool(_DATE.fullmatch(text)) and _is_real(date.fromisoformat, text)


def _is_moment(text: str) -> bool:
    return bool(_MOMENT.fullmatch(text)) and _is_real(datetime.fromisoformat, text.upper())


def _is_real(read: Callable[[str], object], text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


FORMATS = {
    "email": Format("an e-mail address", lambda text: bool(_EMAIL.fullmatch(text))),
    "uri": Format("a whole address, such as https://example.com/", lambda text: bool(_URI.fullmatch(text))),
    "date": Format("a date, such as 2026-07-28", _is_date),
    "date-time": Format("a date and time with its zone, such as 2026-07-28T09:30:00Z", _is_moment),
}


def _between(least: int, most: int | None, noun: str = "") -> str:
    if most is None:
        amount = f"at least {least}"
    elif least < 1 or least == most:
        amount = f"{most}" if least == most else f"at most {most}"
    else:
        amount = f"{least} to {most}"
    if not noun:
        return amount
    return f"{amount} {noun}{'' if amount.endswith(' 1') or amount == '1' else 's'}"
