"""The command line: finds the command, loads that one file, turns errors into exit codes.

Standard output is for the result; everything else goes to standard error.
"""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper

ANSWERED, FAILED, INVALID, DECLINED, EXPIRED, WITHDRAWN, UNREACHABLE, STILL_OPEN, SETTLED_ELSEWHERE = range(9)

COMMANDS = {
    "ask": "ask questions, or for a permission, and wait for the answer",
    "wait": "wait until an ask is settled, and print the result",
    "collect": "print the results of asks that were not waited for",
    "show": "show one ask",
    "list": "list open asks, or settled ones",
    "inbox": "all open asks, live: answer one after the other",
    "answer": "settle an ask: answer, decline, allow or deny",
    "withdraw": "take an ask back",
    "tell": "tell an agent at work something unasked, or to stop",
    "claude": "run Claude with a desk: it asks, you answer, here or anywhere",
    "serve": "run the page and the HTTP API",
    "link": "make a link that signs a browser in to the page",
    "mcp": "be the tool that an agent asks before it runs another",
    "acp": "be the agent that an editor starts: Claude, with a desk; or run any agent of ACP with one",
    "token": "make, list and revoke tokens for the HTTP API",
    "notify": "see whether notifications arrive",
    "hook": "answer an event of Claude Code's hooks",
    "install": "let an agent host ask at the desk",
    "uninstall": "take that back",
    "log": "questions and answers found in transcripts and API logs",
    "store": "copy, back up, check, shrink or purge the store",
    "demo": "see it work: a scripted agent asks, you answer",
    "doctor": "tell what is installed, which store is used and what is wrong",
}

EXIT_CODES = """\
exit codes:
  0  answered, allowed or done       5  withdrawn
  1  askdesk itself failed           6  nobody can be reached; the ask stays open
  2  invalid input                   7  still open, the wait ended
  3  declined or denied              8  settled by somebody else
  4  expired"""

USAGE = f"""\
usage: askdesk COMMAND [options]     askdesk COMMAND --help tells more

Agents ask, people answer.

commands:
{chr(10).join(f"  {name:<9} {meaning}" for name, meaning in COMMANDS.items())}

{EXIT_CODES}
"""


def main(arguments: list[str] | None = None) -> int:
    _mend_streams()
    try:
        code = _main(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
    except OSError as error:  # of our own streams; a store's are errors of ours
        return _unwritten(error)
    except KeyboardInterrupt:  # before a command could say more
        return FAILED
    return code


def _mend_streams() -> None:
    """A closed stream is an empty one, and what an encoding lacks is written as an escape."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: SIM115
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _unwritten(error: OSError) -> int:
    """Nobody reads the result, or there is no room for it."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # or the interpreter complains once more at its end
    try:
        if not isinstance(error, BrokenPipeError):
            print(f"askdesk: the output cannot be written: {error.strerror}", file=sys.stderr)
    except OSError:
        os.dup2(nowhere, 2)
    return FAILED


def _main(given: list[str]) -> int:
    name = given[0] if given else "--help"
    if name in ("--help", "-h", "help"):
        print(USAGE, end="")
        return ANSWERED
    if name in ("--version", "-V"):
        from askdesk import __version__

        print(f"askdesk {__version__}")
        return ANSWERED
    if name not in COMMANDS:
        print(f"askdesk: there is no command {name!r}; askdesk --help lists them", file=sys.stderr)
        return INVALID
    if name == "hook":
        from askdesk.cli import hook_start

        options = hook_start.read(given[1:])
        code = hook_start.run(options) if options else _run(name, given[1:])
        return min(code, FAILED)  # a 2 would be a no to Claude Code
    return _run(name, given[1:])


def _run(name: str, given: list[str]) -> int:
    from importlib import import_module

    from askdesk.cli import command as shared

    command = import_module(f"askdesk.cli.{name}")
    arguments = shared.new(name, command)
    try:
        parsed = arguments.parse_args(given)
    except SystemExit as end:  # --help, or what argparse has already complained of
        return end.code if isinstance(end.code, int) else INVALID
    return shared.guarded(lambda: int(command.run(parsed)))


if __name__ == "__main__":
    sys.exit(main())
