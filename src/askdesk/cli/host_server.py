"""Our server as a host starts it: its command or URL, the trial of just that, and what the person should know."""

from __future__ import annotations

import os
import shutil
import sys
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from askdesk.cli import mcp_trial
from askdesk.cli.command import say
from askdesk.cli.hosts import ANSWER_TOKEN, TOKEN, Host, Server
from askdesk.core.errors import InvalidSettings, Problem
from askdesk.settings import config_path, load
from askdesk.stores.address import has_password

if TYPE_CHECKING:
    from askdesk.cli.host_file import HostFile


def wanted(host: Host, given: Namespace, store: str | None) -> Server:
    """What the host is to use, as it reads it."""
    server = _remote(host, given) if store is None else _local(host, given, store)
    for part in (*server.command, server.url):
        if host.variable and host.variable in part:
            raise InvalidSettings([Problem(part, f"{host.title} takes what follows {host.variable} for a variable")])
    return server


def _local(host: Host, given: Namespace, store: str) -> Server:
    """A store that any askdesk finds by itself is not said."""
    if given.acp and given.scope == "project":
        raise InvalidSettings([Problem("--acp", f"{host.title} takes agents from the settings of the user alone")])
    found = load(mcp_trial.surroundings())
    where = () if store == found.store else ("--store", without_password(store))
    limit = ("--limit", f"{host.limit // 3600}h") if host.limit else ()
    agent = (*_askdesk("acp"), *where) if given.acp else ()
    return Server((*_askdesk("mcp"), *limit, *where), _tokens(host, store), agent=agent)


def _askdesk(command: str) -> tuple[str, ...]:
    """By its whole path, for a host that has not our PATH, and never from the folder that an agent works in (-P)."""
    return os.path.abspath(sys.executable), "-P", "-m", "askdesk", command


def _remote(host: Host, given: Namespace) -> Server:
    if host.remote is None:
        raise InvalidSettings([Problem("--http", f"is not for {host.title}: {host.no_remote}")])
    if given.store:
        raise InvalidSettings([Problem("--store", "is the server's own, where there is --http")])
    tokens = (TOKEN, *([ANSWER_TOKEN] if os.environ.get(ANSWER_TOKEN) else []))  # one that is missing refuses all
    return Server(url=f"{given.http.rstrip('/').removesuffix('/mcp')}/mcp", tokens=tokens)


def without_password(store: str) -> str:
    """A store as somebody else's settings may name it."""
    if has_password(store):
        place = config_path(mcp_trial.surroundings())
        raise InvalidSettings([Problem("store", f"has a password: it goes into {place}, and no host's settings")])
    return store


def _tokens(host: Host, store: str) -> tuple[str, ...]:
    """The variables that a server must be given, as it finds their values nowhere else."""
    if not store.startswith(("https:", "http:")):
        return ()
    here, found = load(), load(mcp_trial.surroundings())
    if not found.token and not host.gives_tokens:
        place = config_path(mcp_trial.surroundings())
        raise InvalidSettings(
            [Problem(TOKEN, f"{host.title} gives no variables to its servers: put token into {place}")]
        )
    if not host.gives_tokens:
        return ()
    needed = [] if found.token else [TOKEN]
    return (*needed, *([ANSWER_TOKEN] if here.answer_token and not found.answer_token else []))


def tried(host: Host, server: Server) -> tuple[tuple[str, ...], list[str]]:
    """The tools that there are, through the very command or URL that the host has now, and what is wrong."""
    if server.url:
        found = [_tried_url(host, server.url, ANSWER_TOKEN in server.tokens)]
    else:
        environ = mcp_trial.surroundings(server.tokens)
        found = [mcp_trial.of_command(server.command, environ)]
        found += [mcp_trial.of_agent(server.agent, environ)] if server.agent else []
    return found[0].tools, [trial.trouble for trial in found if trial.trouble]


def _tried_url(host: Host, url: str, has_answers: bool) -> mcp_trial.Trial:
    token = os.environ.get(TOKEN) or load().token
    if not token and not host.asks_token:
        return mcp_trial.Trial(trouble=f"{TOKEN} is not set: {host.title} would send no token")
    answer_token = os.environ.get(ANSWER_TOKEN) or load().answer_token
    return mcp_trial.of_url(url, token, answer_token if has_answers else "")


def told(file: HostFile, server: Server, tools: tuple[str, ...]) -> int:
    """That it works, and what is left to do by hand."""
    host = file.host
    have = f", with {', '.join(tools)}" if tools else ", and wants a token"
    say(f"done: the server in {file.path} answers{have}. {host.title} uses it from its next start on: {host.see}")
    if server.url and host.asks_token:
        return say(f"{host.title} asks for the token once, and keeps it")
    if server.tokens:
        names = " and ".join(server.tokens)
        return say(f"{host.title} must have {names} in its environment: what is written only names it")
    return 0


def found(host: Host, entry: Any, *, is_trusted: bool) -> mcp_trial.Trial:
    """An entry that is there already, tried; one that anybody can have written is only looked at."""
    if not isinstance(entry, dict):
        return mcp_trial.Trial(trouble="the entry is not understood")
    url = next((entry[name] for name in ("url", "httpUrl", "uri") if isinstance(entry.get(name), str)), "")
    if url:
        return _tried_url(host, url, ANSWER_TOKEN in repr(entry)) if is_trusted else mcp_trial.Trial()
    command = _command_of(entry)
    program = shutil.which(command[0]) if command else None
    if program is None:
        return mcp_trial.Trial(trouble=f"there is no {command[0] if command else 'command'}")
    environ = mcp_trial.surroundings((TOKEN, ANSWER_TOKEN) if host.gives_tokens else ())
    return mcp_trial.of_command((program, *command[1:]), environ) if is_trusted else mcp_trial.Trial()


def _command_of(entry: dict[str, Any]) -> tuple[str, ...]:
    first, rest = entry.get("command") or entry.get("cmd"), entry.get("args", [])
    if not isinstance(first, str) or not isinstance(rest, list):
        return ()
    return first, *(str(each) for each in rest)
