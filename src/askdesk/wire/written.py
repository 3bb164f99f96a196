"""Questions as the tool format writes them."""

from __future__ import annotations

import json
from typing import Any

from askdesk.core.model import Question, Questions


def written(questions: Questions) -> list[dict[str, Any]]:
    """The questions array: as it was received, unless that had to be mended."""
    if questions.received is not None:
        received: list[dict[str, Any]] = json.loads(questions.received)
        return received
    return [_written(question) for question in questions.items]


def _written(question: Question) -> dict[str, Any]:
    options = [
        {
            "label": option.label,
            "description": option.description,
            **({"preview": option.preview} if option.preview is not None else {}),
        }
        for option in question.options
    ]
    extras = {
        "kind": question.kind if question.kind != "choice" else None,
        "default": question.default,
        "min": question.minimum,
        "max": question.maximum,
    }
    return {
        "question": question.text,
        "header": question.header,
        "options": options,
        "multiSelect": question.multi_select,
        **{name: value for name, value in extras.items() if value is not None},
    }
