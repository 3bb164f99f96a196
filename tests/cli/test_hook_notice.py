"""Claude Code's Notification hook: people elsewhere are told which project asks what, once."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.command import askdesk, posted
from tests.cli.test_notify import BODIES, service  # noqa: F401 - a fixture

from askdesk.core.model import Asker, Question

EVENT: dict[str, Any] = {
    "hook_event_name": "Notification",
    "session_id": "s",
    "cwd": "/srv/shop",
    "message": "Claude needs your permission to use Bash",
    "notification_type": "permission_prompt",
}


def notified(**more: Any) -> None:
    assert askdesk("hook", typed=json.dumps({**EVENT, **more})) == (0, "", "")


@pytest.fixture
def told(service: str, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:  # noqa: F811
    monkeypatch.setenv("ASKDESK_NOTIFY_URLS", f"{service}/good")
    return BODIES


def test_what_a_session_asks_at_the_desk_is_told_once(told: list[dict[str, Any]]) -> None:
    posted(Question("Which db?", ["a", "b"]), asker=Asker("claude code", "s", "/srv/shop"))
    notified()
    notified()
    assert [(body["title"], body["message"]) for body in told] == [
        ("askdesk: claude code in shop waits", "Question: Which db?\nAnswer with: askdesk inbox")
    ]


def test_what_stands_in_the_dialog_alone_is_told_in_its_own_words(told: list[dict[str, Any]]) -> None:
    posted(Question("Which db?", ["a", "b"]), asker=Asker("claude code", "another session", "/srv/shop"))
    notified()
    assert [(body["title"], body["message"]) for body in told] == [
        (
            "askdesk: claude code in shop waits",
            "Claude needs your permission to use Bash\nIt waits in its own dialog, on that machine",
        )
    ]


def test_that_it_is_idle_is_told_to_nobody(told: list[dict[str, Any]]) -> None:
    notified(notification_type="idle_prompt")
    assert told == []


def test_without_urls_nobody_is_told() -> None:
    BODIES.clear()
    notified()
    assert BODIES == []
