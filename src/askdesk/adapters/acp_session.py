"""One session of an editor: one Claude, its prompts one after the other, and what people at the desk tell it."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Mapping
from datetime import timedelta
from typing import Any, Literal, NamedTuple, cast
from uuid import uuid4

from claude_agent_sdk import ClaudeAgentOptions, ResultMessage, SystemMessage
from claude_agent_sdk.types import Message, PermissionMode

from askdesk.adapters.acp_connection import Peer, RequestError
from askdesk.adapters.acp_editor import Editor, House
from askdesk.adapters.acp_updates import Updates
from askdesk.adapters.claude_sdk import ClaudeDesk, state_of
from askdesk.core.desk import Desk
from askdesk.core.model import PreviewFormat
from askdesk.core.text import shown
from askdesk.wire import acp
from askdesk.wire.acp_tool import Json

log = logging.getLogger("askdesk")

_PATIENCE = 5.0  # seconds in which Claude Code must have stopped what was cancelled
_PLANS = "CLAUDE_CODE_ENABLE_TODO_TOOLS"  # the tools of which an editor shows the plan
_ENDED = "Claude Code has ended; open another session, or load this one again."

Stop = Literal["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]


class How(NamedTuple):
    """How Claude is run in every session."""

    agent: str = "claude"
    model: str | None = None
    mode: str | None = None
    tools: tuple[str, ...] | None = None
    previews: PreviewFormat = "none"
    deadline: timedelta | None = None


class Start(NamedTuple):
    """What an editor says of a session that begins, or begins again."""

    session: str
    folder: str
    resumed: bool = False
    servers: Mapping[str, Any] = {}
    folders: tuple[str, ...] = ()


class _Turn:
    """A prompt that is being worked on."""

    def __init__(self) -> None:
        self.message = str(uuid4())
        self.ended: asyncio.Future[ResultMessage | None] = asyncio.get_running_loop().create_future()
        self.result: ResultMessage | None = None
        self.is_cancelled = False

    def end(self) -> None:
        if not self.ended.done():
            self.ended.set_result(self.result)


class Session:
    """Lives from `open` to `close`. Whatever Claude says goes to the editor as it comes, in a turn or between."""

    def __init__(self, desk: Desk, peer: Peer, client: acp.Client, house: House, how: How, start: Start) -> None:
        self.id, self.folder = start.session, start.folder
        self._desk, self._how, self._start = desk, how, start
        self._updates = Updates(start.folder)
        self.editor = Editor(desk, peer, client, house, start.session, self._updates)
        self.mode = how.mode or "default"
        self._prompts = asyncio.Lock()  # one prompt at a time; the next waits for its turn
        self._cancelled = 0  # how often
        self._turn: _Turn | None = None
        self._ending: asyncio.TimerHandle | None = None
        self._tells_state = False
        self._opened: asyncio.Future[ClaudeDesk] = asyncio.get_running_loop().create_future()
        self._running: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start Claude Code; RequestError where it does not start."""
        self._running = asyncio.ensure_future(self._run())
        try:
            await asyncio.shield(self._opened)
        except asyncio.CancelledError:
            await self.close()
            raise

    async def close(self) -> None:
        """End Claude Code; what it asked is withdrawn."""
        if self._running:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    async def _run(self) -> None:
        """The one task in which Claude Code is started, heard and ended."""
        try:
            async with self._claude() as claude, claude.at_work():
                self._opened.set_result(claude)
                async for message in claude.client.receive_messages():
                    await self._heard(claude, message)
        except Exception as error:  # noqa: BLE001 - the SDK's have no common root
            log.error("Claude Code failed: %s", error)
            if not self._opened.done():
                self._opened.set_exception(_failed(f"Claude Code did not start: {error}"))
        finally:
            self._opened.cancel()
            if self._turn:
                self._turn.end()

    def _claude(self) -> ClaudeDesk:
        how, start = self._how, self._start
        options = ClaudeAgentOptions(
            cwd=start.folder,
            model=how.model,
            permission_mode=cast(PermissionMode | None, how.mode),
            resume=start.session if start.resumed else None,
            session_id=None if start.resumed else start.session,
            tools=list(how.tools) if how.tools else None,
            mcp_servers=dict(start.servers),
            add_dirs=list(start.folders),
            env={} if _PLANS in os.environ else {_PLANS: "1"},
            include_partial_messages=True,
            system_prompt={"type": "preset", "preset": "claude_code"},
            setting_sources=["user", "project", "local"],
        )
        return ClaudeDesk(
            self._desk,
            options,
            agent=how.agent,
            previews=how.previews,
            deadline=how.deadline,
            show=self.editor.show,
        )

    async def tell_commands(self) -> None:
        """What a person can type after a slash."""
        claude = await self._opened
        info = await claude.client.get_server_info() or {}
        await self.editor.tell([acp.commands_update(info.get("commands"))])

    async def prompt(self, blocks: list[Json]) -> Stop:
        """Why Claude stopped working on a prompt; RequestError where it failed."""
        cancelled = self._cancelled
        async with self._prompts:
            return await self._worked_on(blocks) if cancelled == self._cancelled else "cancelled"

    async def _worked_on(self, blocks: list[Json]) -> Stop:
        if self._running is None or self._running.done():
            raise _failed(_ENDED)
        claude, turn = await self._opened, _Turn()
        self._turn = turn
        try:
            await claude.client.query(_message(blocks, turn.message))
            if turn.is_cancelled:  # meanwhile, so that the prompt may have come after the stop
                await claude.stop()
            await asyncio.shield(turn.ended)
        except asyncio.CancelledError:  # the editor took the request back; the next prompt begins when this one is over
            await self.cancel()
            await turn.ended
            raise
        except Exception as error:  # noqa: BLE001 - the SDK's have no common root
            log.error("a prompt did not reach Claude Code: %s", error)
            raise _failed(_ENDED) from None
        finally:
            self._turn = None
        if turn.is_cancelled:
            await self.editor.tell(self._updates.given_up())
            return "cancelled"
        if turn.result is None:
            raise _failed(_ENDED)
        return _stop(turn.result)

    async def cancel(self) -> None:
        """Stop what Claude is at, and every prompt that waits. What it asked is withdrawn by whoever asked it."""
        self._cancelled += 1
        if turn := self._turn:
            turn.is_cancelled = True
            asyncio.get_running_loop().call_later(_PATIENCE, turn.end)
        if self._opened.done() and not self._opened.cancelled() and self._running and not self._running.done():
            try:
                await asyncio.wait_for(self._opened.result().stop(), _PATIENCE)
            except Exception as error:  # noqa: BLE001 - the SDK's have no common root
                log.warning("Claude Code did not hear that it should stop: %s", type(error).__name__)

    async def set_mode(self, mode: str) -> None:
        if mode not in {known["id"] for known in acp.modes(self.mode)["availableModes"]}:
            raise RequestError.invalid_params({"path": "modeId", "rule": f"there is no mode {shown(mode)} here"})
        claude = await self._opened
        before, self.mode = self.mode, mode  # before Claude Code says so, which is no news to the editor then
        try:
            await claude.client.set_permission_mode(cast(PermissionMode, mode))
        except Exception as error:  # noqa: BLE001 - the SDK's have no common root
            self.mode = before
            raise _failed(f"Claude Code did not take the mode {mode}: {error}") from None

    async def _heard(self, claude: ClaudeDesk, message: Message) -> None:
        if isinstance(message, SystemMessage):
            await self._heard_of_mode(message)
        await self.editor.tell(self._updates.of(message))
        if isinstance(message, ResultMessage) and self._turn and _answers(message, self._turn):
            self._turn.result = message
            if not self._tells_state:
                self._turn.end()
        if (state := state_of(message)) is not None:
            self._tells_state = True
            self._end_turn_when(claude, is_idle=state == "idle")

    def _end_turn_when(self, claude: ClaudeDesk, *, is_idle: bool) -> None:
        """A turn ends once Claude Code is idle and does not begin with something that it was told meanwhile."""
        if self._ending:
            self._ending.cancel()
            self._ending = None
        turn = self._turn
        if turn and is_idle and (turn.result or turn.is_cancelled):
            self._ending = asyncio.get_running_loop().call_later(claude.patience, turn.end)

    async def _heard_of_mode(self, message: SystemMessage) -> None:
        mode = message.data.get("permissionMode")
        if isinstance(mode, str) and mode != self.mode:
            self.mode = mode
            await self.editor.tell([acp.mode_update(mode)])


async def _message(blocks: list[Json], message_id: str) -> AsyncIterator[Json]:
    message = {"role": "user", "content": blocks}
    yield {"type": "user", "message": message, "parent_tool_use_id": None, "uuid": message_id}


def _answers(result: ResultMessage, turn: _Turn) -> bool:
    """Whether a result is about this prompt: it may be of something that was told before."""
    if turn.result is not None or turn.is_cancelled or not result.user_message_uuids:
        return True
    return turn.message in result.user_message_uuids


def _stop(result: ResultMessage) -> Stop:
    if (result.terminal_reason or "").startswith("aborted"):
        return "cancelled"
    if result.stop_reason == "refusal":
        return "refusal"
    if result.subtype in ("error_max_turns", "error_max_budget_usd"):
        return "max_turn_requests"
    if result.stop_reason == "max_tokens":
        return "max_tokens"
    if result.is_error:
        raise _failed(result.result or "; ".join(result.errors or ()) or "Claude Code failed")
    return "end_turn"


def _failed(words: str) -> RequestError:
    """An error whose words are for the person in the editor."""
    return RequestError(-32603, shown(words, lines=True))
