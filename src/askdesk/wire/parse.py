"""From what a model sends as AskUserQuestion input to Questions: forgiving in form, strict in substance.

All problems are reported at once, each with its place, so that the model can mend its call in one go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from msgspec.structs import replace

from askdesk.core import strict
from askdesk.core.checks import repeated
from askdesk.core.errors import InvalidAsk, Problem, named, quoted
from askdesk.core.limits import OPEN, Limits
from askdesk.core.model import Option, Question, Questions
from askdesk.wire.written import written

_T = TypeVar("_T")

_MOST_PROBLEMS = 100
_TOP = ("questions", "answers", "annotations", "metadata")
_QUESTION = {
    "question": "question",
    "text": "question",
    "header": "header",
    "options": "options",
    "multiSelect": "multiSelect",
    "multi_select": "multiSelect",
    "multiple": "multiSelect",
    "kind": "kind",
    "type": "kind",
    "default": "default",
    "defaultValue": "default",
    "min": "min",
    "minimum": "min",
    "max": "max",
    "maximum": "max",
}
_OPTION = {"label": "label", "description": "description", "preview": "preview", "markdown": "preview"}


def parse(given: str | bytes | Mapping[str, Any], limits: Limits = OPEN, *, size: int | None = None) -> Questions:
    """The questions of a call, or InvalidAsk with every problem. What was mended is told in `warnings`.

    `answers` and `annotations` from the agent are dropped: only a person makes answers. A value that came out of a
    strict text of `size` bytes is not held to the rules of such texts once more.
    """
    is_checked = size is not None and size <= limits.size
    return _Parser(limits).parsed(given if is_checked else _value(given, limits))


def _value(given: str | bytes | Mapping[str, Any], limits: Limits) -> object:
    try:
        if isinstance(given, str | bytes):
            return strict.loads(given, size=limits.size, depth=limits.depth)
        strict.check(given, size=limits.size, depth=limits.depth)
        if (size := len(strict.dumps(given).encode())) > limits.size:
            raise strict.NotStrict(f"is longer than {limits.size} bytes: {size}")
    except strict.NotStrict as error:
        raise InvalidAsk([Problem("input", str(error))]) from None
    return given


class _Parser:
    """One call's problems and warnings, gathered on the way."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._problems: list[Problem] = []
        self._places: set[str] = set()
        self._warnings: list[str] = []
        self._mended = False
        self._texts: list[object] = []

    def parsed(self, given: object) -> Questions:
        if not isinstance(given, Mapping):
            raise InvalidAsk([Problem("input", f"must be an object with questions, is {quoted(given)}")])
        for key in given:
            if key not in _TOP:
                self._problem(named(key), "is not a parameter; the parameters are questions and metadata")
        for key in ("answers", "annotations"):
            if given.get(key):
                self._warn(key, "come from the person, not from you: dropped")
        source = self._source(given.get("metadata"))
        array = self._array(given.get("questions"))
        items = [self._question(f"questions[{n}]", item) for n, item in enumerate(array)]
        self._add("", repeated("questions", "question", self._texts))
        if self._problems:
            raise InvalidAsk(self._told())
        mended = Questions([item for item in items if item], source, warnings=tuple(self._warnings))
        received = strict.dumps(array)
        if self._mended or received == strict.dumps(written(mended)):
            return mended
        return replace(mended, received=received)

    def _told(self) -> list[Problem]:
        """As many problems as a model can use."""
        more = len(self._problems) - _MOST_PROBLEMS
        rest = [Problem("", f"and {more} more problems")] if more > 0 else []
        return [*self._problems[:_MOST_PROBLEMS], *rest]

    def _source(self, metadata: object) -> str | None:
        if metadata is None:
            return None
        if not isinstance(metadata, Mapping):
            self._problem("metadata", f"must be an object, is {quoted(metadata)}")
            return None
        for key in metadata:
            if key != "source":
                self._problem(f"metadata.{named(key)}", "is not a parameter; the parameter is source")
        source = metadata.get("source")
        if source is not None and not isinstance(source, str):
            self._problem("metadata.source", f"must be text, is {quoted(source)}")
            return None
        return source

    def _array(self, given: object) -> list[Any]:
        if isinstance(given, str):
            given = self._from_text(given)
        if not isinstance(given, list | tuple):
            self._problem("questions", "is required" if given is None else f"must be an array, is {quoted(given)}")
            return []
        self._add("", self._limits.count_problems("questions", len(given), self._limits.questions))
        return list(given[: self._limits.questions[1]])

    def _from_text(self, text: str) -> object:
        try:
            value = strict.loads(text, size=self._limits.size, depth=self._limits.depth)
        except strict.NotStrict as error:
            if text.lstrip().startswith(("[", "{")):
                self._problem("questions", f"must be an array; this text {error}")
            return text
        self._mend("questions", "was text holding an array: read as the array")
        return value.get("questions") if isinstance(value, dict) and [*value] == ["questions"] else value

    def _question(self, path: str, given: object) -> Question | None:
        if not isinstance(given, Mapping):
            self._problem(path, f"must be an object, is {quoted(given)}")
            self._texts.append(None)
            return None
        fields = self._fields(path, given, _QUESTION)
        self._texts.append(fields.get("question"))
        kind = "choice" if fields.get("kind") is None else fields["kind"]
        values: dict[str, Any] = {
            "text": fields.get("question", ""),
            "header": self._optional(path, fields, "header", str, ""),
            "multi_select": self._optional(path, fields, "multiSelect", bool, False),
            "kind": kind,
            "default": self._default(path, fields),
            "minimum": self._bound(path, fields, "min"),
            "maximum": self._bound(path, fields, "max"),
        }
        options = self._options(f"{path}.options", fields.get("options"), kind)
        if "question" not in fields:
            self._problem(f"{path}.question", "is required")
        # Built even where something is wrong already, so that whatever else is wrong is told too.
        question = self._built(path, lambda: Question(options=options, **values))
        self._add(path, self._limits.header_problems(values["header"]))
        if question:
            self._add(path, (p for p in self._limits.question_problems(question) if p.path != "options"))
            self._advise(path, question)
        return question

    def _options(self, path: str, given: object, kind: object) -> list[Option]:
        if kind != "choice" and not given:
            return []
        if not isinstance(given, list | tuple):
            unless = ' unless kind is "text" or "number"' if len(self._limits.kinds) > 1 else ""
            self._problem(path, f"is required{unless}" if given is None else f"must be an array, is {quoted(given)}")
            return []
        if kind == "choice":
            self._add("", self._limits.count_problems(path, len(given), self._limits.options))
        given = given[: self._limits.options[1]]
        options = [self._option(f"{path}[{n}]", item) for n, item in enumerate(given)]
        labels = [item.get("label") if isinstance(item, Mapping) else item for item in given]
        self._add("", repeated(path, "label", labels))
        return [option for option in options if option] if all(options) else []

    def _option(self, path: str, given: object) -> Option | None:
        if isinstance(given, str) and self._limits.plain_options:
            self._mended = True
            return self._built(path, lambda: Option(given))
        if not isinstance(given, Mapping):
            self._problem(path, f"must be an object with label and description, is {quoted(given)}")
            return None
        fields = self._fields(path, given, _OPTION)
        if "label" not in fields:
            self._problem(f"{path}.label", "is required")
        description = self._optional(path, fields, "description", str, "")
        return self._built(path, lambda: Option(fields.get("label", ""), description, fields.get("preview")))

    def _fields(self, path: str, given: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
        """The fields under their proper names; others are dropped with a warning."""
        fields: dict[str, Any] = {}
        for key, value in given.items():
            if key not in names:
                self._mend(f"{path}.{named(key)}", "is not a field: dropped")
            elif names[key] in fields:
                self._problem(f"{path}.{key}", f"is another name of {names[key]}, which is there too")
            else:
                self._mended |= key != names[key]
                fields[names[key]] = value
        return fields

    def _optional(self, path: str, fields: Mapping[str, Any], name: str, kind: type[_T], default: _T) -> _T:
        value = fields.get(name)
        if value is None:
            self._mended = True
            return default
        if not isinstance(value, kind):
            self._problem(f"{path}.{name}", f"must be {_NAMES[kind]}, is {quoted(value)}")
            return default
        return value

    def _default(self, path: str, fields: Mapping[str, Any]) -> str | None:
        value = fields.get("default")
        if isinstance(value, int | float) and not isinstance(value, bool):
            return f"{value}"
        if value is not None and not isinstance(value, str):
            self._problem(f"{path}.default", f"must be text or a number, is {quoted(value)}")
            return None
        return value

    def _bound(self, path: str, fields: Mapping[str, Any], name: str) -> float | None:
        value = fields.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            self._problem(f"{path}.{name}", f"must be a number, is {quoted(value)}")
            return None
        try:
            return None if value is None else float(value)
        except OverflowError:
            self._problem(f"{path}.{name}", "is beyond every number")
            return None

    def _advise(self, path: str, question: Question) -> None:
        if not question.text.rstrip().endswith(("?", "？", "؟")):
            self._warn(f"{path}.question", 'should end with "?"')
        for number, option in enumerate(question.options):
            if option.label.strip().casefold() == "other":
                self._warn(f"{path}.options[{number}].label", '"Other" is always offered by itself: leave it out')

    def _built(self, path: str, build: Callable[[], _T]) -> _T | None:
        """A value, or its own problems seen from here."""
        try:
            return build()
        except InvalidAsk as error:
            self._add(path, error.problems)
            return None

    def _add(self, path: str, problems: Iterable[Problem]) -> None:
        for problem in problems:
            here = problem.under(path) if path else problem
            if here.path not in self._places:  # one problem for each place is enough
                self._places.add(here.path)
                self._problems.append(here)

    def _problem(self, path: str, rule: str) -> None:
        self._add("", [Problem(path, rule)])

    def _warn(self, path: str, what: str) -> None:
        self._warnings.append(f"{path}: {what}")

    def _mend(self, path: str, what: str) -> None:
        self._mended = True
        self._warn(path, what)


_NAMES: dict[type, str] = {str: "text", bool: "true or false"}
