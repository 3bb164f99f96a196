"""The API's description, OpenAPI 3.1, made of the very types that it reads and writes."""

from __future__ import annotations

from functools import cache
from typing import Any

import msgspec

from askdesk.core.limits import OPEN
from askdesk.core.model import Settlement
from askdesk.core.store import Document
from askdesk.wire import api, hook
from askdesk.wire.definition import schema

_TYPES = (
    api.NewAsk,
    api.NewSettlement,
    api.NewWithdrawal,
    api.NewDelivery,
    api.NewDocument,
    api.EntryDocument,
    api.PageDocument,
    api.CollectDocument,
    api.ExpiryDocument,
    api.ShelfDocument,
    api.MeDocument,
    api.ProblemDocument,
    hook.Event,
    Settlement,
    Document,
)


@cache
def document() -> bytes:
    return msgspec.json.encode(_document())


def _document() -> dict[str, Any]:
    schemas, components = msgspec.json.schema_components(_TYPES, ref_template="#/components/schemas/{name}")
    named: dict[type, dict[str, Any]] = dict(zip(_TYPES, schemas, strict=True))
    # What the type leaves to the parser.
    components["NewAsk"]["properties"] |= {
        "questions": {"anyOf": [schema(OPEN)["properties"]["questions"], {"type": "null"}]},
        "id": {"anyOf": [{"type": "string", "pattern": api.ID}, {"type": "null"}]},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "askdesk",
            "version": "1",
            "summary": "Where AI agents ask and people answer.",
            "description": "Times come from the server's clock, names from the token. Errors are problems (RFC 9457).",
        },
        "components": {
            "schemas": components,
            "securitySchemes": {
                "asker": {"type": "http", "scheme": "bearer", "description": "asks, waits, collects, withdraws, hears"},
                "answerer": {"type": "http", "scheme": "bearer", "description": "reads, settles, tells"},
            },
        },
        "paths": _paths(named),
    }


def _paths(named: dict[type, dict[str, Any]]) -> dict[str, Any]:
    ask_id = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}
    entry, page = named[api.EntryDocument], named[api.PageDocument]
    both = ("asker", "answerer")
    return {
        "/v1/asks": {
            "post": _operation("Put an ask on the desk", ("asker",), named, api.NewAsk, {200: entry, 201: entry}, 422),
            "get": {
                **_operation("List open or settled asks", both, named, None, {200: page}, 422),
                "parameters": [
                    _parameter("state", {"enum": ["open", "settled"], "default": "open"}),
                    _parameter("after", {"type": "string"}),
                    _parameter("limit", {"type": "integer", "minimum": 1, "maximum": 200, "default": 50}),
                    _parameter("newest", {"enum": ["true", "false"], "default": "false"}),
                    _parameter("text", {"type": "string"}),
                ],
            },
        },
        "/v1/asks/{id}": {
            "parameters": [ask_id],
            "get": {
                **_operation("One ask, perhaps once it is settled", both, named, None, {200: entry}, 404, 422),
                "parameters": [_parameter("wait", {"type": "number", "minimum": 0, "maximum": 60, "default": 0})],
            },
        },
        "/v1/asks/{id}/settlement": {
            "parameters": [ask_id],
            "post": _operation(
                "Settle it: the first reply wins",
                ("answerer",),
                named,
                api.NewSettlement,
                {200: named[Settlement]},
                *(404, 409, 422),
            ),
        },
        "/v1/asks/{id}/withdrawal": {
            "parameters": [ask_id],
            "post": _operation(
                "Take it back", ("asker",), named, api.NewWithdrawal, {200: named[Settlement]}, 404, 409, 422
            ),
        },
        "/v1/asks/{id}/delivery": {
            "parameters": [ask_id],
            "post": _operation(
                "The asker has heard how it ended: it need not be collected",
                ("asker",),
                named,
                api.NewDelivery,
                {204: None},
                *(404, 422),
            ),
        },
        "/v1/collect": {
            "get": {
                **_operation(
                    "What an asker left without waiting and was settled since, each until it was delivered",
                    ("asker",),
                    named,
                    None,
                    {200: named[api.CollectDocument]},
                    422,
                ),
                "parameters": [
                    _parameter("agent", {"type": "string", "default": "agent"}),
                    *(_parameter(name, {"type": "string", "default": ""}) for name in ("project", "session", "host")),
                    _parameter("process", {"type": "integer", "minimum": 0, "maximum": 999_999_999}),
                    _parameter("wait", {"type": "number", "minimum": 0, "maximum": 60, "default": 0}),
                ],
            },
        },
        "/v1/hooks/claude-code": {
            "post": {
                **_operation(
                    "An event of Claude Code's hooks: the reply comes once there is a decision",
                    ("asker",),
                    named,
                    hook.Event,
                    {200: {"type": "object"}},
                    422,
                ),
                "parameters": [
                    _parameter("mode", {"enum": ["both", "desk"], "default": "both"}),
                    _parameter("seconds", {"type": "integer", "minimum": 1, "maximum": 2_147_483, "default": 600}),
                ],
            },
        },
        "/v1/expiry": {
            "post": _operation("Settle what is due as expired", both, named, None, {200: named[api.ExpiryDocument]})
        },
        "/v1/shelf": {
            "get": {
                **_operation("List documents", both, named, None, {200: named[api.ShelfDocument]}, 422),
                "parameters": [_parameter("prefix", {"type": "string"})],
            }
        },
        "/v1/shelf/{name}": {
            "parameters": [name],
            "get": _operation("One document", both, named, None, {200: named[Document]}, 404, 422),
            "put": _operation(
                "Write a document, or remove it with null",
                both,
                named,
                api.NewDocument,
                {200: named[Document], 204: None},
                *(409, 422),
            ),
        },
        "/v1/events": {
            "get": {
                "summary": "Hints, as server-sent events: `reread`, then ids of asks that may have changed",
                "security": [{kind: []} for kind in both],
                "responses": {"200": {"description": "OK", "content": {"text/event-stream": {}}}, **_refusals(named)},
            }
        },
        "/v1/me": {"get": _operation("What this token may do", both, named, None, {200: named[api.MeDocument]})},
        "/v1/openapi.json": {"get": _operation("This", both, named, None, {200: {"type": "object"}})},
    }


def _operation(
    summary: str,
    kinds: tuple[str, ...],
    named: dict[type, dict[str, Any]],
    body: type | None,
    answers: dict[int, dict[str, Any] | None],
    *problems: int,
) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "summary": summary,
        "security": [{kind: []} for kind in kinds],
        "responses": {
            **{str(status): _answer(schema) for status, schema in answers.items()},
            **{str(status): _problem(named) for status in problems},
            **_refusals(named, *((413, 415) if body else ())),
        },
    }
    if body:
        operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": named[body]}}}
    return operation


def _answer(schema: dict[str, Any] | None) -> dict[str, Any]:
    if schema is None:
        return {"description": "Done, and there is nothing to tell"}
    return {"description": "OK", "content": {"application/json": {"schema": schema}}}


def _refusals(named: dict[type, dict[str, Any]], *more: int) -> dict[str, Any]:
    return {str(status): _problem(named) for status in (400, 401, 403, 421, 429, 503, 507, *more)}


def _problem(named: dict[type, dict[str, Any]]) -> dict[str, Any]:
    return {"description": "A problem", "content": {"application/problem+json": {"schema": named[api.ProblemDocument]}}}


def _parameter(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": schema}
