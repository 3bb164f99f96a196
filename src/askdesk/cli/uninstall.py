"""Take out again what askdesk install wrote.

Where nobody changed the host's settings since, they are to the byte what they were; else only what is ours is removed.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli import claude_code
from askdesk.cli.command import force_argument, refused_to_agents, say
from askdesk.cli.host_file import HostFile
from askdesk.cli.hosts import HOSTS
from askdesk.cli.install import dry_run_argument, host_argument, print_diff, scope_arguments
from askdesk.cli.settings_file import SettingsFile

OWN_STORE = True  # settings of another program are no store


def arguments(parser: ArgumentParser) -> None:
    host_argument(parser)
    scope_arguments(parser)
    dry_run_argument(parser)
    force_argument(parser)


def run(given: Namespace) -> int:
    if (code := refused_to_agents(given)) is not None and not given.dry_run:
        return code
    file = _file(given)
    if isinstance(file, str):
        return say(file)
    before = file.uninstalled()
    print_diff(file, (before or b"").decode("utf-8", "replace"))
    if given.dry_run:
        return say("nothing was changed")
    file.uninstall()
    return say(f"done: {file.path} is {'as it was before' if before is not None else 'gone, as it was before'}")


def _file(given: Namespace) -> SettingsFile | str:
    """The file that we are in, or that we are not."""
    if given.name in HOSTS:
        host = HostFile(HOSTS[given.name], given.scope)
        return host if host.has_ours() else f"{host.path} has no server of ours"
    claude = claude_code.ClaudeSettings(claude_code.settings_path(given.scope))
    return claude if claude_code.ours(claude.settings) else f"{claude.path} has no hooks of ours"
