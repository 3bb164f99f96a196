"""Calls out of logs as a decision record in Markdown: what was decided, what was rejected, by whom it was asked. Pure.

Everybody's text is escaped: it stays text in any viewer, and makes no heading, link, image or HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from askdesk.core.model import Answer, Answered, Declined, Option, Permission, Question
from askdesk.core.text import Shown, shown
from askdesk.surfaces.asker import lasted, project_name
from askdesk.surfaces.texts import say
from askdesk.wire.call_record import ending_name
from askdesk.wire.transcript import Call

_SPECIAL = re.compile(r"[\\`*\[\]<>|~$]|(?<![^\W_])_|_(?![^\W_])|&(?=#?\w+;)|:(?=//)|(?<=www)\.")
_FIRST = re.compile(r"^(\d{0,9})(?=[.)])|^(?=[-+=#])")  # what would make a list, a rule or a heading of a line


def heading() -> str:
    return f"# {say('decisions.title')}\n"


def record(call: Call) -> str:
    """One call: a section a question, or the call itself where it breaks the rules."""
    if isinstance(call.body, Permission):
        return "\n".join([*_section(call.problem, call), _fenced(call.body.input), ""])
    match call.ended:
        case Answered(answers) | Declined(so_far=answers) if answers:
            given = answers
        case _:
            given = (None,) * len(call.body.items)
    parts = (_question(call, q, answer) for q, answer in zip(call.body.items, given, strict=True))
    return "\n".join(line for lines in parts for line in lines)


def _section(title: str, call: Call) -> Iterable[str]:
    yield f"## {prose(title)}"
    yield ""
    yield f"{_about(call)}."
    yield ""


def _about(call: Call) -> str:
    asker = call.asker
    who = say("decisions.asked_by", agent=Shown(prose(asker.agent)))
    where = say("log.in_project", project=Shown(prose(project_name(asker)))) if asker.project else ""
    parts = [f"{who} {where}".rstrip()]
    if call.asked:
        parts.append(say("decisions.asked_at", when=_moment(call.asked)))
    if call.answered:
        took = f" ({lasted(call.took)})" if call.took is not None else ""
        parts.append(Shown(f"{say('decisions.answered_at', when=_moment(call.answered))}{took}"))
    return f"{', '.join(parts)}; {_code(str(call.place))}"


def _moment(at: datetime) -> Shown:
    return Shown(f"{at:%Y-%m-%d %H:%M:%S} UTC")


def _question(call: Call, question: Question, answer: Answer | None) -> Iterable[str]:
    yield from _section(question.text, call)
    decided = isinstance(call.ended, Answered) and answer is not None
    chosen = [option for option in question.options if answer is not None and option.label in answer.chosen]
    yield from _decision(call, answer if decided else None)
    if decided:
        yield from (line for option in chosen for line in _detail(option))
    left = [option for option in question.options if not decided or option not in chosen]
    if left:
        yield f"**{say('decisions.rejected' if decided else 'decisions.offered')}**"
        yield ""
        yield from (line for option in left for line in _item(option))
        yield ""


def _decision(call: Call, answer: Answer | None) -> Iterable[str]:
    if answer is None:
        yield f"**{say('decisions.none')}** ({ending_name(call.ended)})"
        said = getattr(call.ended, "message", "") or getattr(call.ended, "text", "")
        yield from ("", _quoted(said)) if said else ()
    else:
        words = [f"{prose(label)}" for label in answer.chosen]
        yield f"**{say('decisions.decision')}: {', '.join(words) or '—'}**"
        yield from ("", _quoted(answer.other)) if answer.other else ()
        yield from ("", f"{say('log.note')}", "", _quoted(answer.note)) if answer.note else ()
    yield ""


def _detail(option: Option) -> Iterable[str]:
    if option.description:
        yield from (prose(option.description), "")
    if option.preview:
        yield from (_fenced(option.preview), "")


def _item(option: Option) -> Iterable[str]:
    about = f": {prose(option.description)}" if option.description else ""
    yield f"- {prose(option.label)}{about}"
    if option.preview:
        yield from ("", *(f"  {line}" for line in _fenced(option.preview).split("\n")), "")


def prose(text: str) -> str:
    """A text on one line, with nothing in it that Markdown reads."""
    return _FIRST.sub(r"\1\\", _SPECIAL.sub(r"\\\g<0>", shown(text).strip()))


def _quoted(text: str) -> str:
    return "\n".join(f"> {prose(line)}".rstrip() for line in shown(text, lines=True).split("\n"))


def _fenced(text: str) -> str:
    body = shown(text, lines=True).rstrip("\n")
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    fence = "`" * max(longest + 1, 3)
    return f"{fence}text\n{body}\n{fence}"


def _code(text: str) -> str:
    return f"`{shown(text).replace('`', chr(39))}`"
