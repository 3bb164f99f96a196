"""Whatever an agent puts into a permission request, a person is asked, or it is refused; only their words go back."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from acp.schema import RequestPermissionRequest, RequestPermissionResponse
from hypothesis import given
from hypothesis import strategies as st

from askdesk.core.errors import InvalidAsk
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Declined,
    Denied,
    Expired,
    Outcome,
    Permission,
    Questions,
    Withdrawn,
)
from askdesk.wire.acp_permission import KINDS
from askdesk.wire.acp_question import asked

texts = st.sampled_from(
    ["", "a", "A - b", "ask:0:0", "ask:0:1", "__other__", "__skip__", "__cancel__", "\x1b", "x" * 50]
)
scalars = st.none() | st.booleans() | st.integers() | texts
names = st.sampled_from(
    ["questions", "question", "options", "label", "header", "multiSelect", "claudeCode", "questionType", "toolName",
     "askUserQuestion", "qwenQuestions", "qwenInteractionKind", "description"]
)  # fmt: skip
values = st.recursive(
    scalars | st.just("askUserQuestion") | st.just("user_question"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
metas = st.none() | st.dictionaries(names, values, max_size=4)
marked = st.builds(
    lambda many: {"claudeCode": {"questionType": "askUserQuestion", "multiSelect": many}}, st.booleans() | scalars
)
options = st.lists(
    st.builds(
        lambda id, name, kind: {"optionId": id, "name": name, "kind": kind}, texts, texts, st.sampled_from(KINDS)
    ),
    max_size=5,
)
requests = st.builds(
    lambda title, raw, call_meta, offers, meta: {
        "sessionId": "s",
        "toolCall": {"toolCallId": "1", "title": title, "rawInput": raw, "_meta": call_meta},
        "options": offers,
        "_meta": meta,
    },
    st.none() | texts,
    values,
    metas,
    options,
    metas | marked,
)


def outcomes(body: Questions | Permission) -> list[Outcome]:
    if isinstance(body, Permission):
        remembered = [Allowed(remember=(rule,)) for rule in body.suggestions]
        return [Allowed(), Allowed('{"x": 1}'), *remembered, Denied(), Denied("no"), Denied(stop=True), Expired()]
    own = Answered([question.fit(Answer(other="7", note="n")) for question in body.items])
    first = Answered([Answer.choose(q, 0, note="n") if q.options else q.fit(Answer(other="7")) for q in body.items])
    return [own, first, Declined(), Declined("talk"), Declined(stop=True), Expired(), Withdrawn()]


@given(requests)
def test_any_request_is_asked_or_refused_and_a_response_of_the_protocol_goes_back(params: dict[str, Any]) -> None:
    RequestPermissionRequest.model_validate(params)
    with suppress(InvalidAsk):
        request = asked(params, {k: v for k, v in params["toolCall"].items() if v is not None}, "/")
        for outcome in outcomes(request.body):
            response = request.reply(outcome).response
            RequestPermissionResponse.model_validate(response)
            assert_no_yes_by_itself(params["options"], response, outcome)


def assert_no_yes_by_itself(offers: list[dict[str, str]], response: dict[str, Any], outcome: Outcome) -> None:
    """Nothing is allowed where nobody said so, and nothing for ever where somebody said once."""
    chosen = response["outcome"].get("optionId")
    kinds = {offer["kind"] for offer in offers if offer["optionId"] == chosen}
    if not isinstance(outcome, Allowed | Answered) and kinds:
        assert any(kind.startswith("reject") for kind in kinds)
    if outcome == Allowed() and kinds:
        assert kinds & {"allow_once", "reject_once"}
