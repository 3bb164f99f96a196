"""The whole server as one ASGI application."""

from __future__ import annotations

from starlette.types import ASGIApp

from askdesk.server import agent_page, api, ask_page, collecting, mcp, pages, sign_in
from askdesk.server.doors import Doors
from askdesk.server.guard import Guard, Origins
from askdesk.server.service import Service

DOORS = (
    *api.DOORS,
    *collecting.DOORS,
    *mcp.DOORS,
    *pages.DOORS,
    *ask_page.DOORS,
    *agent_page.DOORS,
    *sign_in.DOORS,
)
_MOST_REQUESTS = 20_000  # at a time: nearly all of them live pages and agents that wait, which take 12 kB each


def application(service: Service, origins: Origins, *, max_requests: int = _MOST_REQUESTS) -> ASGIApp:
    """All doors, behind the guard."""
    doors = Doors(service, DOORS)
    return Guard(doors, origins, service.metrics, max_body=service.max_body, max_requests=max_requests)
