"""Joins Claude Code's Notification hook to notifications: it says that it waits, they say which project asks what."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from askdesk.core.errors import AskdeskError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from askdesk.adapters.claude_hook import Tell
    from askdesk.core.desk import Desk
    from askdesk.core.model import Ask
    from askdesk.settings import Settings
    from askdesk.wire.hook import Event

log = logging.getLogger(__name__)

_WAITING = ("permission_prompt", "elicitation_dialog")  # and not that it is idle, or has signed in


def telling(desk: Desk, settings: Settings, urls: Sequence[str], *, is_server: bool) -> Tell | None:
    """Tells people elsewhere; None where there are no URLs. A server tells of asks on the desk by itself."""
    if not urls:
        return None

    async def tell(event: Event, asks: list[Ask]) -> None:
        if event.kind not in _WAITING or (asks and is_server):
            return
        from askdesk.surfaces import notify, serving
        from askdesk.surfaces.through_apprise import ThroughApprise

        try:
            send = ThroughApprise()
            if not asks:
                message = notify.of_host(_as_ask(desk, event), settings.notify_detail)
                for url in dict.fromkeys(urls):
                    await send(url, message)
                return
            page = await serving.url(desk.shelf, desk.now())
            link = (lambda ask_id: f"{page}/asks/{ask_id}" if ask_id else f"{page}/") if page else None
            await notify.tell_once(desk, asks, urls, detail=settings.notify_detail, link=link, send=send)
        except AskdeskError as error:
            log.warning("nobody could be told: %s", error)

    return tell


def _as_ask(desk: Desk, event: Event) -> Ask:
    """What stands in Claude Code's dialog and not on the desk, so that it can be told of in the same words."""
    from askdesk.core.desk import new_id
    from askdesk.core.model import Ask, Question, Questions

    words = Question(event.message or "Claude Code waits", kind="text")
    return Ask(new_id(), Questions((words,)), event.asker(), desk.now())
