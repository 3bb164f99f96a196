"""The whole server as one ASGI application."""

from __future__ import annotations

from starlette.types import ASGIApp

from askdesk.server import api, pages
from askdesk.server.doors import Doors
from askdesk.server.guard import Guard, Origins
from askdesk.server.service import Service

DOORS = (*api.DOORS, *pages.DOORS)


def application(service: Service, origins: Origins, *, max_requests: int = 4096) -> ASGIApp:
    """All doors, behind the guard."""
    max_body = 2 * service.limits.size + 10_000  # an input as JSON text within JSON: every quote may be two bytes
    return Guard(Doors(service, DOORS), origins, service.metrics, max_body=max_body, max_requests=max_requests)
