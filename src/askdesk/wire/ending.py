"""How an AskUserQuestion call in a log ended, from its tool result: the structure where one was kept, else the text.

Claude Code writes fixed sentences around what people said. What is not among them, or cannot be taken apart for
certain, is kept whole and never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias

from msgspec import Struct

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Answer, Answered, Declined, Expired, Question, Questions, Withdrawn
from askdesk.core.text import is_blank
from askdesk.wire.messages import decoded


class Interrupted(Struct, frozen=True):
    """The person stopped the agent instead of answering."""


class Unanswered(Struct, frozen=True):
    """Nobody answered: the log ends before, or says so."""

    message: str = ""


class Refused(Struct, frozen=True):
    """The call failed, and no person is known to have said anything."""

    message: str = ""


class Told(Struct, frozen=True):
    """There is a text that cannot be taken apart into answers, and that need not be a person's."""

    text: str


Ending: TypeAlias = Answered | Declined | Expired | Withdrawn | Interrupted | Unanswered | Refused | Told

_ANSWERED = re.compile(
    r"(?:Your questions have been answered|The user answered|User has answered your questions): (?P<said>.*)\. "
    r"(?:You can now continue with (?:these|the user's) answers in mind\.|Read the answers carefully — .*)",
    re.DOTALL,
)
_FOLLOW_UP = re.compile(
    r"The user asked for more questions before you proceed\.(?: So far they answered: (?P<said>.*)\.)? Call AskUser.*",
    re.DOTALL,
)
_MORE = "The user asked for more questions before you proceed."
_CLARIFY = "The user wants to clarify these questions."
_NOBODY = ("The user did not answer the questions.", "The app reported that nobody answered this question")
_RESPONDED = "The user responded: "
_TIMED_OUT = ("No response after ", "EXPIRED: ")
_REJECTED = "The user doesn't want to proceed with this tool use."
_SAID = "the user said:\n"
_INTERRUPTED = "[Request interrupted by user"
_BY_RULE = "Permission to use AskUserQuestion has been denied"  # which a record calls a denial too
_FAILED = "<tool_use_error>"
_ERROR = re.compile(r"<tool_use_error>(.*?)(?:</tool_use_error>)?\s*", re.DOTALL)
_HOOK = re.compile(r"(?:Error: )?PreToolUse:AskUserQuestion hook error: ")
_OUR_ANSWERS = ("ANSWERED", "PARTLY ANSWERED")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_OUR_LINE = re.compile(rf"- (?P<question>{_QUOTED.pattern}) = (?P<said>.*)")
_OUR_NOTE = re.compile(rf"(?:{_QUOTED.pattern}|[^\"])*; note: {_QUOTED.pattern}")
_NOTES_ONLY = ("(notes only)", "(no option selected)")
_PREVIEW, _NOTES = " selected preview:\n", " notes: "


class Result(NamedTuple):
    """A tool result as a log has it."""

    content: object
    is_error: bool = False
    structure: object = None  # what the host kept beside the text
    is_denied: bool = False


def ending(questions: Questions | None, result: Result) -> Ending:
    text = text_of(result.content)
    structure = result.structure if isinstance(result.structure, dict) else _object(text)
    if structure is not None and not result.is_error and (found := _of_structure(questions, structure)):
        return found
    if result.is_error:
        return _of_error(questions, text, result.is_denied)
    return _of_text(questions, text)


