"""Let Claude Code ask at the desk: write its hooks, show what changes, and try them before it says "done".

askdesk install claude-code                  questions in Claude Code's dialog and at the desk; the first answer wins
askdesk install claude-code --mode desk      questions at the desk alone
askdesk install claude-code --permissions    tool permissions too, beside the dialog
askdesk install claude-code --http URL       straight to a desk server, with the token in ASKDESK_TOKEN
askdesk install claude-code --plugin         change nothing: print the folder to give to claude --plugin-dir

Where the desk is down, Claude Code asks in its own dialog, as if nothing were installed.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from difflib import unified_diff
from urllib.parse import urlsplit

from askdesk.cli import claude_code
from askdesk.cli.command import force_argument, refused_to_agents, say
from askdesk.cli.main import ANSWERED, FAILED
from askdesk.core.errors import InvalidSettings, Problem
from askdesk.core.text import shown

_HERE = ("127.0.0.1", "localhost", "::1")


def arguments(parser: ArgumentParser) -> None:
    host_argument(parser)
    scope_arguments(parser)
    parser.add_argument(
        "--mode", choices=["both", "desk"], default="both", help="the dialog and the desk, or the desk alone"
    )
    parser.add_argument("--permissions", action="store_true", help="ask for tool permissions at the desk too")
    parser.add_argument("--http", metavar="URL", help="go straight to this desk server, without a process for each")
    parser.add_argument("--plugin", action="store_true", help="print the folder of the Claude Code plugin instead")
    dry_run_argument(parser)
    force_argument(parser)


def host_argument(parser: ArgumentParser) -> None:
    parser.add_argument("name", choices=["claude-code"], metavar="NAME", help="the agent host: claude-code")


def scope_arguments(parser: ArgumentParser) -> None:
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--user", dest="scope", action="store_const", const="user", help="for all projects (default)")
    scope.add_argument(
        "--project", dest="scope", action="store_const", const="project", help="for the project in this folder alone"
    )
    parser.set_defaults(scope="user")


def dry_run_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")


def run(given: Namespace) -> int:
    if given.plugin:
        print(claude_code.PLUGIN)
        return say(f"claude --plugin-dir {claude_code.PLUGIN}")
    if not given.dry_run and (code := refused_to_agents(given)) is not None:
        return code
    file = claude_code.ClaudeSettings(claude_code.settings_path(given.scope))
    text = file.installed(claude_code.wanted(_way(given)))
    print_diff(file, text)
    if given.dry_run:
        return say("nothing was changed")
    if file.text != text:
        return _tried(file, file.install(text))
    say(f"{file.path} has these hooks already")
    return _tried(file, None)


def _way(given: Namespace) -> claude_code.Way:
    from askdesk.settings import hook_socket, load

    settings = load()
    if given.http:
        _check_url(given.http)
        return claude_code.Way(given.mode, given.permissions, url=given.http)
    store = given.store or settings.store
    if ":" not in store:
        store = os.path.abspath(os.path.expanduser(store))
    if store.startswith("memory:"):
        raise InvalidSettings([Problem("store", "memory: is another desk for every process; hooks need one to share")])
    return claude_code.Way(given.mode, given.permissions, str(hook_socket(store) or "-"), store)


def _check_url(url: str) -> None:
    """The token goes there, so it is read as a client would read it: by the host alone, whatever stands around that."""
    try:
        parts = urlsplit(url)
        is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _HERE)
        has_host = bool(parts.hostname) and parts.port != 0
    except ValueError as error:
        raise InvalidSettings([Problem("--http", f"is no URL: {error}")]) from None
    if not (is_safe and has_host):
        raise InvalidSettings([Problem("--http", "must be https://, or http:// on this machine")])
    if "@" in parts.netloc:
        raise InvalidSettings([Problem("--http", "must have nothing but the host and its port before the path")])
    if parts.query or parts.fragment:
        raise InvalidSettings([Problem("--http", "must end with its path: no ? and no #")])


def print_diff(file: claude_code.SettingsFile, text: str) -> None:
    before, after = file.text.splitlines(), text.splitlines()
    for line in unified_diff(before, after, str(file.path), str(file.path), lineterm=""):
        print(shown(line))


def _tried(file: claude_code.SettingsFile, before: claude_code.Kept | None) -> int:
    """Through the very hooks that are in the file now; where they do not answer, what was changed is put back."""
    from askdesk.cli.hook_trial import trial

    found = {trouble: None for _, hook in claude_code.ours(file.settings) if (trouble := trial(hook).trouble)}
    if not found:
        return say(f"done: the hooks in {file.path} answer. New sessions of Claude Code use them") or ANSWERED
    if before:
        file.restore(before)
    for trouble in found:
        say(trouble)
    return say(f"the hooks did not answer: {file.path} is as it was before", FAILED)
