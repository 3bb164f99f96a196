"""A host's own dialog as a surface: the form that an MCP host or an ACP editor shows. How it is sent is not known here.

Only an accepted form with something in it is an answer. A dialog that ends sooner than a person could have read it was
shown to nobody, whatever the host says came of it.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple, TypeAlias

from askdesk.core.errors import AskdeskError, InvalidReply
from askdesk.core.model import Allowed, Answered, Ask, Declined, Denied, Permission, Questions, Reply
from askdesk.core.store import Shelf
from askdesk.core.surface import Present
from askdesk.core.text import Shown, is_blank, shown, shown_json, wrapped
from askdesk.surfaces import draft
from askdesk.surfaces.call import call_lines
from askdesk.surfaces.exact import exact_name
from askdesk.surfaces.form import Given
from askdesk.surfaces.spans import text_of
from askdesk.surfaces.texts import say
from askdesk.wire import form as wire
from askdesk.wire.form import Dialect, Form, Left, Returned, Unfit

_TRIES = 3  # of a person whose form does not fit
_LONGEST_CALL = 6000  # characters; a call that is longer could be allowed without all of it having been seen
_COLUMNS = 70  # of a dialog in a terminal that is none of the wide ones


class Guard(NamedTuple):
    """Seconds before which no person can have done it: sent a filled-in form; declined or closed it."""

    sent: float = 0.4
    left: float = 1.5


Send: TypeAlias = Callable[[Form], Awaitable[tuple[str, Mapping[str, object]]]]
"""Shows a form and returns what came of it: accept, decline or cancel, and the content. Cancelled, it takes it back."""


class Dialog:
    """The dialog of one host, for one person. Of a message it shows so many `lines`, where it does not show all."""

    def __init__(
        self,
        shelf: Shelf,
        by: str,
        surface: str,
        dialect: Dialect,
        *,
        notes: bool = False,
        guard: Guard | None = None,
        lines: int | None = None,
    ) -> None:
        self.by, self.surface = by, surface
        self._shelf, self._dialect, self._notes, self._guard = shelf, dialect, notes, guard or Guard()
        self._lines = lines
        self.left = Left(seen=False)  # how it was left, where present() returned None
        self.content: Mapping[str, object] = {}  # what was sent in it last

    def form(self, ask: Ask, flaw: str = "") -> Form | None:
        """What to show; None for a call that is too long to be read in a dialog."""
        if isinstance(ask.body, Permission):
            return self._permission_form(ask.body, flaw)
        made = wire.form(ask.body, self._dialect, notes=self._notes, words=_words())
        return Form(f"{flaw}\n\n{made.message}", made.schema) if flaw else made

    def _permission_form(self, permission: Permission, flaw: str) -> Form | None:
        before = f"{flaw}\n\n" if flaw else ""
        for message in (f"{before}{_whole(permission)}", _in_short(permission)):
            if self._is_seen(message):
                return Form(message, _decision(self._dialect))
        return None

    def _is_seen(self, message: str) -> bool:
        """Whether all of it is: what is cut off could be allowed all the same."""
        if self._lines is None:
            return len(message) <= _LONGEST_CALL
        return sum(len(wrapped(Shown(line), _COLUMNS)) for line in message.split("\n")) <= self._lines

    def said(self, ask: Ask, returned: Returned) -> Reply | Left | Unfit:
        """What came back, as a reply where a person made it."""
        if returned.action == "accept":
            return self._accepted(ask, returned)
        seen = returned.seconds >= self._guard.left
        if returned.action == "decline" and seen:
            return Denied() if ask.permission else Declined()
        return Left(seen)  # closed; or an action that nobody knows, which is none

    def _accepted(self, ask: Ask, returned: Returned) -> Reply | Left | Unfit:
        try:
            reply = _reply(ask, returned.content)
        except InvalidReply as error:
            return self.unfit(error)
        if reply is None:
            return Left(seen=returned.seconds >= self._guard.left)
        return reply if returned.seconds >= self._guard.sent else Left(seen=False)

    def unfit(self, error: InvalidReply) -> Unfit:
        return Unfit(say("host_dialog.unfit", why=shown(str(error), lines=True)))

    def present(self, send: Send) -> Present:
        """The surface: shows the form, once more where it does not fit, and leaves the ask open where it was closed."""

        async def presented(ask: Ask) -> Reply | None:
            flaw = ""
            self.left = Left(seen=False)
            for _ in range(_TRIES):
                if (made := self.form(ask, flaw)) is None:
                    return None
                started = time.monotonic()
                action, content = await send(made)
                self.content = content
                returned = Returned(action, content, time.monotonic() - started)
                match self.said(ask, returned):
                    case Left() as left:
                        self.left = left
                        await self.keep(ask, content)
                        return None
                    case Unfit(why):
                        flaw = why
                    case reply:
                        return reply
            self.left = Left(seen=True)
            return None

        return presented

    async def keep(self, ask: Ask, content: Mapping[str, object]) -> None:
        """A form that settled nothing: what somebody typed into it is kept as a draft."""
        if not isinstance(ask.body, Questions):
            return
        with suppress(AskdeskError):
            answers = wire.read(ask.body, content)
            given = [Given.of(q, a, Given()) if a else Given() for q, a in zip(ask.questions, answers, strict=True)]
            await draft.keep_apart(self._shelf, ask, self.by, draft.Draft(v=1, given=tuple(given)))


def _reply(ask: Ask, content: Mapping[str, object]) -> Reply | None:
    """None where nothing was filled in."""
    if isinstance(ask.body, Questions):
        answers = wire.read(ask.body, content)
        return Answered(answers) if any(answers) else None
    decision, reason = content.get("decision"), content.get("reason")
    words = reason if isinstance(reason, str) and not is_blank(reason) else ""
    match decision:
        case "allow":
            return Allowed()
        case "deny":
            return Denied(words)
        case None | "":
            return None
        case _:
            raise InvalidReply(f"decision: {say('host_dialog.decide')}")


def _whole(permission: Permission) -> str:
    call = "\n".join(text_of(spans) for spans in call_lines(permission))
    return f"{say('host_dialog.may')}\n\n{call}"


def _in_short(permission: Permission) -> str:
    """The call and nothing else, on as few lines as it takes."""
    lines = (
        say("host_dialog.may"),
        f"{exact_name(permission.tool)} {shown_json(permission.input)}",
        shown(permission.folder),
    )
    return "\n".join(line for line in lines if line)


def _decision(dialect: Dialect) -> dict[str, Any]:
    # The first is highlighted in some hosts, where Enter alone would choose it.
    options = [
        {"const": "deny", "title": say("host_dialog.deny")},
        {"const": "allow", "title": say("host_dialog.allow")},
    ]
    decision = {"type": "string", "title": say("host_dialog.decision"), "oneOf": options}
    reason = {"type": "string", "title": say("host_dialog.reason"), "description": say("host_dialog.reason_hint")}
    more = {} if dialect == "narrow" else {"reason": reason}  # it could not be left blank there
    return {"type": "object", "properties": {"decision": decision, **more}}


def _words() -> wire.Words:
    return wire.Words(*(say(f"host_dialog.{name}") for name in wire.Words._fields))
