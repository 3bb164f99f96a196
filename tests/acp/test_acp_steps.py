"""Whatever an agent tells of its session, it is shown or left out."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from askdesk.adapters.acp_steps import Told

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


@given(st.lists(updates, max_size=6))
def test_no_update_breaks_what_is_shown(given: list[dict[str, Any]]) -> None:
    told = Told()
    told.begin()
    for update in given:
        list(told.steps(update))
    list(told.said())