def text_of(content: object) -> str:
    """The text of a tool result, whether it is one or blocks of it."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    texts = (block.get("text") if isinstance(block, dict) else block for block in blocks)
    return "".join(text for text in texts if isinstance(text, str))


def _object(text: str) -> dict[str, Any] | None:
    """The result of a tool that answers in JSON."""
    if not text.startswith("{") or '"answers"' not in text:
        return None
    try:
        value = decoded(text.encode("utf-8", "replace"))
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _of_structure(questions: Questions | None, structure: Mapping[str, Any]) -> Ending | None:
    if structure.get("afkTimeoutMs") is not None:
        return Expired()
    answers = structure.get("answers")
    if questions is None or not isinstance(answers, dict):
        return None
    annotations = structure.get("annotations")
    given = _answers(questions, answers, annotations if isinstance(annotations, dict) else {})
    response = structure.get("response")
    if isinstance(response, str) and not is_blank(response):
        return Declined(_clean(response), given)
    if structure.get("followUp"):
        return Declined(_MORE, given)
    return Answered(given) if any(given) else Unanswered(_NOBODY[0])


def _answers(
    questions: Questions, answers: Mapping[str, object], annotations: Mapping[str, object]
) -> tuple[Answer | None, ...]:
    given: list[Answer | None] = []
    for question in questions.items:
        annotation = annotations.get(question.text)
        note = annotation.get("notes") if isinstance(annotation, dict) else ""
        given.append(answer_of(question, answers.get(question.text), note if isinstance(note, str) else ""))
    return tuple(given)


def answer_of(question: Question, value: object, note: str = "") -> Answer | None:
    """What was said to a question: labels where it reads as labels, else own words; None where nothing was."""
    note = _clean(note)
    if isinstance(value, list):
        labels = {option.label for option in question.options}
        texts = [_clean(item) for item in value if isinstance(item, str)]
        chosen, other = [t for t in texts if t in labels], ", ".join(t for t in texts if t not in labels)
        return _fitted(question, chosen, other, note)
    text = _clean(value) if isinstance(value, str) and not (note and value in _NOTES_ONLY) else ""
    return _fitted(question, *_split(question, text), note)


def _split(question: Question, text: str) -> tuple[tuple[str, ...], str]:
    """Labels, and own words behind them: only where the two together read as the text did."""
    if is_blank(text):
        return (), ""
    try:
        read = question.read(text)
    except InvalidReply:
        return (), text
    if read.chosen or not question.multi_select:
        return read.chosen, read.other
    tokens = {Answer((option.label,), multi_select=True).text: option.label for option in question.options}
    chosen, own = [], text
    while head := next((token for token in tokens if own.startswith(f"{token}, ")), None):
        chosen.append(tokens.pop(head))
        own = own[len(head) + 2 :]
    for words in (own, _unquoted(own)):
        if chosen and not is_blank(words) and Answer(chosen, words, multi_select=True).text == text:
            return tuple(chosen), words
    return (), text


def _fitted(question: Question, chosen: Iterable[str], other: str, note: str) -> Answer | None:
    try:
        return question.fit(Answer(chosen, other, note))
    except InvalidReply:  # nothing at all, or more than the question takes
        words = ", ".join([*chosen, other]) if other else ", ".join(chosen)
        return None if is_blank(words + note) else Answer(other=words, note=note)


def _of_error(questions: Questions | None, text: str, is_denied: bool) -> Ending:
    if wrapped := _ERROR.fullmatch(text):
        return Refused(_clean(wrapped[1]))
    if text.startswith(_REJECTED):
        said = text.partition(_SAID)[2]
        return _declined(questions, said) if said else Interrupted()
    if text.startswith(_INTERRUPTED):
        return Interrupted()
    if text.startswith(_NOBODY):
        return Unanswered(_clean(text))
    if text.startswith(_TIMED_OUT):
        return Expired()
    if ours := _of_ours(questions, _HOOK.sub("", text, count=1)):
        return ours
    plain = text.removeprefix("Error: ")
    if not is_denied or plain.startswith(_BY_RULE):
        return Refused(_clean(plain))
    return Declined(_clean(_HOOK.sub("", text, count=1)))


def _declined(questions: Questions | None, said: str) -> Declined:
    """A person's own words, or that they would rather talk about the questions first."""
    if not said.startswith(_CLARIFY):
        return Declined(_clean(said))
    so_far = [_so_far(question, said) for question in questions.items] if questions else []
    return Declined(_CLARIFY, tuple(so_far))


def _so_far(question: Question, said: str) -> Answer | None:
    before = f'\n- "{question.text}"\n  Answer: '
    if said.count(before) != 1:
        return None
    return answer_of(question, said.partition(before)[2].partition("\n- ")[0])


def _of_text(questions: Questions | None, text: str) -> Ending:
    if text.startswith(_NOBODY) or is_blank(text):
        return Unanswered(_clean(text))
    if text.startswith(_TIMED_OUT):
        return Expired()
    if text.startswith(_INTERRUPTED):
        return Interrupted()
    if text.startswith(_RESPONDED):
        return Declined(_clean(text.removeprefix(_RESPONDED)))
    if text.startswith((_REJECTED, _FAILED)):  # a log that does not keep what was an error
        return _of_error(questions, text, is_denied=False)
    if ours := _of_ours(questions, text):
        return ours
    if more := _FOLLOW_UP.fullmatch(text):
        return Declined(_MORE, (questions and read_answers(questions, more["said"] or "")) or ())
    answered = _ANSWERED.fullmatch(text)
    said = answered["said"] if answered else text
    given = read_answers(questions, said) if questions and answered else None
    if given is not None:
        return Answered(given)
    if questions and len(questions.items) == 1 and not answered and (choice := _choice(questions.items[0], said)):
        return Answered((choice,))
    return Told(_clean(said))


