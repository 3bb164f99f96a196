"""A pattern of somebody else's, in the regular expressions of JSON Schema, looked for without ever going back.

Python's own matcher can be kept busy for years by a pattern of ten characters, and nothing can interrupt it. Here each
character of a text is looked at once for each step of the pattern. What cannot be done that way is refused: looking
around, and naming what was found before.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple, NoReturn, TypeAlias

from msgspec import Struct

from askdesk.core.errors import InvalidAsk, Problem, quoted

_LONGEST = 500  # characters of a pattern
_MOST_STEPS = 2000
_DEEPEST = 30
_MOST_LOOKS = 2_000_000
_LINE_ENDS = "\n\r\u2028\u2029"
_SIGNS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_CODE = re.compile(r"x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}", re.IGNORECASE)
_COUNT = re.compile(r"\{(\d{1,4})(,(\d{0,4}))?\}", re.ASCII)
_GROUP = re.compile(r"\((\?:|\?<[A-Za-z_]\w*>)?", re.ASCII)

_Test: TypeAlias = Callable[[str], bool]


class _Take(NamedTuple):
    test: _Test


class _Split(NamedTuple):
    one: int  # relative to here
    other: int


class _Where(NamedTuple):
    sign: str


_Code: TypeAlias = list["_Take | _Split | _Where"]


class Pattern(Struct, frozen=True):
    """A pattern that can be looked for."""

    text: str
    code: tuple[_Take | _Split | _Where, ...]

    def is_in(self, text: str) -> bool:
        """Whether the pattern is found anywhere in a text; not in one that it would take too long to look through."""
        if len(self.code) * len(text) > _MOST_LOOKS:
            return False
        places: set[int] = set()
        for at in range(len(text) + 1):
            if len(self.code) in (places := self._reached(places | {0}, text, at)):
                return True
            takes = ((place, self.code[place]) for place in places)
            places = {p + 1 for p, step in takes if isinstance(step, _Take) and at < len(text) and step.test(text[at])}
        return False

    def _reached(self, places: set[int], text: str, at: int) -> set[int]:
        """Where one gets from these places without taking a character."""
        reached, pending = set(places), list(places)
        while pending:
            place = pending.pop()
            step = self.code[place] if place < len(self.code) else None
            following: tuple[int, ...] = ()
            if isinstance(step, _Split):
                following = (place + step.one, place + step.other)
            elif isinstance(step, _Where) and _holds(step.sign, text, at):
                following = (place + 1,)
            pending += (new for new in following if new not in reached)
            reached.update(following)
        return reached


def pattern(text: str) -> Pattern:
    """The pattern, or InvalidAsk where it is none or cannot be looked for."""
    return Pattern(text, tuple(_Parser(text).whole()))


def _holds(sign: str, text: str, at: int) -> bool:
    match sign:
        case "^":
            return at == 0
        case "$":
            return at == len(text)
        case _:
            before, after = at > 0 and _is_word(text[at - 1]), at < len(text) and _is_word(text[at])
            return (before != after) == (sign == "b")


def _is_digit(character: str) -> bool:
    return "0" <= character <= "9"


def _is_word(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character == "_")


def _is_space(character: str) -> bool:
    return character in "\t\v\f\ufeff" or character in _LINE_ENDS or (character.isspace() and character >= " ")


_CLASSES: dict[str, _Test] = {"d": _is_digit, "w": _is_word, "s": _is_space}


def _not(test: _Test) -> _Test:
    return lambda character: not test(character)


def _within(first: str, last: str) -> _Test:
    return lambda character: first <= character <= last


def _any(tests: list[_Test]) -> _Test:
    return lambda character: any(test(character) for test in tests)


def _test(member: str | _Test) -> _Test:
    return member.__eq__ if isinstance(member, str) else member


def _is_in_line(character: str) -> bool:
    return character not in _LINE_ENDS


class _Parser:
    """Reads a pattern from left to right and writes its steps."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text, 0, 0

    def whole(self) -> _Code:
        if len(self._text) > _LONGEST:
            self._refuse(f"must not be longer than {_LONGEST} characters, is {len(self._text)}")
        code = self._either()
        if self._at < len(self._text):
            self._refuse(f"has a parenthesis too many at character {self._at}")
        return code

    def _refuse(self, rule: str) -> NoReturn:
        raise InvalidAsk([Problem("pattern", f"{rule}: {quoted(self._text)}")])

    @property
    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _eat(self) -> str:
        if not self._next:
            self._refuse("ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _either(self) -> _Code:
        code = self._row()
        while self._next == "|":
            self._eat()
            other = self._row()
            code = [_Split(1, len(code) + 2), *code, _Split(len(other) + 1, len(other) + 1), *other]
        return code

    def _row(self) -> _Code:
        code: _Code = []
        while self._next not in ("", "|", ")"):
            code += self._repeated(self._one())
            if len(code) > _MOST_STEPS:
                self._refuse(f"must not take more than {_MOST_STEPS} steps")
        return code

    def _one(self) -> _Code:
        match self._next:
            case "(":
                return self._group()
            case "[":
                self._eat()
                return [_Take(self._set())]
            case "^" | "$":
                return [_Where(self._eat())]
            case "*" | "+" | "?" | "{":
                return self._refuse(f"repeats nothing at character {self._at}")
            case ".":
                self._eat()
                return [_Take(_is_in_line)]
            case "\\":
                return self._escaped()
            case _:
                character = self._eat()
                return [_Take(_test(character))]

    def _group(self) -> _Code:
        opening = _GROUP.match(self._text, self._at)
        self._at = opening.end() if opening else self._at
        self._depth += 1
        if not opening or self._next == "?" or self._depth > _DEEPEST:
            self._refuse("must not look around or go deeper than it can be followed")
        code = self._either()
        if self._eat() != ")":
            self._refuse("lacks a closing parenthesis")
        self._depth -= 1
        return code

    def _escaped(self) -> _Code:
        self._eat()
        if self._next in ("b", "B"):
            return [_Where(self._eat())]
        return [_Take(_test(self._escape()))]

    def _escape(self) -> str | _Test:
        if code := _CODE.match(self._text, self._at):
            self._at = code.end()
            number = int(code[1] or code[2] or code[3], 16)
            return chr(number) if number < 0x110000 else self._refuse("names a character that is none")
        sign = self._eat()
        if sign.lower() in _CLASSES:
            test = _CLASSES[sign.lower()]
            return test if sign.islower() else _not(test)
        if (sign.isalnum() and sign not in _SIGNS) or (sign == "0" and self._next.isdigit()):
            self._refuse(f"must not use \\{sign}")
        return _SIGNS.get(sign, sign)

    def _set(self) -> _Test:
        is_negative = self._next == "^"
        self._at += is_negative
        tests: list[_Test] = []
        while self._next != "]":
            first = self._member()
            if self._next == "-" and self._text[self._at + 1 : self._at + 2] != "]":
                self._eat()
                tests.append(self._range(first, self._member()))
            else:
                tests.append(_test(first))
        self._eat()
        if not tests:
            self._refuse("has a set with nothing in it")
        return _not(_any(tests)) if is_negative else _any(tests)

    def _member(self) -> str | _Test:
        character = self._eat()
        if character != "\\":
            return character
        if self._next != "b":
            return self._escape()
        self._eat()
        return "\b"

    def _range(self, first: str | _Test, last: str | _Test) -> _Test:
        if not isinstance(first, str) or not isinstance(last, str) or first > last:
            self._refuse(f"has a range that is none before character {self._at}")
        return _within(first, last)

    def _repeated(self, code: _Code) -> _Code:
        least, most = self._times()
        if len(code) == 1 and isinstance(code[0], _Where) and (least, most) != (1, 1):
            self._refuse(f"repeats nothing before character {self._at}")
        if self._next == "?" and (least, most) != (1, 1):
            self._eat()  # as few as possible: no other text has it for that
        if len(code) * max(least, most or 0, 1) > _MOST_STEPS:
            self._refuse(f"must not take more than {_MOST_STEPS} steps")
        if most is None:
            again: _Code = [_Split(1, len(code) + 2), *code, _Split(-len(code) - 1, -len(code) - 1)]
            return code * least + again
        return code * least + [_Split(1, len(code) + 1), *code] * (most - least)

    def _times(self) -> tuple[int, int | None]:
        match self._next:
            case "*":
                self._eat()
                return 0, None
            case "+":
                self._eat()
                return 1, None
            case "?":
                self._eat()
                return 0, 1
            case "{":
                return self._counted()
            case _:
                return 1, 1

    def _counted(self) -> tuple[int, int | None]:
        if not (count := _COUNT.match(self._text, self._at)):
            self._refuse(f"repeats nobody knows how often at character {self._at}")
        self._at = count.end()
        least = int(count[1])
        most = least if not count[2] else int(count[3]) if count[3] else None
        if most is not None and most < least:
            self._refuse(f"repeats at most {most} times and at least {least}")
        return least, most
