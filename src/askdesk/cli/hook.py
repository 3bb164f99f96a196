"""Answer one event of Claude Code's hooks: the event on standard input, the reply on standard output.

askdesk install claude-code writes the hooks that call this; nobody needs to call it by hand. A running server of the
same store does the work; without one, this waits at the store by itself.

It prints nothing where there is no decision: Claude Code then asks in its own dialog, as if there were no hook.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from askdesk.cli.hook_start import SECONDS, Options
from askdesk.cli.main import ANSWERED
from askdesk.wire.nonce import is_nonce

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

_LEAVES = 8.0  # seconds of its time that a hook leaves Claude Code
_LOOK_EVERY = 2.0  # seconds, for whether Claude Code is still there


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mode", choices=["both", "desk"], default="both", help="the dialog and the desk, or the desk alone"
    )
    parser.add_argument(
        "--timeout", type=int, default=SECONDS, metavar="SECONDS", help="as in Claude Code's settings; it ends before"
    )
    parser.add_argument("--no-server", action="store_true", help="wait at the store, even where a server runs")
    parser.add_argument(
        "--nonce", type=_nonce, default="", metavar="DIGITS", help="names this run, where it goes on with another's"
    )


def _nonce(text: str) -> str:
    from argparse import ArgumentTypeError  # which nobody needs who calls it as they should

    if not is_nonce(text):
        raise ArgumentTypeError("must be 32 hexadecimal digits")
    return text


def run(given: Namespace) -> int:
    """Unreached but for what `hook_start` leaves to a parser, which then says what is wrong."""
    options = Options(given.mode, str(given.timeout), given.nonce, given.store or "")
    return handle(options)


def handle(options: Options) -> int:
    """Wait at the store. What fails is said to the person at Claude Code's terminal, who decides there."""
    from askdesk.core.errors import AskdeskError
    from askdesk.wire import hook

    try:
        reply = asyncio.run(_handled(options, sys.stdin.buffer.read()))
    except (AskdeskError, OSError) as error:
        reply = hook.notice(f"{error}: decide here")
    if reply is not None:
        import msgspec

        sys.stdout.write(msgspec.json.encode(reply).decode())
    return ANSWERED


async def _handled(options: Options, raw: bytes) -> dict[str, Any] | None:
    from askdesk.adapters.claude_hook import ClaudeHook, Visit
    from askdesk.cli.hook_notice import telling
    from askdesk.open import open_desk
    from askdesk.settings import load
    from askdesk.wire import hook

    settings = load()
    event = hook.read(raw, size=settings.max_bytes, depth=settings.max_depth)
    visit = Visit(
        event,
        mode="desk" if options.mode == "desk" else "both",
        seconds=max(options.timeout - _LEAVES, 1.0),
        nonce=options.nonce,
        host=socket.gethostname(),
        process=os.getppid(),
        previews="html" if os.environ.get("CLAUDE_CODE_QUESTION_PREVIEW_FORMAT") == "html" else "markdown",
        is_local=bool(event.transcript),
    )
    async with open_desk(options.store or None) as desk:
        if event.name == "Ping":
            return {"pong": "store"}
        claude = ClaudeHook(desk, by=settings.by, tell=telling(desk, settings, settings.notify_urls, is_server=False))
        waiting = asyncio.ensure_future(claude.handled(visit))
        await _until_done_or_gone(waiting)
        if waiting.cancelled():
            await claude.left(visit)
            return None
        return waiting.result()


async def _until_done_or_gone(waiting: asyncio.Future[Any]) -> None:
    """Claude Code may end, or end this, while it waits; nobody would ever read the reply."""
    loop, parent = asyncio.get_running_loop(), os.getppid()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, waiting.cancel)
    while not waiting.done():
        await asyncio.wait((waiting,), timeout=_LOOK_EVERY)
        if os.getppid() != parent:
            waiting.cancel()
            with suppress(asyncio.CancelledError):
                await asyncio.wait((waiting,))