def _choice(question: Question, text: str) -> Answer | None:
    """A bare text that is a choice among the options and nothing else: own words might as well be a host's."""
    answer = answer_of(question, text)
    return answer if answer and answer.chosen and not answer.other else None


def _of_ours(questions: Questions | None, text: str) -> Ending | None:
    """What our own doors tell a model, with everybody's words in JSON quotes."""
    head, *lines = text.split("\n")
    if text.startswith("WITHDRAWN: "):
        return Withdrawn(_unquoted(head.partition("Reason: ")[2]))
    if head.startswith("DECLINED: "):
        return Declined(_unquoted(head.partition("They said: ")[2]), _ours(questions, lines))
    if head.startswith(_OUR_ANSWERS) and any(given := _ours(questions, lines)):
        return Answered(given)
    return None


def _ours(questions: Questions | None, lines: Iterable[str]) -> tuple[Answer | None, ...]:
    said = {_unquoted(found["question"]): found["said"] for line in lines if (found := _OUR_LINE.fullmatch(line))}
    return tuple(
        _our_answer(question, said.get(question.text, "")) for question in (questions.items if questions else ())
    )


def _our_answer(question: Question, said: str) -> Answer | None:
    choice, _, note = said.partition("; note: ") if _OUR_NOTE.fullmatch(said) else (said, "", "")
    parts = [_unquoted(part) for part in _QUOTED.findall(choice)]
    labels = [option.label for option in question.options]
    chosen = [part for part in parts if part in labels]
    return _fitted(question, chosen, next((part for part in parts if part not in labels), ""), _unquoted(note))


def _unquoted(text: str) -> str:
    quoted = _QUOTED.match(text)
    value = decoded(quoted[0].encode()) if quoted else ""
    return _clean(value) if isinstance(value, str) else ""


def read_answers(questions: Questions, said: str) -> tuple[Answer | None, ...] | None:
    """The answers in `"question"="answer", …`; None where the text could be read in more than one way."""
    starts = [_start(said, question) for question in questions.items]
    places = [place for place in starts if place is not None]
    if not places or min(places) != 0 or places != sorted(places) or _ambiguous in places:
        return None
    given: list[Answer | None] = []
    for question, start in zip(questions.items, starts, strict=True):
        if start is None:
            given.append(None)
            continue
        following = next((place for place in places if place > start), None)
        said_here = said[start : None if following is None else following - 2]
        given.append(_read_one(question, said_here[len(f'"{question.text}"=') :]))
    return tuple(given) if any(given) else None


_ambiguous = -1


def _start(said: str, question: Question) -> int | None:
    """Where a question's answer begins; None where there is none, `_ambiguous` where it could be in two places."""
    mark = f'"{question.text}"='
    places = [0] if said.startswith(mark) else []
    places += [found.start() + 2 for found in re.finditer(re.escape(f", {mark}"), said)]
    return None if not places else places[0] if len(places) == 1 else _ambiguous


def _read_one(question: Question, said: str) -> Answer | None:
    for mark in _NOTES_ONLY:
        if said.startswith(f"{mark}{_NOTES}"):
            return answer_of(question, "", said.removeprefix(f"{mark}{_NOTES}"))
    for text, preview in _expected(question):
        if said.startswith(f'"{text}"') and (rest := _after(said[len(text) + 2 :], preview)) is not None:
            return answer_of(question, text, rest)
    if said.count(f'"{_NOTES}') == 1:
        words, note = said.split(f'"{_NOTES}')
        return answer_of(question, words.removeprefix('"'), note)
    return answer_of(question, said[1:-1] if len(said) > 1 and said[0] == said[-1] == '"' else said)


def _expected(question: Question) -> Iterable[tuple[str, str]]:
    """Each label with its preview, the longest first: one may begin as another."""
    options = sorted(question.options, key=lambda option: -len(option.label))
    return () if question.multi_select else ((option.label, option.preview or "") for option in options)


def _after(rest: str, preview: str) -> str | None:
    """The note behind a label; None where something else follows, so that it was no label."""
    if preview:
        rest = rest.removeprefix(f"{_PREVIEW}{preview}")
    if not rest:
        return ""
    return rest.removeprefix(_NOTES) if rest.startswith(_NOTES) else None


def _clean(text: str) -> str:
    """What no store takes is left out: a log may hold anything."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
