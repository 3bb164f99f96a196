"""An ask as requests to an ACP client, and what came back as a reply. Pure: nothing is sent here.

Whatever is not an explicit yes to something that was offered is none: an unknown outcome or option is no reply.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Literal, NamedTuple, TypeAlias

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Allowed, Answer, Ask, Denied, Permission, Question, Questions, Reply
from askdesk.core.text import Shown, is_blank, shown
from askdesk.wire import tool
from askdesk.wire.acp_tool import Json, permission_info, text_content
from askdesk.wire.form import Form, keys

Shape: TypeAlias = Literal["safe", "exact"]

ASK_META = "askdesk/ask"  # the whole ask, for clients that want more of it than a form holds
CANCELLED_QUESTION = "User cancelled the question"
ALLOW, ALWAYS, REJECT = "allow", "allow_always", "reject"
OTHER, SKIP, DONE, CANCEL = "__other__", "__skip__", "__done__", "__cancel__"
_CONTROLS = (OTHER, SKIP, DONE, CANCEL)
_LONGEST_NAME = 200
_AIR_LEGACY = "_askUserQuestionCustomAnswer"  # where released versions of JetBrains' AIR look


class Words(NamedTuple):
    """Our own words in what an editor shows. "Other (type custom answer)" is none of them: clients know it as it is."""

    allow: Shown = Shown("Allow")
    always: Shown = Shown("Always allow {rules} ({kept})")
    folders: Shown = Shown("Allow, and open {folders} to it ({kept})")
    mode: Shown = Shown("Allow, and switch to the mode {mode} ({kept})")
    rule: Shown = Shown("Allow, and keep this rule: {rule}")
    every: Shown = Shown("every call of {tool}")
    session: Shown = Shown("this session")
    settings: Shown = Shown("kept in {place}")
    reject: Shown = Shown("Reject")
    skip: Shown = Shown("Skip this question")
    done: Shown = Shown("Done")
    cancel: Shown = Shown("Cancel")
    waits: Shown = Shown("This waits for an answer at the desk: {where}")
    settled: Shown = Shown("Settled at the desk by {by} ({surface}).")


ENGLISH = Words()


class Place(NamedTuple):
    """Where an ask stands: a session, and a tool call of it that the client knows."""

    session: str
    call: str = ""

    @property
    def written(self) -> Json:
        return {"sessionId": self.session, **({"toolCallId": self.call} if self.call else {})}


def form_request(place: Place, ask: Ask, form: Form, *, air: bool = False) -> Json:
    """The parameters of `elicitation/create` for a form. `air` is whether JetBrains' AIR shows it."""
    return {
        "mode": "form",
        **place.written,
        "message": form.message,
        "requestedSchema": _for_air(form.schema) if air else form.schema,
        "_meta": _ask_meta(ask),
    }


def url_request(place: Place, ask: Ask, message: str, url: str) -> Json:
    """The parameters of `elicitation/create` for a page."""
    return {
        "mode": "url",
        **place.written,
        "message": message,
        "url": url,
        "elicitationId": ask.id,
        "_meta": _ask_meta(ask),
    }


def _ask_meta(ask: Ask) -> Json:
    questions = tool.written(ask.body) if isinstance(ask.body, Questions) else []
    return {ASK_META: {"id": ask.id, "questions": questions}}


def _for_air(schema: Json) -> Json:
    """With the marks by which AIR knows which field belongs to which question."""
    marked = deepcopy(schema)
    for name, field in marked["properties"].items():
        if name.endswith("_custom"):
            mark = {"questionId": name.removesuffix("_custom"), "isCustomAnswer": True}
            field["_meta"] = {_AIR_LEGACY: mark, "jetbrains": {"air": {"version": 1, "customAnswer": mark}}}
    return marked


def elicited(result: object) -> tuple[str, Mapping[str, object]]:
    """What a client says came of an elicitation: the action and the content. No action at all is "" """
    match result:
        case {"action": "accept", "content": dict(content)}:
            return "accept", content
        case {"action": str(action)}:
            return action, {}
        case _:
            return "", {}


class Picked(NamedTuple):
    """What a client says came of a permission request. Where no option was picked and the turn goes on, nothing did."""

    option: str = ""
    cancelled: bool = False
    custom_text: str = ""
    selected: tuple[str, ...] = ()


