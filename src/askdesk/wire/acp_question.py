"""Questions that agents put into ACP's permission requests, and answers in the place where each of them looks.

one question, its options as those of the request    _meta.claudeCode.questionType; ids like ask:0:1; more than one
                                                      way to say yes
all questions beside the request                      _meta.askUserQuestion.questions; toolCall._meta.qwenQuestions
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from askdesk.core.limits import OPEN
from askdesk.core.model import Answer, Answered, Declined, Option, Outcome, Question, Questions
from askdesk.core.text import is_blank
from askdesk.wire import tool
from askdesk.wire.acp_ask import CANCEL, DONE, OTHER, SKIP
from askdesk.wire.acp_permission import (
    META,
    Asked,
    Call,
    Offered,
    Replied,
    call_input,
    cancelled,
    offered,
    refusal,
    selected,
)
from askdesk.wire.words import quote

_SAYS = "The agent says: "
_CONTROLS = (OTHER, SKIP, CANCEL, DONE)
_NUMBERED = re.compile(r"ask:(\d{1,3}):(\d{1,3})")


def asked(params: Mapping[str, Any], call: Mapping[str, Any], folder: str) -> Asked:
    """What people are asked: questions where the agent put some into the request, else whether the call may run.

    `call` is all that is known of the tool call. InvalidAsk where the questions break a rule.
    """
    options = offered(params["options"])
    if found := _beside(params, call):
        return _Several(tool.parse({"questions": found.questions}, OPEN), options, found.is_numbered)
    if _is_marked(params):
        return _marked(params, call, options)
    answers = [option for option in options if option.kind == "allow_once" and option.id not in _CONTROLS]
    if answers and all(_NUMBERED.fullmatch(option.id) for option in answers):
        return _numbered(call, answers, options)
    if len(answers) > 1:  # a plain yes would be one of them, and nobody could tell which
        yeses = [option for option in options if option.kind.startswith("allow")]
        return _Single(_about_call(call), "", [(option, option.name, "") for option in yeses], options)
    return Call(call, options, folder)


class _Beside(NamedTuple):
    """Questions that stand beside the options of a request; answers go back by number or by question."""

    questions: list[Any]
    is_numbered: bool


def _beside(params: Mapping[str, Any], call: Mapping[str, Any]) -> _Beside | None:
    match params.get("_meta"), call:
        case {"askUserQuestion": {"questions": [_, *_] as questions}}, _:
            return _Beside(questions, is_numbered=False)
        case _, {"_meta": {"qwenQuestions": [_, *_] as questions}}:
            return _Beside(questions, is_numbered=True)
        case _, {"_meta": {"qwenInteractionKind": "user_question"}, "rawInput": {"questions": [_, *_] as questions}}:
            return _Beside(questions, is_numbered=True)
        case _:
            return None


class _Several:
    """All questions at once; the request's own options only say whether they were answered."""

    def __init__(self, questions: Questions, options: Sequence[Offered], is_numbered: bool) -> None:
        self.body, self._options, self._is_numbered = questions, options, is_numbered

    def reply(self, outcome: Outcome) -> Replied:
        if not isinstance(outcome, Answered):
            return _unanswered(self.body, outcome, self._options)
        sent = next((option for option in self._options if option.kind == "allow_once"), None)
        if sent is None:
            return _nowhere(self.body, outcome, self._options)
        result = tool.result(self.body, outcome)
        if self._is_numbered:
            numbered = {str(n): _words(answer) for n, answer in enumerate(outcome.answers) if answer}
            return Replied({**selected(sent.id), "answers": numbered}, unsaid=_notes(self.body, outcome))
        given: dict[str, Any] = {name: value for name, value in result.items() if name != "questions"}
        return Replied({**selected(sent.id, given), "_meta": given})


