"""`askdesk hook`, before anything heavy is loaded: a running server answers, and no more is needed."""

from __future__ import annotations

import os

from askdesk.wire.nonce import is_nonce

DAYS = 7
SECONDS = DAYS * 86_400


class Options:
    """How a hook was called. Read by hand: a parser would take as long as the rest."""

    def __init__(self, mode: str = "both", timeout: str = str(SECONDS), nonce: str = "", store: str = "") -> None:
        self.mode, self.timeout, self.store = mode, int(timeout), store
        self.nonce = nonce or os.urandom(16).hex()
        if not is_nonce(self.nonce):
            raise ValueError("a nonce has 32 hexadecimal digits")
        self.no_server = False


def read(given: list[str]) -> Options | None:
    """None where it takes the proper parser: to help, or to complain."""
    rest = [each for each in given if each != "--no-server"]
    pairs = {name.removeprefix("--"): value for name, value in zip(rest[::2], rest[1::2], strict=False)}
    known = {"mode", "timeout", "nonce", "store"}
    if len(rest) % 2 or not pairs.keys() <= known or not pairs.get("timeout", "0").isdigit():
        return None
    if pairs.get("mode", "both") not in ("both", "desk") or not is_nonce(pairs.get("nonce", "0" * 32)):
        return None
    options = Options(**pairs)
    options.no_server = "--no-server" in given
    return options


def run(options: Options) -> int:
    """By a running server where there is one; else here."""
    if not options.no_server and _answered(options):
        return 0
    from askdesk.cli import hook

    return hook.handle(options)


def _answered(options: Options) -> bool:
    """Whether a server did it all. If not, the event is on standard input again."""
    path = _socket(options.store)
    if path is None:
        return False
    from askdesk.cli import hook_client  # there are none of its sockets on Windows

    event = hook_client.read()
    sent = hook_client.header(options.mode, str(options.timeout), options.nonce, len(event)) + event
    reply = hook_client.exchanged(path, sent, options.timeout - hook_client.LEFT)
    if reply is None:
        hook_client.hand_on(event)
        return False
    hook_client.write(reply.rstrip(b"\n"))
    return True


def _socket(store: str) -> str | None:
    from askdesk.core.errors import InvalidSettings
    from askdesk.settings import hook_socket, load

    try:
        path = hook_socket(store or load().store)
    except InvalidSettings:  # said later, by who opens the store
        return None
    return str(path) if path and path.exists() else None
