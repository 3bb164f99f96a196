"""What a person put into a form of the page, and what it makes: a draft, or a reply. Pure.

Every field may be missing or forged: what does not fit an ask is InvalidReply, with words for the person.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Allowed, Ask, Denied, Permission, Question, Reply
from askdesk.core.text import Shown, is_blank, shown_json
from askdesk.surfaces.call import same_json
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.form import Form, Given
from askdesk.surfaces.phrases import flaw_words
from askdesk.surfaces.texts import say

Fields: TypeAlias = Mapping[str, Sequence[str]]

OWN, SUGGESTED = "own", "suggested"  # values beside the numbers of options
WORDED = ("message", "another", "redirect", "stop")  # ways to deny, each with words of its own


def one(fields: Fields, name: str) -> str:
    """The last value of a field, with the line breaks that a person typed, not those that browsers send."""
    values = fields.get(name) or ("",)
    return values[-1].replace("\r\n", "\n")


def form_of(ask: Ask, fields: Fields) -> Form:
    """The form as it was filled in."""
    given = tuple(_given(question, number, fields) for number, question in enumerate(ask.questions))
    return Form(ask.questions, given)


def _given(question: Question, number: int, fields: Fields) -> Given:
    values = fields.get(f"q{number}", ())
    own, note = one(fields, f"q{number}.own"), one(fields, f"q{number}.note")
    picked = tuple(sorted({int(value) for value in values if _is_option(question, value)}))
    if question.multi_select:
        return Given(picked, own, not is_blank(own), note)
    picked = picked[-1:]
    taken = SUGGESTED in values and question.default is not None
    # Without a script nothing ticks "Other" for whoever types there: words alone are meant.
    owned = not is_blank(own) and not taken and (OWN in values or not picked)
    return Given(() if owned or taken else picked, own, owned, note, taken)


def _is_option(question: Question, value: str) -> bool:
    return value.isascii() and value.isdigit() and len(value) < 4 and int(value) < len(question.options)


def draft_of(ask: Ask, fields: Fields) -> Draft:
    """What would be a pity to lose."""
    if ask.permission:
        words = tuple((way, text) for way in WORDED if (text := one(fields, way)))
        changed = one(fields, "input")
        return Draft(v=1, words=words, input="" if changed == asked_input(ask.permission) else changed)
    form = form_of(ask, fields)
    return Draft(v=1, given=form.given if form.is_touched else (), message=one(fields, "message"))


def reply_of(ask: Ask, action: str, fields: Fields) -> Reply:
    """The reply that a button makes; InvalidReply where there is no such button on this ask."""
    if ask.permission:
        return _decision(ask.permission, action, fields)
    match action:
        case "send":
            return form_of(ask, fields).reply()
        case "decline":
            return form_of(ask, fields).decline(one(fields, "message"))
        case "decline_stop":
            return form_of(ask, fields).decline(one(fields, "message"), stop=True)
        case _:
            raise InvalidReply(say("web.no_such_button"))


def _decision(permission: Permission, action: str, fields: Fields) -> Reply:
    match action:
        case "allow":
            return Allowed()
        case "run":
            return Allowed(changed_input(permission, fields))
        case "remember":
            return Allowed(remember=_remembered(permission, fields))
        case "deny":
            return Denied()
        case "deny_message":
            return Denied(_words(fields, "message"))
        case "deny_another":
            return Denied.another_way(_words(fields, "another"))
        case "deny_redirect":
            return Denied(redirect=_words(fields, "redirect"))
        case "deny_stop":
            return Denied(one(fields, "stop").strip(), stop=True)
        case _:
            raise InvalidReply(say("web.no_such_button"))


def asked_input(permission: Permission) -> str:
    """The input as a person may change it: laid out, and with nothing in it that hides."""
    return shown_json(json.dumps(permission.value, ensure_ascii=False, indent=2))


def flaws_of(ask: Ask, fields: Fields) -> tuple[Shown, ...]:
    """Which numbers do not fit, in the person's language."""
    form = form_of(ask, fields)
    pairs = zip(form.questions, form.given, strict=True)
    return tuple(flaw_words(question, given.own) for question, given in pairs if given.flaw(question))


def changed_input(permission: Permission, fields: Fields) -> str:
    """The input as it was changed: sound JSON, and not the same as before."""
    text = one(fields, "input")
    Allowed(text)  # raises what is wrong with it
    if same_json(text, permission.input):
        raise InvalidReply(say("web.unchanged"))
    return text


def _remembered(permission: Permission, fields: Fields) -> tuple[str, ...]:
    ticked = fields.get("rule", ())
    rules = tuple(rule for number, rule in enumerate(permission.suggestions) if str(number) in ticked)
    if not rules:
        raise InvalidReply(say("web.tick_first"))
    return rules


def _words(fields: Fields, name: str) -> str:
    words = one(fields, name).strip()
    if is_blank(words):
        raise InvalidReply(say("web.type_first"))
    return words


def allows(action: str) -> bool:
    """Whether a button lets a call run, so that the call must have been seen."""
    return action in ("allow", "run", "remember")
