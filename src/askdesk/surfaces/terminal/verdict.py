"""A permission in plain lines: what each typed line does on the way to a decision. Pure. Only the word yes allows."""

from __future__ import annotations

import json
import re
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core import strict
from askdesk.core.errors import InvalidReply
from askdesk.core.model import Allowed, Denied, Permission, Reply
from askdesk.core.text import Shown, shown
from askdesk.surfaces.call import same_json
from askdesk.surfaces.terminal.dialog import KEYS
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.texts import say


class Verdict(Struct, frozen=True):
    """A call, the changed input where there is one, and what the person should be told now."""

    permission: Permission
    input: str = ""  # JSON text; empty while nothing was changed
    said: Shown = Shown("")


def decide(verdict: Verdict, line: str) -> Verdict | Reply | Edit | None:
    """The next state, the reply, the wish for an editor, or None to leave it open."""
    verdict = replace(verdict, said=Shown(""))
    if KEYS.search(line):
        return replace(verdict, said=say("verdict.keys"))
    try:
        return _decision(verdict, line)
    except InvalidReply as error:
        return replace(verdict, said=say("plain.cannot", why=shown(str(error))))


def _decision(verdict: Verdict, line: str) -> Verdict | Reply | Edit | None:
    word, _, words = line.strip().partition(" ")
    words = words.strip()
    match word.lower(), words:
        case "yes", "":
            return Allowed(verdict.input or None)
        case (("no" | "n"), _):
            return Denied(words)
        case "/instead", words if words:
            return Denied(redirect=words)
        case "/another", words if words:
            return Denied.another_way(words)
        case "/stop", _:
            return Denied(words, stop=True)
        case "/later", "":
            return None
        case _:
            return _change(verdict, word.lower(), words)


def _change(verdict: Verdict, word: str, words: str) -> Verdict | Reply | Edit:
    match word, words:
        case "/set", words if " " in words:
            return _set(verdict, *words.split(" ", 1))
        case "/change", words if words:
            return changed(verdict, words)
        case "/edit", "":
            return Edit(verdict.input or _pretty(verdict.permission.value), ".json")
        case "/undo", "":
            return replace(verdict, input="", said=say("verdict.undone"))
        case "/always", words if re.fullmatch(r"\d{1,4}([\s,]+\d{1,4})*", words, re.ASCII):
            return _always(verdict, [int(number) for number in re.findall(r"\d+", words)])
        case _:
            return replace(verdict, said=say("verdict.help"))


def changed(verdict: Verdict, text: str) -> Verdict:
    """The call with another input: sound JSON, and really another."""
    Allowed(text)  # raises what is wrong with it
    if same_json(text, verdict.permission.input):
        return replace(verdict, input="", said=say("decision.unchanged"))
    return replace(verdict, input=text, said=say("verdict.changed"))


def _set(verdict: Verdict, name: str, words: str) -> Verdict:
    """One field of the input: as text where it was text, else as JSON."""
    value: dict[str, Any] = json.loads(verdict.input or verdict.permission.input)
    if name not in value:
        return replace(verdict, said=say("verdict.no_field", name=shown(name)))
    value[name] = words if isinstance(value[name], str) else _value(words)
    return changed(verdict, strict.dumps(value))


def _value(words: str) -> object:
    try:
        value: object = json.loads(words)
    except (ValueError, RecursionError):
        raise InvalidReply(say("verdict.not_json", words=shown(words))) from None
    return value


def _always(verdict: Verdict, numbers: list[int]) -> Verdict | Reply:
    rules = verdict.permission.suggestions
    if not rules:
        return replace(verdict, said=say("verdict.no_rules"))
    if wrong := [number for number in numbers if not 1 <= number <= len(rules)]:
        return replace(verdict, said=say("plain.no_number", number=wrong[0], last=len(rules)))
    return Allowed(verdict.input or None, tuple(rules[number - 1] for number in sorted(set(numbers))))


def _pretty(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