class _Single:
    """One question, whose options are those of the request: `labels` has each with its label and description."""

    def __init__(
        self,
        text: str,
        header: str,
        labels: Sequence[tuple[Offered, str, str]],
        options: Sequence[Offered],
        *,
        multi_select: bool = False,
    ) -> None:
        self._options = options
        self._ids = {label: option.id for option, label, _ in labels}
        answers = [Option(label, description) for _, label, description in labels]
        self.body = Questions([Question(text, answers, header=header, multi_select=multi_select)])

    def reply(self, outcome: Outcome) -> Replied:
        if not isinstance(outcome, Answered):
            return _unanswered(self.body, outcome, self._options)
        (answer,) = outcome.answers
        assert answer is not None  # noqa: S101 - blank everywhere is not an answer
        own = answer.other if answer.chosen else _words(answer)
        if own and OTHER not in {option.id for option in self._options}:
            return _nowhere(self.body, outcome, self._options)
        ids = [self._ids[label] for label in answer.chosen]
        return Replied(self._response(answer, ids, own), unsaid=_notes(self.body, outcome))

    def _response(self, answer: Answer, ids: list[str], own: str) -> dict[str, Any]:
        many = [*ids, *filter(None, [own])]
        if not self.body.items[0].multi_select:
            return selected(ids[0]) if ids else selected(OTHER, {"customText": own})
        if self._is_collected:
            return selected(ids[0] if ids else OTHER, {"selected": many})
        if len(ids) == 1 and not own:
            return selected(ids[0], {"selected": ids})
        return selected(OTHER, {"customText": _words(answer)})  # who takes one choice alone has all of them in its text

    @property
    def _is_collected(self) -> bool:
        """Whether the agent reads what was selected: it is one that collects choices, or has no place for a text."""
        known = {option.id for option in self._options}
        return bool(known & {SKIP, DONE}) or OTHER not in known


def _is_marked(params: Mapping[str, Any]) -> bool:
    match params.get("_meta"):
        case {"claudeCode": {"questionType": "askUserQuestion"}}:
            return True
        case _:
            return False


def _marked(params: Mapping[str, Any], call: Mapping[str, Any], options: Sequence[Offered]) -> _Single:
    """`Label - Description` as the name of an option, the label as its id."""
    raw = call.get("rawInput")
    given = raw if isinstance(raw, Mapping) else {}
    title = _text(call.get("title"))
    text, header = _text(given.get("question")), _text(given.get("header"))
    labels = [
        (option, *_parted(option))
        for option in options
        if option.kind.startswith("allow") and option.id not in _CONTROLS
    ]
    many = params["_meta"]["claudeCode"].get("multiSelect") is True
    return _Single(text or title, header or (title if text else ""), labels, options, multi_select=many)


def _parted(option: Offered) -> tuple[str, str]:
    if option.name.startswith(f"{option.id} - "):
        return option.id, option.name[len(option.id) + 3 :]
    return option.name, ""


def _numbered(call: Mapping[str, Any], answers: Sequence[Offered], options: Sequence[Offered]) -> _Single:
    """Ids that count the questions of the tool's input and their options; the input knows more of both."""
    number = int(answers[0].id.split(":")[1])
    found = _at(call.get("rawInput"), number)
    labels = []
    for option in answers:
        known = _at({"questions": found.get("options")}, int(option.id.split(":")[2]))
        labels.append((option, _text(known.get("label")) or option.name, _text(known.get("description"))))
    text = _text(found.get("question")) or _text(call.get("title"))
    return _Single(text, _text(found.get("header")), labels, options)


def _at(given: Any, number: int) -> Mapping[str, Any]:
    match given:
        case {"questions": [*items]} if number < len(items) and isinstance(items[number], Mapping):
            found: Mapping[str, Any] = items[number]
            return found
        case _:
            return {}


def _about_call(call: Mapping[str, Any]) -> str:
    """What is asked, with all that is known of the call: nobody says yes to something they have not seen."""
    title, given = _text(call.get("title")), call_input(call)
    seen = json.dumps(given, ensure_ascii=False, indent=2) if given.keys() - {"title"} else ""
    said = f"{_SAYS}{title}" if title else ""
    return "\n\n".join(filter(None, (said, seen))) or "Which one?"


def _text(value: object) -> str:
    return value if isinstance(value, str) and not is_blank(value) else ""


def _words(answer: Answer) -> str:
    return answer.text or answer.note


def _unanswered(questions: Questions, outcome: Outcome, options: Sequence[Offered]) -> Replied:
    words = tool.text(questions, outcome)
    if isinstance(outcome, Declined) and outcome.stop:
        return Replied({**cancelled(), "_meta": {META: {"message": words}}}, stop=True)
    is_said = isinstance(outcome, Declined)
    made = refusal(options, words, said=is_said)
    return made._replace(unsaid=words) if isinstance(outcome, Declined) and outcome.message else made


def _nowhere(questions: Questions, outcome: Answered, options: Sequence[Offered]) -> Replied:
    """An answer that the request has no option for: none is chosen, and the agent is told afterwards."""
    words = tool.text(questions, outcome)
    return refusal(options, words)._replace(unsaid=words)


def _notes(questions: Questions, outcome: Answered) -> str:
    return "\n".join(_each_note(questions, outcome))


def _each_note(questions: Questions, outcome: Answered) -> Iterator[str]:
    for question, answer in zip(questions.items, outcome.answers, strict=True):
        if answer and answer.note and answer.text:
            yield f"To {quote(question.text)} the person answered {quote(answer.text)}, and noted: {quote(answer.note)}"
