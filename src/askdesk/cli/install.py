"""Let an agent host ask at the desk: write its settings, show what changes, and try it before it says "done".

askdesk install claude-code                  questions in Claude Code's dialog and at the desk; the first answer wins
askdesk install claude-code --mode desk      questions at the desk alone
askdesk install claude-code --permissions    tool permissions too, beside the dialog
askdesk install claude-code --http URL       straight to a desk server, with the token in ASKDESK_TOKEN
askdesk install claude-code --plugin         change nothing: print the folder to give to claude --plugin-dir

Where the desk is down, Claude Code asks in its own dialog, as if nothing were installed.

askdesk install cursor                       the tools of askdesk mcp, for cursor, vscode, codex, gemini,
                                             claude-desktop, goose or zed
askdesk install cursor --project             for the project in this folder alone; not claude-desktop, not goose
askdesk install codex --http URL             the tools of a desk server; not claude-desktop, not zed
askdesk install zed --acp                    Claude with a desk as an agent of the editor, too

What you wrote there, comments too, stays as it is. What was there before is kept beside it; askdesk uninstall puts it
back. No token is ever written into a file.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from difflib import unified_diff
from urllib.parse import urlsplit

from askdesk.cli import claude_code
from askdesk.cli.command import force_argument, refused_to_agents, say
from askdesk.cli.host_file import HostFile
from askdesk.cli.hosts import HOSTS, Host
from askdesk.cli.main import ANSWERED, FAILED
from askdesk.cli.settings_file import Kept, SettingsFile
from askdesk.core.errors import InvalidSettings, Problem
from askdesk.core.text import shown

_CLAUDE_CODE = "claude-code"
_HERE = ("127.0.0.1", "localhost", "::1")


def arguments(parser: ArgumentParser) -> None:
    host_argument(parser)
    scope_arguments(parser)
    parser.add_argument(
        "--mode", choices=["both", "desk"], help="claude-code: the dialog and the desk (default), or the desk alone"
    )
    parser.add_argument("--permissions", action="store_true", help="claude-code: tool permissions at the desk too")
    parser.add_argument("--http", metavar="URL", help="go straight to this desk server, without a process for each")
    parser.add_argument("--plugin", action="store_true", help="print the folder of the Claude Code plugin instead")
    parser.add_argument("--acp", action="store_true", help="zed: askdesk acp as an agent of the editor, too")
    dry_run_argument(parser)
    force_argument(parser)


def host_argument(parser: ArgumentParser) -> None:
    names = ["claude-code", *HOSTS]
    parser.add_argument("name", choices=names, metavar="NAME", help=f"the agent host: {', '.join(names)}")


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
    _check_options(given)
    if given.plugin:
        print(claude_code.PLUGIN)
        return say(f"claude --plugin-dir {claude_code.PLUGIN}")
    if given.http:
        _check_url(given.http)
    if not given.dry_run and (code := refused_to_agents(given)) is not None:
        return code
    return _install_hooks(given) if given.name == _CLAUDE_CODE else _install_server(given, HOSTS[given.name])


def _check_options(given: Namespace) -> None:
    """An option that another host has is not passed over in silence."""
    is_claude = given.name == _CLAUDE_CODE
    foreign = ("acp",) if is_claude else ("mode", "permissions", "plugin", *(() if given.name == "zed" else ("acp",)))
    for option in foreign:
        if getattr(given, option):
            raise InvalidSettings([Problem(f"--{option}", f"is not for {given.name}")])


def _install_hooks(given: Namespace) -> int:
    file = claude_code.ClaudeSettings(claude_code.settings_path(given.scope))
    text = file.installed(claude_code.wanted(_way(given)))
    print_diff(file, text)
    if given.dry_run:
        return say("nothing was changed")
    if file.text != text:
        return _tried(file, file.install(text))
    say(f"{file.path} has these hooks already")
    return _tried(file, None)


def _install_server(given: Namespace, host: Host) -> int:
    from askdesk.cli import host_server

    file = HostFile(host, given.scope)
    server = host_server.wanted(host, given, None if given.http else _store(given))
    text = file.installed(host.entries(server))
    print_diff(file, text)
    if given.dry_run:
        return say("nothing was changed")
    kept = None if file.text == text else file.install(text)
    if kept is None:
        say(f"{file.path} has this server already")
    try:
        tools, troubles = host_server.tried(host, server)
    except BaseException:  # Ctrl-C: nobody knows whether it works
        if kept:
            file.restore(kept)
        raise
    if not troubles:
        return host_server.told(file, server, tools)
    if kept:
        file.restore(kept)
    for trouble in troubles:
        say(trouble)
    return say(f"the server did not answer: {file.path} is as it was before", FAILED)


def _way(given: Namespace) -> claude_code.Way:
    from askdesk.settings import hook_socket, load

    mode: claude_code.Mode = given.mode or "both"
    if given.http:
        load()
        return claude_code.Way(mode, given.permissions, url=given.http)
    store = _store(given)
    return claude_code.Way(mode, given.permissions, str(hook_socket(store) or "-"), _said(store))


def _said(store: str) -> str:
    """As a hook may name it: with a password it is not named, and must be what any askdesk finds by itself."""
    from askdesk.cli import host_server, mcp_trial
    from askdesk.settings import load
    from askdesk.stores.address import has_password

    if has_password(store) and store == load(mcp_trial.surroundings()).store:
        return ""
    return host_server.without_password(store)


def _store(given: Namespace) -> str:
    """Where asks are kept, as another process finds it from any folder."""
    from askdesk.settings import load

    store = str(given.store or load().store)
    if ":" not in store:
        store = os.path.abspath(os.path.expanduser(store))
    if store.startswith("memory:"):
        who = "hooks" if given.name == _CLAUDE_CODE else "hosts"
        raise InvalidSettings([Problem("store", f"memory: is another desk for every process; {who} need one to share")])
    return store


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


def print_diff(file: SettingsFile, text: str) -> None:
    before, after = file.text.splitlines(), text.splitlines()
    for line in unified_diff(before, after, str(file.path), str(file.path), lineterm=""):
        print(shown(line))


def _tried(file: claude_code.ClaudeSettings, before: Kept | None) -> int:
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
