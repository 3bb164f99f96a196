"""What Claude Code does with calls of AskUserQuestion before anybody is asked: each row with the real program.

One session for all rows of a table: a further question costs it 30 ms.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import ClaudeAgentOptions, query
from tests.claude.cli import Claude
from tests.claude.model import Call, ScriptedModel, questions

from askdesk.adapters.claude_sdk import with_desk
from askdesk.core.desk import Desk
from askdesk.core.model import Answered, Ask, PreviewFormat, Reply
from askdesk.stores.memory import MemoryStore
from askdesk.testing.people import at_desk
from askdesk.wire.words import quote

pytestmark = pytest.mark.anyio


def question(**fields: Any) -> dict[str, Any]:
    """A question with other fields; a field that is None is left out."""
    made = {**questions("One?", labels=("A", "B"))["questions"][0], **fields}
    return {name: value for name, value in made.items() if value is not None}


def one(**fields: Any) -> dict[str, Any]:
    return {"questions": [question(**fields)]}


def options(*labels: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"label": label, "description": f"{label} desc", **fields} for label in labels]


def previewed(preview: str, **fields: Any) -> dict[str, Any]:
    return one(options=[{**options("A")[0], "preview": preview}, *options("B")], **fields)


def bounds(kind: str, path: list[str | int], least: int = 0, most: int = 0) -> str:
    """One problem as Claude Code's validator writes it."""
    bound = {"maximum": most} if kind == "too_big" else {"minimum": least}
    sign, words = ("<=", "Too big") if kind == "too_big" else (">=", "Too small")
    problem = {
        "origin": "array",
        "code": kind,
        **bound,
        "inclusive": True,
        "path": path,
        "message": f"{words}: expected array to have {sign}{most or least} items",
    }
    return json.dumps([problem], indent=2)


INVALID = "<tool_use_error>InputValidationError: {}</tool_use_error>"
NO_DECISION = (
    "This call included a question with fewer than 2 options, so it was rejected and the person never saw it. A "
    "question with a single option has no decision in it. Do not retry this call and do not invent a filler second "
    "option. Instead, state the one path you were going to offer as the approach you are taking, then continue with "
    "the task. If this call also contained questions with 2 to 4 options (each with distinct labels), you may re-ask "
    "those questions alone in a new call. Ask a question only when the person has at least two genuinely distinct "
    "choices.\n\n"
) + bounds("too_small", ["questions", 0, "options"], least=2)
UNIQUE = json.dumps(
    [
        {
            "code": "custom",
            "path": [],
            "message": "Question texts must be unique, option labels must be unique within each question",
        }
    ],
    indent=2,
)
FIELD = "AskUserQuestion failed due to the following issue:\n{}"
FIELDS = "AskUserQuestion failed due to the following issues:\n{}"

REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "five questions": (questions(*"12345"), bounds("too_big", ["questions"], most=4)),
    "no questions": ({"questions": []}, bounds("too_small", ["questions"], least=1)),
    "nothing": ({}, FIELD.format("The required parameter `questions` is missing")),
    "one option": (one(options=options("A")), NO_DECISION),
    "no option": (one(options=[]), NO_DECISION),
    "a text question": (one(kind="text", options=[]), NO_DECISION),
    "five options": (one(options=options(*"ABCDE")), bounds("too_big", ["questions", 0, "options"], most=4)),
    "the same question twice": (questions("One?", "One?"), UNIQUE),
    "the same label twice": (one(options=options("A", "A")), UNIQUE),
    "no header": (one(header=None), FIELD.format("The required parameter `questions[0].header` is missing")),
    "no descriptions": (
        one(options=[{"label": "A"}, {"label": "B"}]),
        FIELDS.format(
            "The required parameter `questions[0].options[0].description` is missing\n"
            "The required parameter `questions[0].options[1].description` is missing"
        ),
    ),
    "a text for a truth": (
        one(multiSelect="true"),
        FIELD.format("The parameter `questions[0].multiSelect` type is expected as `boolean` but provided as `string`"),
    ),
    "unknown parameters": (
        {**one(), "title": "x", "foo": 1},
        FIELDS.format("An unexpected parameter `title` was provided\nAn unexpected parameter `foo` was provided"),
    ),
}
AS_IT_IS = one()
ASKED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {  # what the model sends, what we are given to ask
    "long header": (one(header="Longer than twelve"), one(header="Longer than twelve")),
    "no question mark": (one(question="One"), one(question="One")),
    "no multiSelect": (one(multiSelect=None), AS_IT_IS),
    "more in an option": (one(options=options("A", "B", foo=1)), AS_IT_IS),
    "markdown in an option": (one(options=options("A", "B", markdown="x")), AS_IT_IS),
    "more in a question": (one(foo=1), AS_IT_IS),
    "its own answers": ({**AS_IT_IS, "answers": {"One?": "A"}}, AS_IT_IS),
    "its own annotations": ({**AS_IT_IS, "annotations": {"One?": {"notes": "x"}}}, AS_IT_IS),
    "metadata": ({**AS_IT_IS, "metadata": {"source": "x"}}, AS_IT_IS),
    "questions as text": ({"questions": json.dumps(AS_IT_IS["questions"])}, AS_IT_IS),
    "a script as preview": (previewed("<script>x</script>"), previewed("<script>x</script>")),
    "a plain preview": (previewed("plain"), previewed("plain")),
    "a document as preview": (previewed("<html><body>x</body></html>"), previewed("<html><body>x</body></html>")),
    "a preview where several may be chosen": (
        previewed("plain", multiSelect=True),
        previewed("plain", multiSelect=True),
    ),
}
NO_FRAGMENT = '<tool_use_error>Option "A" in question "One?": preview must {}</tool_use_error>'
NO_SCRIPT = "not contain <script> or <style> tags. Use inline styles via the style attribute if needed."
REFUSED_HTML: dict[str, tuple[dict[str, Any], str]] = {
    "script": (previewed("<script>x</script>"), NO_SCRIPT),
    "style": (previewed("<style>x</style>"), NO_SCRIPT),
    "plain": (
        previewed("plain"),
        'contain HTML (previewFormat is set to "html"). Wrap content in a tag like <div> or <pre>.',
    ),
    "document": (
        previewed("<html><body>x</body></html>"),
        "be an HTML fragment, not a full document (no <html>, <body>, or <!DOCTYPE>)",
    ),
}
ONCLICK = previewed('<div onclick="x()">x</div>')


class Said:
    """What came of a table of calls: the asks on the desk, and what the model was told, each by the row's name."""

    def __init__(self) -> None:
        self.asked: dict[str, Any] = {}
        self.told: dict[str, dict[str, Any]] = {}


async def said(folder: Path, calls: dict[str, dict[str, Any]], previews: PreviewFormat = "none") -> Said:
    desk, found = Desk(MemoryStore()), Said()

    async def present(ask: Ask) -> Reply | None:
        found.asked[str(ask.key)] = ask.questions
        return Answered([question.read(question.options[0].label) for question in ask.questions])

    with ScriptedModel(*[Call("AskUserQuestion", given, name) for name, given in calls.items()]) as model:
        claude = Claude(folder, model)
        given = with_desk(desk, ClaudeAgentOptions(cwd=claude.project, env=claude.env), previews=previews)
        async with at_desk(desk, present):
            async for _ in query(prompt="go", options=given):
                pass
        found.told = model.results
    return found


async def test_what_claude_code_refuses_reaches_nobody(tmp_path: Path) -> None:
    found = await said(tmp_path, {name: given for name, (given, _) in REFUSED.items()})
    assert found.told == {
        name: {"content": INVALID.format(text), "is_error": True} for name, (_, text) in REFUSED.items()
    }
    assert found.asked == {}


async def test_what_claude_code_lets_through_is_asked_as_it_was_meant(tmp_path: Path) -> None:
    from askdesk.wire import tool

    found = await said(tmp_path, {name: given for name, (given, _) in ASKED.items()})
    assert found.asked == {name: tool.parse(meant).items for name, (_, meant) in ASKED.items()}
    assert {name for name, told in found.told.items() if told["is_error"]} == set()


async def test_html_previews_are_held_to_fragments_by_both(tmp_path: Path) -> None:
    calls = {name: given for name, (given, _) in REFUSED_HTML.items()}
    found = await said(tmp_path, {**calls, "handler": ONCLICK}, previews="html")
    assert {name: told for name, told in found.told.items() if name != "handler"} == {
        name: {"content": NO_FRAGMENT.format(text), "is_error": True} for name, (_, text) in REFUSED_HTML.items()
    }
    assert list(found.asked) == ["handler"]


async def test_a_blank_question_is_refused_by_us_alone(tmp_path: Path) -> None:
    found = await said(tmp_path, {"question": one(question=""), "header": one(header="")})
    assert list(found.asked) == ["header"]
    assert found.told["question"] == {
        "content": "NOT ASKED: the call breaks these rules; mend it and call again, or go on without it.\n"
        f"questions[0].question: must not be blank, is {quote('')}",
        "is_error": True,
    }
