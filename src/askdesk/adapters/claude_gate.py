"""The callback of the Claude Agent SDK: each call of a tool waits at a desk for what people say to it.

Whatever breaks is a denied call with a clean message. Who may steer the agent itself is none of its business.
"""

from __future__ import annotations

import asyncio
import json
import logging
from datetime import timedelta
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from claude_agent_sdk import PermissionResultAllow, PermissionResultDeny, PermissionUpdate, ToolPermissionContext

from askdesk.adapters.asking import Asking, Show
from askdesk.adapters.before import Before, decided
from askdesk.adapters.claude_plan import unseen_plan
from askdesk.adapters.threads import is_cancelled
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, quoted
from askdesk.core.limits import OPEN
from askdesk.core.model import (
    Allowed,
    Answered,
    Asker,
    Declined,
    Denied,
    Outcome,
    Permission,
    PreviewFormat,
    Questions,
    Settlement,
)
from askdesk.wire import permission, tool

__all__ = ["Gate", "Show", "Steered", "Verdict"]

log = logging.getLogger("askdesk")

Verdict: TypeAlias = PermissionResultAllow | PermissionResultDeny

_EXIT_PLAN = "ExitPlanMode"
_UNFIT = "NOT ASKED: the call breaks these rules; mend it and call again, or go on without it.\n{}"
_UNDECIDED = "NOT RUN: nobody could decide on this call. This is not consent: do not work around it."
_UNANSWERED = "NOT ANSWERED: the questions could not be put to anybody. This is not an answer and not consent."
_REDIRECTED = "DENIED: the person did not allow this call; it did not run. Their new instruction follows."
_NO_PLAN = "The plan cannot be shown: it was not written to the plan file, and is not in the transcript."


class CalledOff(Exception):
    """Raised by whoever shows an ask: the person called it off, and the agent with it. The text is for the model."""


class Steered(Protocol):
    """An agent that can be told something beside the answer to a call."""

    async def say(self, text: str) -> None: ...

    async def stop(self) -> None: ...


class Gate:
    """Any number of calls may wait at once.

    `show` shows an ask to somebody here until it is settled; without it, people elsewhere settle it. `config` is where
    Claude Code keeps its transcripts.
    """

    def __init__(
        self,
        desk: Desk,
        asker: Asker,
        *,
        before: Before | None = None,
        previews: PreviewFormat = "none",
        deadline: timedelta | None = None,
        config: Path,
        show: Show | None = None,
    ) -> None:
        self._asking = Asking(desk, asker, previews=previews, deadline=deadline, show=show)
        self.asker, self._before, self.previews, self._config = asker, before, previews, config
        self.agent: Steered | None = None
        self.own_tool = ""
        self._own_calls: dict[str, str] = {}  # the input of a call of our own tool -> which subagent makes it

    async def __call__(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> Verdict:
        if self.own_tool and name == self.own_tool:  # to ask whether it may ask would be one question too many
            self._own_calls[_text(given)] = context.agent_id or ""
            return PermissionResultAllow(updated_input=given)
        try:
            return await self._decided(await self._body(name, given, context), context)
        except CalledOff as end:
            return PermissionResultDeny(message=str(end), interrupt=True)
        except InvalidAsk as error:
            return PermissionResultDeny(message=_UNFIT.format(error))
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return PermissionResultDeny(message=_UNDECIDED)  # not this call was cancelled, but what it waited for
        except Exception as error:  # the SDK would show its text to the model
            log.error("nobody could decide on a call of %s: %s", quoted(name), type(error).__name__, exc_info=error)
            return PermissionResultDeny(message=_UNDECIDED)

    async def _body(self, name: str, given: dict[str, Any], context: ToolPermissionContext) -> Questions | Permission:
        suggestions = [suggestion.to_dict() for suggestion in context.suggestions]
        description = "\n".join(filter(None, (context.description, context.decision_reason)))
        if name == _EXIT_PLAN and "plan" not in given:
            description = await unseen_plan(self._config, context.tool_use_id or "") or _NO_PLAN
        return permission.body(name, given, folder=self.asker.project, description=description, suggestions=suggestions)

    async def _decided(self, body: Questions | Permission, context: ToolPermissionContext) -> Verdict:
        if isinstance(body, Permission) and (verdict := await decided(self._before, body)):
            if isinstance(verdict, Denied):
                return PermissionResultDeny(
                    message=permission.text(verdict, by="the application"), interrupt=verdict.stop
                )
            return PermissionResultAllow(updated_input=permission.released(body, verdict))
        return await self._verdict(body, await self.outcome(body, context.tool_use_id, context.agent_id), context)

    async def outcome(self, body: Questions | Permission, key: str | None, agent_id: str | None) -> Outcome:
        """How an ask ends. It is withdrawn where Claude Code gives the call up, or showing it breaks."""
        settlement = await self.settlement(body, key, agent_id)
        assert settlement is not None  # noqa: S101 - without an end to its patience there is one
        return settlement.outcome

    async def settlement(
        self, body: Questions | Permission, key: str | None, agent_id: str | None, patience: timedelta | None = None
    ) -> Settlement | None:
        """The same; None where the patience ended first, and then the ask stays open."""
        return await self._asking.settlement(body, key=key, parent=agent_id or "", patience=patience)

    async def _verdict(self, body: Questions | Permission, outcome: Outcome, context: ToolPermissionContext) -> Verdict:
        if isinstance(outcome, Denied) and outcome.redirect and self.agent:
            # With the interruption Claude Code drops what it was at, and takes the instruction as a new one.
            await self.agent.say(outcome.redirect)
            return PermissionResultDeny(message=_REDIRECTED, interrupt=True)
        if isinstance(outcome, Allowed) and isinstance(body, Permission):
            kept = _remembered(outcome, context.suggestions)
            return PermissionResultAllow(
                updated_input=permission.released(body, outcome), updated_permissions=kept or None
            )
        made = permission.decision(body, outcome)
        if made["behavior"] == "allow":
            return PermissionResultAllow(updated_input=made["updatedInput"])
        return PermissionResultDeny(message=made["message"], interrupt=made.get("interrupt", False))

    async def ask_people(self, given: dict[str, Any]) -> dict[str, Any]:
        """A call of our own tool, which works where AskUserQuestion does not: the text for the model."""
        agent_id = self._own_calls.pop(_text(given), "")
        try:
            questions = tool.parse(given, OPEN)
            outcome = await self.outcome(questions, None, agent_id)
            if isinstance(outcome, Declined) and outcome.stop and self.agent:
                await self.agent.stop()
            return _told(tool.text(questions, outcome), is_error=not isinstance(outcome, Answered))
        except CalledOff as end:
            if self.agent:
                await self.agent.stop()
            return _told(str(end), is_error=True)
        except InvalidAsk as error:
            return _told(_UNFIT.format(error), is_error=True)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return _told(_UNANSWERED, is_error=True)
        except Exception as error:  # the SDK would show its text to the model
            log.error("the questions could not be asked: %s", type(error).__name__, exc_info=error)
            return _told(_UNANSWERED, is_error=True)


def _told(text: str, *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], "is_error": is_error}


def _text(given: dict[str, Any]) -> str:
    return json.dumps(given, sort_keys=True)


def _remembered(outcome: Allowed, suggestions: list[PermissionUpdate]) -> list[PermissionUpdate]:
    """The suggestions that the person wants kept, as Claude Code made them."""
    chosen = [json.loads(rule) for rule in outcome.remember]
    return [suggestion for suggestion in suggestions if suggestion.to_dict() in chosen]