def picked(result: object) -> Picked:
    match result:
        case {"outcome": {"outcome": "cancelled"}}:
            return Picked(cancelled=True)
        case {"outcome": {"outcome": "selected", "optionId": str(option), **others}}:
            meta = others.get("_meta")
            found = meta if isinstance(meta, dict) else {}
            text, many = found.get("customText"), found.get("selected")
            return Picked(
                option,
                custom_text=text if isinstance(text, str) else "",
                selected=tuple(each for each in many if isinstance(each, str)) if isinstance(many, list) else (),
            )
        case _:
            return Picked()


def permission_request(place: Place, permission: Permission, words: Words = ENGLISH) -> Json:
    """The parameters of `session/request_permission` for a call of a tool: all of it, made from the text that binds."""
    rules = _rules(permission, words)
    always = [{"optionId": number, "name": name, "kind": "allow_always"} for number, (name, _) in rules.items()]
    return {
        "sessionId": place.session,
        "toolCall": {
            "toolCallId": place.call,
            **permission_info(permission).written,
            "status": "pending",
            "rawInput": permission.value,
        },
        "options": [
            {"optionId": ALLOW, "name": words.allow, "kind": "allow_once"},
            *always,
            {"optionId": REJECT, "name": words.reject, "kind": "reject_once"},
        ],
    }


def permission_reply(permission: Permission, result: object, words: Words = ENGLISH) -> Reply | None:
    """What a client answered; None where that is nothing that was offered. A cancelled turn stops the agent."""
    found, rules = picked(result), _rules(permission, words)
    if found.cancelled:
        return Denied(stop=True)
    if found.option in rules:
        return Allowed(remember=(rules[found.option][1],))
    if found.option == ALLOW:
        return Allowed()
    return Denied() if found.option == REJECT else None


def _rules(permission: Permission, words: Words) -> dict[str, tuple[Shown, str]]:
    """What may be allowed for longer than this once: names and rules. A rule too long to be read is left out."""
    named = [(_rule_name(rule, words), rule) for rule in permission.suggestions]
    numbered = {f"{ALWAYS}_{number}": pair for number, pair in enumerate(named)}
    return {number: pair for number, pair in numbered.items() if len(pair[0]) <= _LONGEST_NAME}


def _rule_name(rule: str, words: Words) -> Shown:
    """A rule that Claude Code proposes to keep, in the notation of its settings."""
    value: Json = json.loads(rule)
    place = value.get("destination")
    kept = words.session if place == "session" else words.settings.format(place=place)
    match value:
        case {"type": "addRules", "behavior": "allow", "rules": [*rules]}:
            name = words.always.format(rules=", ".join(_rule(each, words) for each in rules), kept=kept)
        case {"type": "addDirectories", "directories": [*folders]}:
            name = words.folders.format(folders=", ".join(str(each) for each in folders), kept=kept)
        case {"type": "setMode", "mode": str(mode)}:
            name = words.mode.format(mode=mode, kept=kept)
        case _:
            name = words.rule.format(rule=rule)
    return shown(name, exact=True)


def _rule(rule: object, words: Words) -> str:
    match rule:
        case {"toolName": str(name), "ruleContent": str(pattern)}:
            return f"{name}({pattern})"
        case {"toolName": str(name)}:
            return words.every.format(tool=name)
        case _:
            return json.dumps(rule)


Heard: TypeAlias = Literal["more", "done", "cancelled", "nothing"]


