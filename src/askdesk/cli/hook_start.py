"""`askdesk hook`, before anything heavy is loaded: a running server answers, and no more is needed."""

from __future__ import annotations

import posix

from askdesk.cli import hook_client

DAYS = 7
SECONDS = DAYS * 86_400
_OPTIONS = {"--mode": "both", "--timeout": str(SECONDS), "--store": "", "--nonce": ""}


def answered(given: list[str]) -> bool:
    """Whether a server did it all. If not, the event is on standard input again."""
    options = _read(given)
    if options is None or not (path := _socket(options["--store"])):
        return False
    event = hook_client.read()
    nonce = options["--nonce"] or posix.urandom(16).hex()
    sent = hook_client.header(options["--mode"], options["--timeout"], nonce, len(event)) + event
    reply = hook_client.exchanged(path, sent, float(options["--timeout"]) - hook_client.LEFT)
    if reply is None:
        hook_client.hand_on(event)
        return False
    hook_client.write(reply.rstrip(b"\n"))
    return True


def _read(given: list[str]) -> dict[str, str] | None:
    """None where it takes the proper parser: to go to the store, to help, or to complain."""
    pairs = dict(zip(given[::2], given[1::2], strict=False))
    if len(given) % 2 or not pairs.keys() <= _OPTIONS.keys() or not pairs.get("--timeout", "0").isdigit():
        return None
    return _OPTIONS | pairs


def _socket(store: str) -> str | None:
    from askdesk.core.errors import InvalidSettings
    from askdesk.settings import hook_socket, load

    try:
        path = hook_socket(store or load().store)
    except InvalidSettings:  # said later, by who opens the store
        return None
    return str(path) if path and path.exists() else None
