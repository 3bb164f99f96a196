"""Tries a server as a host would: starts it, or calls its URL, says hello and asks for its tools. Asks nobody anything.

Knows as much of MCP and ACP as that takes: a JSON object a line, or a POST.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import IO, Any, NamedTuple, TypeAlias, cast

from askdesk import __version__

_SECONDS = 30.0
_GOODBYE = 5.0
_LONGEST = 10_000_000  # bytes of a line
_SELF = {"name": "askdesk install", "version": __version__}
_HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": _SELF}
_HELLO_EDITOR = {"protocolVersion": 1, "clientCapabilities": {}, "clientInfo": _SELF}
_UNAUTHORIZED = 401

# What the poorest of hosts gives to a server; what others give besides must not be needed.
_GIVEN = (
    *("HOME", "LOGNAME", "USER", "SHELL", "TERM", "LANG", "LC_ALL", "TMPDIR", "TZ"),
    *("APPDATA", "LOCALAPPDATA", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "SYSTEMROOT", "SYSTEMDRIVE", "TEMP", "TMP"),
)


class Trial(NamedTuple):
    """The tools that the server has, or what is wrong."""

    tools: tuple[str, ...] = ()
    trouble: str = ""


class _Broken(Exception):
    """Says what is wrong."""


def surroundings(also: Sequence[str] = ()) -> dict[str, str]:
    """The environment that a host starts a server in: none of our shell's, but what it must have and these."""
    return {name: os.environ[name] for name in (*_GIVEN, *also) if name in os.environ} | {"PATH": os.defpath}


def of_command(command: Sequence[str], environ: Mapping[str, str], seconds: float = _SECONDS) -> Trial:
    """A server of MCP."""
    return _started(command, environ, _tools, seconds)


def of_agent(command: Sequence[str], environ: Mapping[str, str]) -> Trial:
    """An agent of ACP; it has no tools to tell."""

    def greet(call: _Call) -> tuple[str, ...]:
        call("initialize", _HELLO_EDITOR)
        return ()

    return _started(command, environ, greet, _SECONDS)


_Call: TypeAlias = Callable[[str, Mapping[str, Any] | None], Any]
_Talk: TypeAlias = Callable[[_Call], tuple[str, ...]]


def _tools(call: _Call) -> tuple[str, ...]:
    call("initialize", _HELLO)
    call("notifications/initialized", None)
    tools = call("tools/list", {})
    try:
        names = tuple(str(tool["name"]) for tool in tools["tools"])
    except (KeyError, TypeError):
        names = ()
    if not names:
        raise _Broken("the server has no tools")
    return names


def _started(command: Sequence[str], environ: Mapping[str, str], talk: _Talk, seconds: float) -> Trial:
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(  # noqa: S603 - what the host would start
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=dict(environ),
                cwd=Path(command[0]).anchor or None,
            )
        except (OSError, ValueError) as error:
            return Trial(trouble=f"the server cannot be started: {error}")
        bound = Timer(seconds, process.kill)
        bound.start()
        try:
            return Trial(talk(_over(process)))
        except _Broken as error:
            too_long = f": it did not answer within {seconds:g} seconds" if bound.finished.is_set() else ""
            return Trial(trouble=f"{error}{too_long or _why(process, said)}")
        finally:
            bound.cancel()
            _end(process)


def _over(process: subprocess.Popen[bytes]) -> _Call:
    to, by = _streams(process)
    count = 0

    def call(method: str, params: Mapping[str, Any] | None) -> Any:
        nonlocal count
        count += params is not None
        try:
            to.write(json.dumps(_message(count, method, params)).encode() + b"\n")
            to.flush()
        except OSError:
            raise _Broken("the server ended") from None
        return None if params is None else _answer(iter(lambda: by.readline(_LONGEST), b""), count)

    return call


def _message(number: int, method: str, params: Mapping[str, Any] | None) -> dict[str, Any]:
    message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
    return message if params is None else {**message, "id": number, "params": params}


