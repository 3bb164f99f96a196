"""Take the hooks out again that askdesk install wrote.

Where nobody changed the settings since, they are to the byte what they were; else only our own hooks are removed.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli import claude_code
from askdesk.cli.command import force_argument, refused_to_agents, say
from askdesk.cli.install import dry_run_argument, host_argument, print_diff, scope_arguments

OWN_STORE = True  # settings of another program are no store


def arguments(parser: ArgumentParser) -> None:
    host_argument(parser)
    scope_arguments(parser)
    dry_run_argument(parser)
    force_argument(parser)


def run(given: Namespace) -> int:
    if (code := refused_to_agents(given)) is not None and not given.dry_run:
        return code
    file = claude_code.ClaudeSettings(claude_code.settings_path(given.scope))
    if not claude_code.ours(file.settings):
        return say(f"{file.path} has no hooks of ours")
    before = file.uninstalled()
    print_diff(file, (before or b"").decode("utf-8", "replace"))
    if given.dry_run:
        return say("nothing was changed")
    file.uninstall()
    return say(f"done: {file.path} is {'as it was before' if before is not None else 'gone, as it was before'}")
