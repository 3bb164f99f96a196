"""Tries an installed hook: sends it an event that asks nobody, the way Claude Code would, and looks at what it says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, NamedTuple

from askdesk.cli.claude_code import TOKEN
from askdesk.cli.mcp_trial import staying

_EVENT = b'{"hook_event_name":"Ping"}'
_SECONDS = 30
_SOCKET = re.compile(r"""(?<=hook_client\.py)('? )(?:'[^']*'|"[^"]*"|[^\s'"])+(?= (?:both|desk) )""")


class Trial(NamedTuple):
    """Who answered: a server, or the store itself; or what is wrong."""

    answered_by: str = ""
    trouble: str = ""


def trial(hook: Mapping[str, Any]) -> Trial:
    """A command that a server has answered is tried without one too: servers end, and then it must not fail."""
    if hook.get("type") == "http":
        return _of_http(hook)
    command = str(hook.get("command"))
    first = _of_command(command)
    if first.answered_by != "server":
        return first
    without = _of_command(_without_server(command))
    return without if without.trouble else first


def _without_server(command: str) -> str:
    return _SOCKET.sub(r"\1-", command).replace("askdesk hook", "askdesk hook --no-server")


def _of_command(command: str) -> Trial:
    try:
        ran = subprocess.run(  # noqa: S602 - Claude Code gives it to a shell too
            command, shell=True, input=_EVENT, capture_output=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Trial(trouble=f"the hook's command failed: {error}")
    if ran.returncode:
        said = ran.stderr.decode("utf-8", "replace").strip()
        return Trial(trouble=f"the hook's command ended with {ran.returncode}: {said}")
    return _read(ran.stdout)


def _of_http(hook: Mapping[str, Any]) -> Trial:
    from askdesk.settings import load

    token = os.environ.get(TOKEN) or load().token
    if not token:
        return Trial(trouble=f"{TOKEN} is not set: Claude Code would send no token")
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}
    request = urllib.request.Request(str(hook["url"]), _EVENT, headers)  # noqa: S310 - the installer takes http alone
    try:
        with staying().open(request, timeout=_SECONDS) as answer:
            return _read(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            return Trial(trouble=f"the server refused the hook: {error.code} {error.reason}")
    except (OSError, ValueError) as error:
        return Trial(trouble=f"the server cannot be reached: {getattr(error, 'reason', error)}")


def _read(said: bytes) -> Trial:
    try:
        return Trial(str(json.loads(said)["pong"]))
    except (ValueError, KeyError, TypeError):
        return Trial(trouble=f"the hook said something else than it should: {said[:200].decode('utf-8', 'replace')!r}")