def _answer(lines: Iterable[bytes], number: int) -> Any:
    """The result of our call; what the server says besides is passed over."""
    for line in lines:
        try:
            said = json.loads(line)
        except ValueError:
            raise _Broken(f"the server said something else than it should: {_shortly(line)!r}") from None
        if not isinstance(said, dict) or said.get("id") != number or "method" in said:
            continue
        if "result" not in said:
            raise _Broken(f"the server refused: {_shortly(json.dumps(said.get('error')).encode())}")
        return said["result"]
    raise _Broken("the server ended")


def _why(process: subprocess.Popen[bytes], said: IO[bytes]) -> str:
    """How it ended, and what it complained of."""
    _end(process)
    said.seek(0)
    words = _shortly(said.read().strip()[-500:])
    return f" with {process.returncode}{f': {words}' if words else ''}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """A server ends when nobody speaks to it any more."""
    to, by = _streams(process)
    with suppress(OSError):  # what it did not read
        to.close()
    try:
        process.wait(_GOODBYE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    by.close()


def _streams(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    return cast("IO[bytes]", process.stdin), cast("IO[bytes]", process.stdout)


def of_url(url: str, token: str, answer_token: str = "") -> Trial:
    """A server elsewhere. One that only wants a token is there."""
    session = {"Authorization": f"Bearer {token}"} if token else {}
    session |= {"Askdesk-Answer-Token": answer_token} if answer_token else {}
    count = 0

    def call(method: str, params: Mapping[str, Any] | None) -> Any:
        nonlocal count
        count += params is not None
        return _posted(url, session, count, method, params)

    try:
        return Trial(_tools(call))
    except urllib.error.HTTPError as error:
        with error:
            if error.code == _UNAUTHORIZED and not token:
                return Trial()
            return Trial(trouble=f"the server refused: {error.code} {error.reason}")
    except (OSError, ValueError, HTTPException) as error:
        return Trial(trouble=f"the server cannot be reached: {getattr(error, 'reason', error)}")
    except _Broken as error:
        return Trial(trouble=str(error))
    finally:
        _leave(url, session)


def _leave(url: str, session: Mapping[str, str]) -> None:
    """The server need not keep what nobody comes back to."""
    if "Mcp-Session-Id" in session:
        request = urllib.request.Request(url, headers=dict(session), method="DELETE")  # noqa: S310
        with suppress(OSError, HTTPException), staying().open(request, timeout=_GOODBYE):
            pass


def _posted(url: str, session: dict[str, str], number: int, method: str, params: Mapping[str, Any] | None) -> Any:
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **session}
    data = json.dumps(_message(number, method, params)).encode()
    request = urllib.request.Request(url, data, headers)  # noqa: S310 - the installer takes http alone
    with staying().open(request, timeout=_SECONDS) as answer:
        if named := answer.headers.get("Mcp-Session-Id"):
            session["Mcp-Session-Id"] = named
        session["MCP-Protocol-Version"] = _HELLO["protocolVersion"]  # type: ignore[assignment]
        if params is None:
            return None
        is_stream = answer.headers.get_content_type() == "text/event-stream"
        return _answer(_events(answer) if is_stream else [answer.read(_LONGEST)], number)


def _events(answer: IO[bytes]) -> Iterator[bytes]:
    """What a stream of events tells, but not for ever."""
    end = monotonic() + _SECONDS
    while (line := answer.readline(_LONGEST)) and monotonic() < end:
        name, _, said = line.partition(b":")
        if name == b"data" and said.strip():
            yield said


class _Stay(urllib.request.HTTPRedirectHandler):
    """The token goes where it was meant to go, and nowhere else."""

    def redirect_request(self, *_: Any) -> None:
        return None


def staying() -> urllib.request.OpenerDirector:
    """An opener that follows no redirection."""
    return urllib.request.build_opener(_Stay)


def _shortly(said: bytes) -> str:
    return said[:300].decode("utf-8", "replace").strip()
