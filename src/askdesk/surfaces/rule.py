"""A rule that an agent host proposes to remember, in plain words: what it changes, where, and how long it is kept.

Knows Claude's PermissionUpdate, and options of ACP that an agent remembers. What it has no words for it shows as JSON.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from askdesk.core.text import Shown
from askdesk.surfaces.exact import behind_margin, exact_name, exactly, field_lines
from askdesk.surfaces.spans import Line, Span, line
from askdesk.surfaces.texts import say

_PLACES = ("session", "localSettings", "projectSettings", "userSettings", "cliArg")
_MODES = ("default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions")
_UNGUARDED_MODES = ("auto", "bypassPermissions")


def rule_lines(rule: str) -> tuple[Line, ...]:
    """What comes of keeping a rule. The first line is a summary, where our words come first and the agent's last."""
    value: dict[str, Any] = json.loads(rule)
    words = list(_in_words(value))
    if words and _is_understood(value):
        return tuple(words)
    return (*(words or [_warning("rule.unknown")]), _warning("rule.exactly"), *behind_margin(field_lines(value)))


def _in_words(value: dict[str, Any]) -> Iterator[Line]:
    match value:
        case {
            "type": "addRules" | "replaceRules" | "removeRules" as kind,
            "behavior": "allow" | "deny" | "ask" as behavior,
            "rules": [_, *_] as rules,
        } if all(_is_rule(rule) for rule in rules):
            yield from _about_rules(kind, behavior, rules, _where(value))
        case {"type": "setMode", "mode": str(mode)} if mode in _MODES:
            yield from _about_mode(mode, _where(value))
        case {"type": "addDirectories" | "removeDirectories" as kind, "directories": [_, *_] as folders} if all(
            isinstance(folder, str) for folder in folders
        ):
            yield from _listed(f"rule.{kind}", "rule.folders", [exactly(f, "code") for f in folders], _where(value))
        case {"optionId": str(), "name": str(name), "kind": "allow_always"}:
            yield line(Span(say("rule.option"), "warning"), Shown(" "), *exactly(name, "code"))
        case _:
            return


def _about_rules(kind: str, behavior: str, rules: list[dict[str, Any]], where: Shown) -> Iterator[Line]:
    lessens = kind != "addRules" and behavior != "allow"
    whole = [rule["toolName"] for rule in rules if kind != "removeRules" and behavior == "allow" and _is_whole(rule)]
    items = [_rule(rule) for rule in rules]
    yield from _listed(f"rule.{kind}_{behavior}", "rule.rules", items, where, alarming=lessens or bool(whole))
    for tool in dict.fromkeys(whole):
        yield line(Span(say("rule.whole_tool", tool=exact_name(tool)), "warning"))
    if lessens:
        yield _warning("rule.lessens")


def _about_mode(mode: str, where: Shown) -> Iterator[Line]:
    alarming = mode in _UNGUARDED_MODES
    yield from _listed(f"rule.setMode_{mode}", "", [(Span(Shown(mode), "code"),)], where, alarming=alarming)
    if alarming:
        yield _warning(f"rule.why_{mode}")


def _listed(what: str, count: str, items: Sequence[Line], where: Shown, *, alarming: bool = False) -> Iterator[Line]:
    """A summary with the item in it; of several items it has the count, and they follow."""
    words = Span(say("rule.summary", what=say(what), where=where), "warning" if alarming else "")
    if len(items) == 1:
        yield line(words, Shown(" "), *items[0])
    else:
        yield line(words, Shown(" "), say(count, count=len(items)))
        yield from behind_margin(items)


def _where(value: dict[str, Any]) -> Shown:
    place = value.get("destination")
    return say(f"rule.{place}" if place in _PLACES else "rule.somewhere")


def _rule(rule: dict[str, Any]) -> Line:
    """In the notation of Claude's settings: Tool(pattern), or the tool alone."""
    tool = Span(exact_name(rule["toolName"]), "code")
    pattern = rule.get("ruleContent")
    return (tool,) if pattern is None else (tool, Span(Shown("(")), *exactly(pattern, "code"), Span(Shown(")")))


def _is_rule(rule: object) -> bool:
    if not isinstance(rule, dict):
        return False
    return isinstance(rule.get("toolName"), str) and isinstance(rule.get("ruleContent"), str | None)


def _is_whole(rule: dict[str, Any]) -> bool:
    """Whether it holds for every call of the tool: it has no pattern, or one that everything fits."""
    return (rule.get("ruleContent") or "").strip("*: ") in ("", "//")


def _is_understood(value: dict[str, Any]) -> bool:
    """Whether the words say all there is."""
    match value:
        case {"optionId": _, "name": _, "kind": _, **others}:
            return not others
        case {"type": "addRules" | "replaceRules" | "removeRules", "rules": [*rules], "behavior": _, **others}:
            known = all(_is_understood_rule(rule) for rule in rules)
        case {"type": "setMode", "mode": _, **others}:
            known = True
        case {"type": "addDirectories" | "removeDirectories", "directories": _, **others}:
            known = True
        case _:
            return False
    return known and others.keys() == {"destination"} and others["destination"] in _PLACES


def _is_understood_rule(rule: dict[str, Any]) -> bool:
    return rule.keys() <= {"toolName", "ruleContent"} and None not in rule.values()


def _warning(key: str) -> Line:
    return line(Span(say(key), "warning"))
