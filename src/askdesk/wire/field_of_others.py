"""One property of somebody else's flat JSON Schema as a field: what MCP and ACP let a form have, and nothing else.

A keyword that would forbid values and is not understood is refused with its place, as nothing could then be promised of
an answer. One that only describes is let be.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from msgspec.structs import replace

from askdesk.core.checks import likeness
from askdesk.core.errors import InvalidAsk, Problem, named, quoted
from askdesk.core.model import RECOMMENDED
from askdesk.core.text import is_blank
from askdesk.wire.field import FORMATS, Choice, Field, Number, Pick, Rule, Text
from askdesk.wire.form import PREVIEW_META
from askdesk.wire.pattern import pattern
from askdesk.wire.secret import is_secret

_MOST_PICKS = 200  # more are no list that a person could read
_FORBIDDING = (
    *("$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "const", "enum", "multipleOf"),
    *("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
    *("maxProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties", "prefixItems", "contains"),
)
_FARTHEST = 1e300
_TYPES = ("string", "number", "integer", "boolean", "array")
_T = TypeVar("_T")


def field(name: str, schema: object, *, required: bool) -> Field:
    """The field, or InvalidAsk with the place and the rule."""
    try:
        return _Property(schema).field(name, required)
    except InvalidAsk as error:
        raise InvalidAsk([problem.under(f"properties.{named(name)}") for problem in error.problems]) from None


def refuse_forbidding(schema: Mapping[str, Any], *known: str) -> None:
    """Raise InvalidAsk where a schema forbids values in a way that forms do not have."""
    if found := [word for word in _FORBIDDING if word in schema and word not in known]:
        raise InvalidAsk([Problem(found[0], "is not part of what a form may have")])


class _Property:
    def __init__(self, schema: object) -> None:
        if not isinstance(schema, Mapping):
            raise InvalidAsk([Problem("", f"must be an object, is {quoted(schema)}")])
        self._schema: Mapping[str, Any] = schema

    def field(self, name: str, required: bool) -> Field:
        title, description = self._get("title", str) or "", self._get("description", str) or ""
        if is_secret(name, title, self._schema):
            raise InvalidAsk("asks for a secret, which is never asked for in a form")
        return Field(
            name, self._rule(), "" if is_blank(title) else title, "" if is_blank(description) else description, required
        )

    def _rule(self) -> Rule:
        match self._schema.get("type"):
            case "string" if "enum" in self._schema or "oneOf" in self._schema:
                return self._choice()
            case "string":
                return self._text()
            case "number" | "integer":
                return self._number()
            case "boolean":
                return self._yes_or_no()
            case "array":
                return self._choices()
            case other:
                return _refuse("type", f"must be {', '.join(_TYPES[:-1])} or {_TYPES[-1]}, is {quoted(other)}")

    def _text(self) -> Text:
        refuse_forbidding(self._schema)
        shape = self._get("format", str) or ""
        if shape and shape not in FORMATS:
            _refuse("format", f"must be {', '.join(FORMATS)}, is {quoted(shape)}")
        written = self._get("pattern", str)
        default = self._get("default", str)
        shortest, longest = self._counts("minLength", "maxLength")
        return Text(
            shortest,
            longest,
            shape,
            pattern(written) if written else None,
            None if default is None or is_blank(default) else default,
        )

    def _number(self) -> Number:
        refuse_forbidding(self._schema)
        whole = self._schema["type"] == "integer"
        words = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "default")
        rule = Number(whole, *(self._amount(word) for word in words))
        if rule.default is not None and whole and rule.default != int(rule.default):
            _refuse("default", f"must be a whole number, is {rule.default}")
        rule.question("?", "")  # bounds and a default that contradict each other are refused there
        return rule

    def _yes_or_no(self) -> Choice:
        refuse_forbidding(self._schema)
        default = self._get("default", bool)
        return Choice((Pick(True, "Yes", suggested=default is True), Pick(False, "No", suggested=default is False)))

    def _choice(self) -> Choice:
        refuse_forbidding(self._schema, "enum", "oneOf")
        default = self._get("default", str)
        return Choice(_suggested(_picks(self._schema, "oneOf"), [] if default is None else [default]))

    def _choices(self) -> Choice:
        refuse_forbidding(self._schema)
        items = self._get("items", dict)
        if items is None:
            _refuse("items", "must be there for an array: a form has lists of options only")
        fewest, most = self._counts("minItems", "maxItems")
        try:
            refuse_forbidding(items, "enum", "anyOf")
            if items.get("type", "string") != "string":
                _refuse("type", f"must be string, is {quoted(items['type'])}")
            picks = _picks(items, "anyOf")
        except InvalidAsk as error:
            raise InvalidAsk([problem.under("items") for problem in error.problems]) from None
        if fewest > len(picks):
            _refuse("minItems", f"must not be above the number of options {len(picks)}, is {fewest}")
        if most == 0:
            _refuse("maxItems", "must be at least 1, is 0")
        return Choice(_suggested(picks, self._get("default", list) or []), True, fewest, most)

    def _get(self, word: str, kind: type[_T]) -> _T | None:
        value = self._schema.get(word)
        if value is None:
            return None
        if not isinstance(value, kind):
            _refuse(word, f"must be {_NAMES[kind]}, is {quoted(value)}")
        return value

    def _amount(self, word: str) -> float | None:
        value = self._schema.get(word)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            _refuse(word, f"must be a number, is {quoted(value)}")
        if not -_FARTHEST < value < _FARTHEST:
            _refuse(word, "must be a number within reason")
        return value

    def _counts(self, least: str, most: str) -> tuple[int, int | None]:
        low, high = self._count(least) or 0, self._count(most)
        if high is not None and low > high:
            _refuse(least, f"must not be above {most} {high}, is {low}")
        return low, high

    def _count(self, word: str) -> int | None:
        value = self._amount(word)
        if value is not None and (value < 0 or value != int(value)):
            _refuse(word, f"must be a whole number from 0, is {quoted(value)}")
        return None if value is None else int(value)


_NAMES: dict[type, str] = {str: "text", bool: "true or false", list: "a list", dict: "an object"}


def _picks(schema: Mapping[str, Any], titled: str) -> list[Pick]:
    """The options of an enum, or those that have a title of their own."""
    word = "enum" if "enum" in schema else titled
    listed = schema.get(word)
    if not isinstance(listed, list) or not 1 <= len(listed) <= _MOST_PICKS:
        _refuse(word, f"needs a list of 1-{_MOST_PICKS} options")
    if word == "enum":
        picks = _enum(listed, schema.get("enumNames"))
    else:
        picks = [_titled(f"{word}[{number}]", option) for number, option in enumerate(listed)]
    values = [pick.value for pick in picks]
    if len(set(values)) < len(values):
        _refuse(word, "must not have the same value twice")
    return _told_apart(picks)


def _enum(values: list[Any], names: object) -> list[Pick]:
    if names is not None and not (isinstance(names, list) and len(names) == len(values)):
        _refuse("enumNames", "must be a list with a name for each value of enum")
    picks = []
    for number, value in enumerate(values):
        name = names[number] if isinstance(names, list) else None
        picks.append(_titled(f"enum[{number}]", {"const": value, "title": name}))
    return picks


def _titled(path: str, option: object) -> Pick:
    if not isinstance(option, Mapping):
        _refuse(path, f"must be an object, is {quoted(option)}")
    value, title, description = option.get("const"), option.get("title"), option.get("description")
    if not isinstance(value, str):
        _refuse(path, f"must have a text for its value, is {quoted(value)}")
    if not isinstance(title, str | None) or not isinstance(description, str | None):
        _refuse(path, "must have texts for its title and description")
    label = value if title is None or is_blank(title) else title
    if label.startswith(f"{value} - ") and not description and not is_blank(value):
        label, description = value, label.removeprefix(f"{value} - ")  # as those write it who have no place for it
    return Pick(value, quoted(label) if is_blank(label) else label, description or "", _preview(option.get("_meta")))


def _preview(meta: object) -> str | None:
    found = meta.get(PREVIEW_META) if isinstance(meta, Mapping) else None
    preview = found.get("preview") if isinstance(found, Mapping) else None
    return preview if isinstance(preview, str) and not is_blank(preview) else None


def _suggested(picks: list[Pick], values: list[Any]) -> tuple[Pick, ...]:
    """The options, with those marked that the form would have filled in."""
    known = {pick.value for pick in picks}
    if strangers := [value for value in values if not isinstance(value, str) or value not in known]:
        _refuse("default", f"must be among the options, is {quoted(strangers[0])}")
    labels = {pick.label for pick in picks}
    marked = {pick.value for pick in picks if f"{pick.label} {RECOMMENDED}" not in labels}
    return tuple([replace(pick, suggested=pick.value in values and pick.value in marked) for pick in picks])


def _told_apart(picks: list[Pick]) -> list[Pick]:
    """Options with one label told apart by their values."""
    labels = [likeness(pick.label) for pick in picks]
    return [
        pick if labels.count(label) == 1 else replace(pick, label=f"{pick.label} ({pick.value})")
        for pick, label in zip(picks, labels, strict=True)
    ]


def _refuse(path: str, rule: str) -> NoReturn:
    raise InvalidAsk([Problem(path, rule)])
