"""Whatever an agent tells of its session, it is shown or left out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from askdesk.adapters.acp_steps import Told
from askdesk.adapters.steps import Called

texts = st.sampled_from(["", "a", "text", "tool_call", "completed", "in_progress", "\x1b"])
scalars = st.none() | st.booleans() | st.integers() | texts
names = st.sampled_from(["type", "text", "claudeCode", "toolName", "content", "status", "title"])
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=8
)
kinds = st.sampled_from(["tool_call", "tool_call_update", "plan", "agent_message_chunk", "usage_update"])
updates = st.fixed_dictionaries(
    {"sessionUpdate": kinds},
    optional={
        "toolCallId": texts | values,
        "content": st.fixed_dictionaries({"type": st.just("text"), "text": texts}) | values,
        "messageId": scalars,
        **dict.fromkeys(("entries", "rawInput", "kind", "title", "status", "_meta"), values),
    },
)


def test_another_call_under_the_same_id_has_nothing_of_the_first() -> None:
    told = Told()
    list(told.steps({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "a", "rawInput": {"command": "ls"}}))
    steps = list(told.steps({"sessionUpdate": "tool_call", "toolCallId": "1", "title": "b", "status": "in_progress"}))
    assert steps == [Called("b", {"title": "b"})]
    assert told.known({"toolCallId": "1"}) == {"toolCallId": "1", "title": "b", "status": "in_progress"}


@given(st.lists(updates, max_size=6))
def test_no_update_breaks_what_is_shown(given: list[dict[str, Any]]) -> None:
    told = Told()
    told.begin()
    for update in given:
        list(told.steps(update))
    list(told.said())
