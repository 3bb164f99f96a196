"""The AskUserQuestion tool as a model sees it: a name, a description, a JSON Schema. Every word costs tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from askdesk.core.limits import CLAUDE, Limits
from askdesk.core.model import PreviewFormat

NAME = "AskUserQuestion"

_WHEN = (
    "Ask the user when you are blocked on a decision that is really theirs: the request, the code and sensible "
    "defaults do not settle it, and the answer changes what you do next. Do not ask where a conventional default "
    "exists or where you can check the fact yourself: take the obvious way, say so, and go on.\n"
)
_HOW = (
    '- The user can always type their own answer ("Other" is added by itself): never offer such an option.\n'
    '- If you recommend an option, put it first and end its label with "(Recommended)".\n'
    "- Use multiSelect: true when several options may hold together; else options must exclude each other.\n"
    "- The user may see nothing but the question: make it stand on its own, and name what it is about.\n"
    "Plan mode: enter it with EnterPlanMode, not this tool. In it, ask to clarify requirements or to choose an "
    'approach before the plan is final. Never ask "Is my plan ready?" or "Should I proceed?", nor mention "the plan": '
    "the user cannot see it until ExitPlanMode asks for approval."
)
_KINDS = (
    '\n- kind "text" asks for a text and "number" for a number (min, max, default), both without options. Prefer '
    "choices where the likely answers can be listed."
)
_PREVIEWS = {
    "none": "",
    "markdown": (
        "\nPreviews: give options a preview when the user must compare things by eye, such as layouts, code, diagrams "
        "or configurations; not for plain preferences. Markdown in a monospace box, shown beside the options: ASCII "
        "art and fenced code, several lines."
    ),
    "html": (
        "\nPreviews: give options a preview when the user must compare things by eye, such as layouts, formatted code "
        "or diagrams; not for plain preferences. A self-contained HTML fragment with inline styles; no <html>, <body>, "
        "<script> or <style>."
    ),
}


def definition(limits: Limits = CLAUDE, previews: PreviewFormat = "none") -> dict[str, Any]:
    """`{"name", "description", "input_schema"}`, as the Messages API takes a tool."""
    kinds = _KINDS if len(limits.kinds) > 1 else ""
    return {
        "name": NAME,
        "description": _WHEN + _HOW + kinds + _PREVIEWS[previews],
        "input_schema": schema(limits),
    }


def for_chat(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The same tool, this one or any other, as the Chat Completions API takes it."""
    return {"type": "function", "function": _function(definition)}


def for_responses(definition: Mapping[str, Any]) -> dict[str, Any]:
    """The same tool, this one or any other, as the Responses API takes it."""
    return {"type": "function", **_function(definition)}


def _function(definition: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": definition["name"],
        "description": definition.get("description", ""),
        "parameters": definition["input_schema"],
        "strict": False,  # strict would make every property required, also those that only people fill in
    }


def schema(limits: Limits = CLAUDE) -> dict[str, Any]:
    """The JSON Schema of the input. For CLAUDE it takes and refuses exactly what the original does."""
    text = {"type": "string"}
    note = _object({"preview": _text("The chosen option's preview"), "notes": _text("The user's notes")})
    return _object(
        {
            "questions": {**_array(limits.questions, _question(limits)), "description": "What to ask"},
            "answers": {"type": "object", "additionalProperties": text, "description": "Filled in by the user"},
            "annotations": {
                "type": "object",
                "additionalProperties": note,
                "description": "Filled in by the user, by question text",
            },
            "metadata": {
                **_object({"source": _text('Where the question comes from, e.g. "remember"')}),
                "description": "For tracking; not displayed",
            },
        },
        required=["questions"],
    )


def _question(limits: Limits) -> dict[str, Any]:
    header = _text('A very short tag, at most 12 characters, e.g. "Auth method"')
    if limits.header is not None:
        header |= {"minLength": 1, "maxLength": limits.header}
    properties = {
        "question": _text(
            'The complete question, clear and specific, ending with "?", e.g. "Which database?"; with multiSelect in '
            'the plural, e.g. "Which features?"'
        ),
        "header": header,
        "options": {**_array(limits.options, _option()), "description": "Distinct choices, without an Other"},
        "multiSelect": {"type": "boolean", "default": False, "description": "Several options may be chosen"},
    }
    if len(limits.kinds) == 1:
        return _object(properties, required=["question", "header", "options", "multiSelect"])
    number = {"type": "number"}
    properties |= {
        "kind": {"enum": list(limits.kinds), "default": "choice"},
        "default": {"type": ["string", "number"], "description": "Suggested, for text and number"},
        "min": number,
        "max": number,
    }
    properties["options"] = {
        **properties["options"],
        "description": "Distinct choices, without an Other; none for text",
    }
    return _object(properties, required=["question", "header"])


def _option() -> dict[str, Any]:
    return _object(
        {
            "label": _text("What the user sees and chooses, 1-5 words"),
            "description": _text("What it means or what happens if chosen; trade-offs"),
            "preview": _text("What to compare by eye: a mockup, code, a diagram"),
        },
        required=["label", "description"],
    )


def _object(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _array(between: tuple[int, int], items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": between[0], "maxItems": between[1], "items": items}


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}
