"""What an application decides by itself, before people are asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from askdesk.adapters.threads import called
from askdesk.core.errors import InvalidReply
from askdesk.core.model import Allowed, Denied, Permission

Verdict: TypeAlias = Allowed | Denied | None
Before: TypeAlias = Callable[[Permission], Verdict | Awaitable[Verdict]]


async def decided(before: Before | None, call: Permission) -> Verdict:
    """The application's own verdict on a call; None leaves it to people. What breaks in it raises, and so denies."""
    if before is None:
        return None
    try:
        verdict = await called(before, call)
    except InvalidReply as error:  # the application's own mistake, and no person's
        raise RuntimeError("what decides before people do made no valid reply") from error
    if verdict is not None and not isinstance(verdict, Allowed | Denied):
        raise TypeError("what decides before people do returns Allowed, Denied or None")
    return verdict
