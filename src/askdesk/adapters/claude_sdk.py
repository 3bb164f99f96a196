"""The Claude Agent SDK: what Claude asks goes to a desk, and people can tell it something while it works.

    can_use_tool(desk)          the callback alone, for options of your own
    with_desk(desk, options)    options with everything: the callback, previews, parking, questions in subagents
    ClaudeDesk(desk, options)   a client that people can also interrupt, redirect and tell something

Whatever breaks is a denied call with a clean message. The SDK keeps its stream open for the callback by itself; the
dummy hook that older versions needed does no harm.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

from askdesk.adapters.before import Before
from askdesk.adapters.ear import listen
from askdesk.core.desk import Desk
from askdesk.core.errors import MissingGuest
from askdesk.core.limits import OPEN
from askdesk.core.model import Asker, PreviewFormat
from askdesk.core.process import here
from askdesk.core.work import Instruction
from askdesk.wire import permission, tool

try:
    from claude_agent_sdk import (
        ClaudeAgentOptions,
        ClaudeSDKClient,
        HookMatcher,
        ResultMessage,
        SystemMessage,
        create_sdk_mcp_server,
    )
    from claude_agent_sdk import tool as sdk_tool
    from claude_agent_sdk.types import CanUseTool, HookContext, HookInput, HookJSONOutput, McpSdkServerConfig, Message

    from askdesk.adapters.claude_gate import Gate, Show
except ImportError:
    raise MissingGuest("claude-agent-sdk", "claude") from None

log = logging.getLogger("askdesk")

SERVER, ASK_PEOPLE = "askdesk", "ask_people"
ASK_TOOL = f"mcp__{SERVER}__{ASK_PEOPLE}"  # an agent of yours that has a list of tools needs this name in it to ask

_PREVIEWS = "CLAUDE_CODE_QUESTION_PREVIEW_FORMAT"
_STATES = "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"
_CONFIG = "CLAUDE_CONFIG_DIR"
_HOW_TO_ASK = (
    "\n\nThis one also works inside subagents, and takes up to 20 questions with up to 20 options each, and questions "
    'of kind "text" and "number".'
)
_PATIENCE = 1.0  # seconds in which Claude Code begins with what it was told last
_HOOK_SLACK = 60.0  # seconds that a hook may take beyond its own waiting


def can_use_tool(
    desk: Desk,
    *,
    asker: Asker | None = None,
    before: Before | None = None,
    previews: PreviewFormat = "none",
    deadline: timedelta | None = None,
) -> CanUseTool:
    """The callback for `ClaudeAgentOptions`: AskUserQuestion goes to people as questions, other tools as permissions.

    `before` decides on tools without people: `Allowed()`, perhaps with another input, `Denied(message)`, or None to
    leave it to them. It never answers a question.
    """
    options = ClaudeAgentOptions()
    return Gate(
        desk,
        asker or asker_of(options),
        before=before,
        previews=previews,
        deadline=deadline,
        config=config_folder(options),
    )


def with_desk(
    desk: Desk,
    options: ClaudeAgentOptions | None = None,
    *,
    agent: str = "claude",
    before: Before | None = None,
    previews: PreviewFormat = "none",
    deadline: timedelta | None = None,
    park_after: timedelta | None = None,
) -> ClaudeAgentOptions:
    """Options whose questions and permissions go to a desk. What they were set to stays, but for what would hide them.

    With `park_after`, a question that nobody answers for so long ends the run: `ResultMessage.deferred_tool_use` is
    set, the process may end, and whoever resumes the session gets the answer that was given meanwhile.
    """
    given = _named(options or ClaudeAgentOptions())
    gate = _gate(desk, given, agent, before=before, previews=previews, deadline=deadline)
    return _equipped(given, gate, park_after)


def _gate(desk: Desk, given: ClaudeAgentOptions, agent: str, **how: Any) -> Gate:
    return Gate(desk, asker_of(given, agent), config=config_folder(given), **how)


def _equipped(given: ClaudeAgentOptions, gate: Gate, park_after: timedelta | None) -> ClaudeAgentOptions:
    _check_free(given)
    hooks = dict(given.hooks or {})
    if park_after is not None:
        parking = HookMatcher(tool.NAME, [_parking(gate, park_after)], park_after.total_seconds() + _HOOK_SLACK)
        hooks["PreToolUse"] = [*hooks.get("PreToolUse", ()), parking]
    return replace(
        with_questions(given),
        can_use_tool=gate,
        env={**({} if gate.previews == "none" else {_PREVIEWS: gate.previews}), **given.env},
        hooks=hooks or None,
        mcp_servers=_servers(given, gate),
    )


def _named(options: ClaudeAgentOptions) -> ClaudeAgentOptions:
    """With a session that is known from the start, so that people can tell it something."""
    known = options.session_id or options.resume or options.continue_conversation
    return options if known else replace(options, session_id=str(uuid4()))


def _check_free(options: ClaudeAgentOptions) -> None:
    if options.can_use_tool:
        raise ValueError("can_use_tool is the desk's here; decide in before= what needs no person")
    if options.permission_prompt_tool_name:
        raise ValueError("permission_prompt_tool_name would take the desk's place: leave it out")


def with_questions(options: ClaudeAgentOptions) -> ClaudeAgentOptions:
    """Options that let Claude ask: AskUserQuestion is added to a list of tools, and what hides it is warned of."""
    if tool.NAME in options.disallowed_tools:
        log.warning("disallowed_tools holds %s: Claude cannot ask", tool.NAME)
    if options.permission_mode == "dontAsk":
        log.warning("permission_mode is dontAsk: Claude cannot ask questions, nor for permission")
    if options.permission_mode == "bypassPermissions":
        log.warning("permission_mode is bypassPermissions: tools run without anybody being asked")
    if isinstance(options.tools, list) and tool.NAME not in options.tools:
        return replace(options, tools=[*options.tools, tool.NAME])
    return options


def asker_of(options: ClaudeAgentOptions, agent: str = "claude") -> Asker:
    """Who asks where an agent runs with these options."""
    host, process = here()
    project = os.fsencode(options.cwd or os.getcwd()).decode("utf-8", "backslashreplace")
    return Asker(agent, session=options.session_id or options.resume or "", project=project, host=host, process=process)


def config_folder(options: ClaudeAgentOptions) -> Path:
    """Where Claude Code keeps its transcripts."""
    surroundings = {**os.environ, **options.env}
    return Path(surroundings.get(_CONFIG) or Path(surroundings.get("HOME") or Path.home()) / ".claude")


def _servers(options: ClaudeAgentOptions, gate: Gate) -> Any:
    """The MCP servers with our own, which is in the process itself; it is loaded with the first request."""
    if not isinstance(options.mcp_servers, dict):
        log.warning("mcp_servers is a file: subagents have no tool to ask with")
        return options.mcp_servers
    gate.own_tool = ASK_TOOL
    return {**options.mcp_servers, SERVER: ask_server(gate)}


def ask_server(gate: Gate) -> McpSdkServerConfig:
    made = tool.definition(OPEN, gate.previews)
    described = f"{made['description'].rstrip()}{_HOW_TO_ASK}"
    ask = sdk_tool(ASK_PEOPLE, described, made["input_schema"])(gate.ask_people)
    server = {**create_sdk_mcp_server(SERVER, tools=[ask]), "alwaysLoad": True}
    return cast(McpSdkServerConfig, server)


def _parking(gate: Gate, patience: timedelta) -> Callable[..., Awaitable[HookJSONOutput]]:
    """A hook that waits a while for an answer, and then lets the run end. Once there is one, the callback gives it."""

    async def park(event: HookInput, tool_use_id: str | None, context: HookContext) -> HookJSONOutput:
        given = cast(dict[str, Any], event)
        try:
            body = permission.body(given["tool_name"], given["tool_input"], folder=gate.asker.project)
            if await gate.settlement(body, tool_use_id, given.get("agent_id"), patience):
                return {}
        except Exception as error:  # noqa: BLE001 - the callback meets the same, and says it
            log.debug("a call is not parked: %s", type(error).__name__)
            return {}
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}}

    return park


class ClaudeDesk:
    """A Claude that asks at a desk, and that people can interrupt, redirect and tell something while it works.

    async with ClaudeDesk(desk, options) as claude:
        async for message in claude.run("Build the service"):
            ...
    """

    def __init__(
        self,
        desk: Desk,
        options: ClaudeAgentOptions | None = None,
        *,
        agent: str = "claude",
        before: Before | None = None,
        previews: PreviewFormat = "none",
        deadline: timedelta | None = None,
        park_after: timedelta | None = None,
        show: Show | None = None,
    ) -> None:
        given = _named(options or ClaudeAgentOptions())
        gate = _gate(desk, given, agent, before=before, previews=previews, deadline=deadline, show=show)
        gate.agent = self
        ready = _equipped(given, gate, park_after)
        self._desk, self.asker = desk, gate.asker
        self.client = ClaudeSDKClient(replace(ready, env={**ready.env, _STATES: "1"}))
        self._told_at = float("-inf")
        self._telling = asyncio.Lock()  # so that it is told in order what was told in order

    async def __aenter__(self) -> ClaudeDesk:
        await self.client.connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.disconnect()

    async def run(self, prompt: str | None = None, *, stay: bool = False) -> AsyncIterator[Message]:
        """What Claude says to a prompt, or in a resumed session to the answer it waited for, until it has ended.

        With `stay` it goes on for ever: each thing that people tell it is a new task.
        """
        async with self.at_work():
            if prompt is not None:
                await self.client.query(prompt)
            async for message in self._messages(stay):
                yield message

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        """Let people see it and tell it something, for as long as the block runs. `run` does so by itself."""
        async with self._desk.at_work(self.asker) as work:
            listening = asyncio.ensure_future(listen(work, self._deliver, "Claude"))
            try:
                yield
            finally:
                listening.cancel()

    @property
    def patience(self) -> float:
        """Seconds in which Claude Code may still begin with what it was told last, though it says that it is idle."""
        return max(self._told_at + _PATIENCE - asyncio.get_running_loop().time(), 0)

    async def _messages(self, stay: bool) -> AsyncIterator[Message]:
        """Until Claude Code is idle: one prompt may have several results, where something was told in between.

        A version that does not say when it is idle is taken to be so after a result.
        """
        messages = self.client.receive_messages()
        patience: float | None = None
        tells = False
        while True:
            try:
                message = await asyncio.wait_for(anext(messages), patience)
            except (TimeoutError, StopAsyncIteration):
                return
            patience, state = None, state_of(message)
            tells = tells or state is not None
            if state is None:
                yield message
            if not stay and (state == "idle" or (isinstance(message, ResultMessage) and not tells)):
                patience = self.patience
                if patience == 0:
                    return

    async def say(self, text: str) -> None:
        """Tell it something right now: what it is at it goes on with, unless it is stopped."""
        self._told_at = asyncio.get_running_loop().time()
        await self.client.query(text)

    async def stop(self) -> None:
        await self.client.interrupt()

    async def _deliver(self, instruction: Instruction) -> None:
        self._told_at = asyncio.get_running_loop().time()  # so that a run which just ends waits for it
        async with self._telling:
            if instruction.stop:
                await self.stop()
            if instruction.text:
                await self.say(instruction.text)


def state_of(message: Message) -> str | None:
    """What Claude Code says of its own state; None where a message is about something else."""
    if isinstance(message, SystemMessage) and message.subtype == "session_state_changed":
        return str(message.data.get("state"))
    return None


def is_parked(message: Message) -> bool:
    """Whether a run has ended only because nobody answered yet: resume its session later."""
    return isinstance(message, ResultMessage) and message.deferred_tool_use is not None
