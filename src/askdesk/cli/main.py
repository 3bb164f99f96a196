"""The command line: finds the command, loads that one file, turns errors into exit codes.

Standard output is for the result; everything else goes to standard error.
"""

from __future__ import annotations

import sys

ANSWERED, FAILED, INVALID, DECLINED, EXPIRED, WITHDRAWN, UNREACHABLE, STILL_OPEN, SETTLED_ELSEWHERE = range(9)

COMMANDS = {
    "ask": "ask questions, or for a permission, and wait for the answer",
    "wait": "wait until an ask is settled, and print the result",
    "show": "show one ask",
    "list": "list open asks, or settled ones",
    "answer": "settle an ask: answer, decline, allow or deny",
    "withdraw": "take an ask back",
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
    given = sys.argv[1:] if arguments is None else arguments
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
    return _run(name, given[1:])


def _run(name: str, given: list[str]) -> int:
    from importlib import import_module

    from askdesk.cli import command as shared

    command = import_module(f"askdesk.cli.{name}")
    arguments = shared.new(name, command)
    return shared.guarded(lambda: command.run(arguments.parse_args(given)))


if __name__ == "__main__":
    sys.exit(main())
