"""An agent of the Agent Client Protocol: an editor starts it, and gets Claude with its questions and permissions.

Any number of sessions in one process. Whatever breaks in one is an error of its request and touches no other.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stdout, suppress
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

from claude_agent_sdk import get_session_messages, list_sessions

from askdesk.adapters.acp_connection import Method, Peer, RequestError, read, schema, stdio_streams
from askdesk.adapters.acp_editor import House
from askdesk.adapters.acp_session import How, Session, Start
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError
from askdesk.core.process import is_gone
from askdesk.core.text import shown
from askdesk.wire import acp
from askdesk.wire.acp_tool import Json

_PAGE = 50  # sessions in one answer
_LONGEST_LINE = 1 << 20
_ABOUT_MESSAGES = "<command-", "<local-command-", "<system-reminder>", "Caveat: "  # what Claude Code says as the person


class Agent:
    """What one editor speaks with."""

    def __init__(self, desk: Desk, house: House, how: How, version: str) -> None:
        self._desk, self._house, self._how, self._version = desk, house, how, version
        self._client = acp.Client()
        self._sessions: dict[str, Session] = {}
        self._openings: dict[str, asyncio.Lock] = {}
        self._later: set[asyncio.Task[None]] = set()
        self._peer: Peer | None = None

    async def serve(self, writer: asyncio.StreamWriter, reader: asyncio.StreamReader) -> None:
        """Until the editor is gone; then every session ends, and what they asked is withdrawn."""
        self._peer = Peer(self._methods(), writer, reader)
        try:
            await self._peer.hear()
        finally:
            await asyncio.shield(self._close(self._peer))

    async def _close(self, peer: Peer) -> None:
        """At once, since an editor that froze takes its time to be gone; then the sessions that were just beginning."""
        for task in self._later:
            task.cancel()
        await asyncio.gather(peer.close(), self._end_sessions(), return_exceptions=True)
        await self._end_sessions()

    async def _end_sessions(self) -> None:
        await asyncio.gather(*(session.close() for session in self._sessions.values()), return_exceptions=True)

    def _methods(self) -> Mapping[str, Method]:
        return {
            "initialize": self._initialize,
            "authenticate": self._authenticate,
            "session/new": self._new,
            "session/load": self._load,
            "session/resume": self._resume,
            "session/list": self._list,
            "session/close": self._end,
            "session/prompt": self._prompt,
            "session/cancel": self._cancel,
            "session/set_mode": self._set_mode,
        }

    async def _initialize(self, params: Json) -> Json:
        read(schema.InitializeRequest, params)
        self._client = acp.client(params.get("clientCapabilities"))
        return {
            "protocolVersion": acp.PROTOCOL,
            "agentCapabilities": {
                "loadSession": True,
                "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
                "mcpCapabilities": {"http": True, "sse": True},
                "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "additionalDirectories": {}},
            },
            "agentInfo": {"name": "askdesk", "title": "Claude at a desk", "version": self._version},
            "authMethods": [],
        }

    async def _authenticate(self, params: Json) -> Json:
        given = read(schema.AuthenticateRequest, params)
        rule = (
            f"there is nothing to sign in to here, nor a way {shown(given.method_id)}: run `claude /login` in a shell"
        )
        raise RequestError.invalid_params({"path": "methodId", "rule": rule})

    async def _new(self, params: Json) -> Json:
        read(schema.NewSessionRequest, params)
        session = await self._opened(_start(str(uuid4()), params))
        return {"sessionId": session.id, "modes": acp.modes(session.mode)}

    async def _resume(self, params: Json) -> Json:
        given = read(schema.ResumeSessionRequest, params)
        await self._known(given.session_id)
        session = await self._opened(_start(given.session_id, params, resumed=True))
        return {"modes": acp.modes(session.mode)}

    async def _load(self, params: Json) -> Json:
        """Like resume, after everything that was said in the session was told again."""
        given = read(schema.LoadSessionRequest, params)
        messages = await self._known(given.session_id)
        session = await self._opened(_start(given.session_id, params, resumed=True))
        await session.editor.tell(_replay(messages, session.folder))
        return {"modes": acp.modes(session.mode)}

    async def _known(self, session_id: str) -> list[Mapping[str, Any]]:
        """What was said in a session; RequestError where there is none."""
        with suppress(ValueError):
            UUID(session_id)
            if found := await asyncio.to_thread(get_session_messages, session_id):
                return [each.message for each in found if isinstance(each.message, dict)]
        raise RequestError.resource_not_found(shown(session_id))

    async def _opened(self, start: Start) -> Session:
        """One at a time for each session: of two at once, one would go on unseen."""
        async with self._openings.setdefault(start.session, asyncio.Lock()):
            return await self._opened_anew(start)

    async def _opened_anew(self, start: Start) -> Session:
        if standing := self._sessions.pop(start.session, None):
            await standing.close()
        if start.resumed:
            await self._withdraw_orphans(start.session)
        assert self._peer is not None  # noqa: S101 - who calls has come over it
        session = Session(self._desk, self._peer, self._client, self._house, self._how, start)
        await session.open()
        self._sessions[start.session] = session
        self._do_later(session.tell_commands())
        return session

    async def _withdraw_orphans(self, session: str) -> None:
        """What a process asked that is gone: Claude Code has given these calls up, so nobody waits for an answer."""
        with suppress(AskdeskError):
            async for entry in self._desk.each("open"):
                asker = entry.ask.asker
                if asker.session == session and asker.process and is_gone(asker.host, asker.process):
                    await self._desk.withdraw(entry.ask.id, "the agent died, and its session was started again")

    def _do_later(self, work: Any) -> None:
        """After the answer to the request that asked for it: before that, the editor does not know the session."""

        async def done() -> None:
            await asyncio.sleep(0)
            with suppress(ConnectionError):
                await work

        task = asyncio.ensure_future(done())
        self._later.add(task)
        task.add_done_callback(self._later.discard)

    async def _list(self, params: Json) -> Json:
        given = read(schema.ListSessionsRequest, params)
        at = int(given.cursor) if given.cursor and given.cursor.isdecimal() else 0
        found = await asyncio.to_thread(list_sessions, given.cwd, _PAGE + 1, at, include_worktrees=False)
        page = [_listed(each.session_id, each.cwd, each.summary, each.last_modified) for each in found[:_PAGE]]
        more = {"nextCursor": str(at + _PAGE)} if len(found) > _PAGE else {}
        return {"sessions": [each for each in page if each["cwd"]], **more}

    async def _end(self, params: Json) -> Json:
        session = self._session(read(schema.CloseSessionRequest, params).session_id)
        del self._sessions[session.id]
        await session.cancel()
        await session.close()
        return {}

    async def _prompt(self, params: Json) -> Json:
        session = self._session(read(schema.PromptRequest, params).session_id)
        blocks = acp.prompt_blocks(params["prompt"])
        if not blocks:
            raise RequestError.invalid_params({"path": "prompt", "rule": "must hold text, a resource or an image"})
        return {"stopReason": await session.prompt(blocks)}

    async def _cancel(self, params: Json) -> None:
        if session := self._sessions.get(read(schema.CancelNotification, params).session_id):
            await session.cancel()

    async def _set_mode(self, params: Json) -> Json:
        given = read(schema.SetSessionModeRequest, params)
        await self._session(given.session_id).set_mode(given.mode_id)
        return {}

    def _session(self, session_id: str) -> Session:
        if session := self._sessions.get(session_id):
            return session
        raise RequestError.resource_not_found(shown(session_id))


def _start(session: str, params: Json, *, resumed: bool = False) -> Start:
    folder = params["cwd"]
    if not os.path.isabs(folder) or not os.path.isdir(folder):
        rule = f"must be the absolute path of a folder that is there, is {shown(folder)}"
        raise RequestError.invalid_params({"path": "cwd", "rule": rule})
    servers = dict(_server(each) for each in params.get("mcpServers") or ())
    return Start(session, folder, resumed, servers, tuple(params.get("additionalDirectories") or ()))


def _server(given: Json) -> tuple[str, Json]:
    """An MCP server of the editor's, as Claude Code is told of it."""
    match given:
        case {"type": "http" | "sse" as kind, "name": str(name), "url": str(url)}:
            return name, {"type": kind, "url": url, "headers": _pairs(given.get("headers"))}
        case {"name": str(name), "command": str(command)}:
            server = {"type": "stdio", "command": command, "args": list(given.get("args") or ())}
            return name, {**server, "env": _pairs(given.get("env"))}
        case _:
            rule = "must be servers on stdio, http or sse"
            raise RequestError.invalid_params({"path": "mcpServers", "rule": rule})


def _pairs(given: Any) -> dict[str, str]:
    return {pair["name"]: pair["value"] for pair in given or ()}


def _listed(session: str, folder: str | None, title: str, milliseconds: int) -> Json:
    at = datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat()
    return {"sessionId": session, "cwd": folder or "", "title": shown(title), "updatedAt": at}


def _replay(messages: Iterable[Mapping[str, Any]], folder: str) -> Iterator[Json]:
    calls: dict[str, tuple[str, Json]] = {}
    plan = acp.Plan()
    for message in messages:
        for update in acp.replayed(message, calls, plan, folder):
            if not _is_about_messages(update):
                yield update


def _is_about_messages(update: Json) -> bool:
    text = update.get("content", {}).get("text", "") if update["sessionUpdate"] == "user_message_chunk" else ""
    return isinstance(text, str) and text.startswith(_ABOUT_MESSAGES)


async def serve(agent: Agent) -> None:
    """On standard input and output, until the input ends. What anybody prints meanwhile goes to standard error."""
    wire = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with redirect_stdout(wire):
        reader, writer = await stdio_streams(limit=_LONGEST_LINE)
    await agent.serve(writer, reader)