class QuestionByPermission:
    """One question that is asked with permission requests: one, or of a multi-select as many as it takes.

    `safe` puts a way to skip it before everything else and one to cancel behind, so that who approves or rejects
    whatever comes has answered nothing. `exact` has neither.
    """

    def __init__(self, question: Question, shape: Shape, words: Words = ENGLISH) -> None:
        self._question, self._shape, self._words = question, shape, words
        self._chosen: list[str] = []
        self._own = self._note = ""

    @property
    def answer(self) -> Answer | None:
        """What was picked so far; None is a blank."""
        if not self._chosen and not self._own:
            return None
        return self._question.fit(Answer(tuple(self._chosen), self._own, self._note))

    def request(self, place: Place) -> Json:
        """The parameters of the next `session/request_permission`."""
        question = self._question
        call: Json = {
            "toolCallId": place.call,
            "rawInput": {"question": question.text, "header": question.header},
            "title": shown(question.header) or shown(question.text),
        }
        if self._chosen or self._own:
            call["rawInput"]["selected"] = [*self._chosen, *filter(None, [self._own])]
        if self._shape == "safe":
            call["content"] = [text_content(shown(question.text, lines=True))]
        meta = {"claudeCode": {"questionType": "askUserQuestion", "multiSelect": question.multi_select}}
        return {"options": list(self._options()), "sessionId": place.session, "toolCall": call, "_meta": meta}

    def _options(self) -> Iterator[Json]:
        begun = bool(self._chosen or self._own)
        if begun:
            yield _option(self._words.done, DONE)
        elif self._shape == "safe":
            yield _option(self._words.skip, SKIP)
        for option_id, label in self._ids().items():
            if label not in self._chosen:
                option = next(each for each in self._question.options if each.label == label)
                about = f" - {shown(option.description)}" if option.description else ""
                yield _option(f"{shown(label)}{about}", option_id)
        yield _option("Other (type custom answer)", OTHER)
        if self._shape == "safe":
            yield _option(self._words.cancel, CANCEL, "reject_once")

    def _ids(self) -> dict[str, str]:
        """Each label by its id: itself, but for one that could be taken for an entry of ours or would not be seen."""
        labels = [option.label for option in self._question.options]
        plain = [label for label in labels if shown(label) == label and not label.startswith("__")]
        return {label if label in plain else f"__option_{n}__": label for n, label in enumerate(labels)}

    def hear(self, result: object) -> Heard:
        """Take what came back of the last request."""
        found, offered = picked(result), {option["optionId"] for option in self._options()}
        if found.cancelled or (found.option == CANCEL and CANCEL in offered):
            return "cancelled"
        is_end = found.option in (SKIP, DONE) and found.option in offered
        says = bool(found.selected) or not is_blank(found.custom_text)
        if is_end and not says:
            return "done"
        if is_end and found.option == SKIP:  # and something said: nobody knows which of the two was meant
            return "more"
        try:
            heard = self._heard(found, offered)
        except InvalidReply:  # such as words where a number is asked for
            return "more"
        return "done" if is_end else heard

    def _heard(self, found: Picked, offered: set[str]) -> Heard:
        texts = found.selected or (found.option,)
        labels = [label for text in texts for label in self._labels(text)]
        if found.option not in offered and not labels:
            return "nothing"
        others = (text for text in found.selected if text not in _CONTROLS and not self._labels(text))
        own = [self._own, *others, found.custom_text]
        words = ", ".join(text for text in own if not is_blank(text))
        if found.option == OTHER and not labels and words == self._own:
            return "done"  # something else, and nothing to say
        chosen = [*self._chosen, *(label for label in labels if label not in self._chosen)]
        note = ""
        if not self._question.multi_select and chosen:  # one thing may be said, so the rest is said beside it
            words, note = "", words
        self._question.fit(Answer(tuple(chosen), words, note))
        self._chosen, self._own, self._note = chosen, words, note
        is_whole = not self._question.multi_select or found.selected or len(labels) > 1
        return "done" if is_whole or len(chosen) == len(self._question.options) else "more"

    def _labels(self, text: str) -> tuple[str, ...]:
        """The labels that an id names; of a multi-select it may be several, joined as answers are."""
        if text in (known := self._ids()):
            return (known[text],)
        if text in _CONTROLS:  # also where an option has such a label: it has another id
            return ()
        return self._question.read(text).chosen if self._question.multi_select else ()


def content(answers: Sequence[Answer | None]) -> Json:
    """What was answered so far, as the content of a form that has it."""
    filled: Json = {}
    for key, answer in zip(keys(len(answers)), answers, strict=True):
        if answer and answer.chosen:
            filled[key] = list(answer.chosen) if answer.multi_select else answer.chosen[0]
        if answer and answer.other:
            filled[f"{key}_custom"] = answer.other
        if answer and answer.note:
            filled[f"{key}_note"] = answer.note
    return filled


def _option(name: str, option_id: str, kind: str = "allow_once") -> Json:
    return {"kind": kind, "name": name, "optionId": option_id}
