"""The API's description is true: every route, every status and every answer, tried with what Schemathesis thinks of."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from requests import Session
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Err
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.server.running import Running, running

from askdesk.core.desk import Desk
from askdesk.core.model import Asker, Permission, Question
from askdesk.server.app import DOORS
from askdesk.server.openapi import document
from askdesk.server.tokens import Kind
from askdesk.stores.memory import MemoryStore

pytestmark = pytest.mark.anyio

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DESCRIPTION: dict[str, Any] = json.loads(document())
EXAMPLES = 30


def test_the_description_is_openapi() -> None:
    schemathesis.openapi.from_dict(DESCRIPTION).validate()
    for schema in DESCRIPTION["components"]["schemas"].values():
        Draft202012Validator.check_schema(schema)


def test_every_route_of_the_api_is_described_and_nothing_else() -> None:
    described = {
        (method.upper(), path, tuple(kind for scheme in operation["security"] for kind in scheme))
        for path, item in DESCRIPTION["paths"].items()
        for method, operation in item.items()
        if method != "parameters"
    }
    doors = {
        (door.method, door.path.replace(":path}", "}"), door.kinds) for door in DOORS if door.path.startswith("/v1/")
    }
    assert described == doors


def test_every_parameter_of_a_path_is_described() -> None:
    for path, item in DESCRIPTION["paths"].items():
        described = [parameter["name"] for parameter in item.get("parameters", [])]
        assert described == [part[1:-1] for part in path.split("/") if part.startswith("{")], path


async def test_the_description_is_served(server: Running) -> None:
    answer = await server.request("GET", "/v1/openapi.json", token=await server.token())
    assert (answer.headers["content-type"], answer.json) == ("application/json", DESCRIPTION)


@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize("kind", ["asker", "answerer"])
async def test_every_answer_is_as_described(kind: Kind, mode: schemathesis.GenerationMode) -> None:
    desk = Desk(MemoryStore())
    async with running(desk, asks_a_minute=1e9) as server:
        token = await server.token(kind)
        known = [(await desk.leave(Question("Which?", ["a", "b"]), asker=Asker())).id for _ in range(3)]
        known += [(await desk.post(Permission("Bash", "{}"))).id, known[0]]
        await desk.withdraw(known[0])
        await asyncio.to_thread(_try_all, server.url, token, known, mode)


def _try_all(url: str, token: str, known: list[str], mode: schemathesis.GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(DESCRIPTION)
    with Session() as session:
        session.headers["Authorization"] = f"Bearer {token}"
        for result in schema.get_all_operations():
            assert not isinstance(result, Err)
            if result.ok().path != "/v1/events":  # which never ends
                _tried(result.ok(), session, url, known, mode)()


def _tried(
    operation: APIOperation[Any, Any, Any, Any],
    session: Session,
    url: str,
    known: list[str],
    mode: schemathesis.GenerationMode,
) -> Callable[[], None]:
    @settings(max_examples=EXAMPLES, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(mode), ask_id=st.none() | st.sampled_from(known))
    def tried(case: schemathesis.Case[Any], ask_id: str | None) -> None:
        if ask_id is not None and "id" in case.path_parameters:
            case.path_parameters["id"] = ask_id
        if case.query and "wait" in case.query:
            case.query["wait"] = 0.01
        case.validate_response(case.call(base_url=url, session=session), checks=CHECKS)

    return tried
