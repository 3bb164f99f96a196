"""Tell what is installed, which store is used and what is wrong. Ends with 1 where something is."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from askdesk import __version__
from askdesk.cli.command import print_findings
from askdesk.core.desk import Desk
from askdesk.core.errors import AskdeskError, InvalidSettings, NoStore
from askdesk.core.finding import Finding
from askdesk.core.text import shown
from askdesk.open import agents_shell, open_desk, sqlite_path
from askdesk.settings import Settings, config_path, load
from askdesk.stores.address import without_password

if TYPE_CHECKING:
    from askdesk.cli.hosts import Host, Scope
    from askdesk.stores.http import HTTPStore

_PATIENCE = 3.0  # seconds for a desk server or a database: whoever asks the doctor waits for the answer
_SAFE_SQLITE = (3, 51, 3)  # before it, two writers at once could damage a WAL file


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings, for programs")


def run(given: Namespace) -> int:
    findings = [*_software(), *_surroundings(), *_notifications(), *_store(given.store), *_hooks(given.store)]
    findings += _hosts()
    return print_findings(findings, as_json=given.json)


def _software() -> Iterable[Finding]:
    import apsw

    yield Finding("askdesk", __version__)
    yield Finding("Python", platform.python_version())
    sqlite = apsw.sqlite_lib_version()
    is_safe = tuple(int(part) for part in sqlite.split(".")) >= _SAFE_SQLITE
    yield Finding(
        "SQLite", sqlite if is_safe else f"{sqlite} can damage shared files: pip install -U apsw", not is_safe
    )
    for library in ("apsw", "msgspec"):
        yield Finding(library, version(library))


def _surroundings() -> Iterable[Finding]:
    path = config_path(os.environ)
    yield Finding("settings", f"{path}{'' if path.exists() else ' (not there; defaults hold)'}")
    terminal = sys.stdin is not None and sys.stdin.isatty()
    yield Finding("terminal", "yes" if terminal else "no: asks are answered elsewhere, or through a pipe")
    agent = agents_shell()
    yield Finding("agent's shell", f"yes, {agent} is set: askdesk answer refuses here" if agent else "no")


def _notifications() -> Iterable[Finding]:
    try:
        count = len(load().notify_urls)
    except InvalidSettings:  # told of with the store
        return
    try:
        apprise = f"apprise {version('apprise')}"
    except PackageNotFoundError:
        apprise = "apprise is not installed: pip install 'askdesk[notify]'"
        yield Finding("notifications", f"URLs: {count}; {apprise}", wrong=count > 0)
    else:
        yield Finding("notifications", f"URLs: {count}; {apprise}")


def _store(given: str | None) -> Iterable[Finding]:
    try:
        settings = load()
    except InvalidSettings as error:
        yield Finding("settings", str(error), wrong=True)
        return
    url = given or settings.store
    try:
        if url.startswith(("https:", "http:")):
            yield from asyncio.run(_server(url, settings))
            return
        yield from (Finding(name, "set" if token else "not set") for name, token in _tokens(settings))
        yield Finding("store", without_password(url))
        if url.startswith(("postgresql:", "postgres:")):
            yield from asyncio.run(_database(url))
            return
        path = _path(url)
        if path and not path.exists():
            yield Finding("store file", "not there yet; the first ask makes it")
            return
        if path:
            yield _file(path)
        yield Finding("open asks", asyncio.run(_count(url)))
    except (AskdeskError, OSError) as error:
        yield Finding("store", str(error), wrong=True)


def _hooks(given: str | None) -> Iterable[Finding]:
    """Whether Claude Code's hooks are installed, and answer: each is sent an event that asks nobody."""
    from askdesk.cli import claude_code
    from askdesk.cli.hook_trial import trial
    from askdesk.server.hooks import is_answered
    from askdesk.settings import hook_socket

    scopes: tuple[claude_code.Scope, ...] = ("user", "project")
    for scope in scopes:
        path = claude_code.settings_path(scope)
        about = f"hooks, {scope}"
        try:
            hooks = [hook for _, hook in claude_code.ours(claude_code.ClaudeSettings(path).settings)]
        except InvalidSettings as error:
            yield Finding(about, str(error), wrong=True)
            continue
        if not hooks:
            yield Finding(about, f"none in {path}")
            continue
        if scope == "project" and not all(map(claude_code.is_our_command, hooks)):
            yield Finding(about, f"{len(hooks)} in {path}; not tried, as others can have written them")
            continue
        trials = [trial(hook) for hook in hooks]
        if troubles := list(dict.fromkeys(found.trouble for found in trials if found.trouble)):
            yield Finding(about, f"in {path}: {shown(troubles[0])}", wrong=True)
        else:
            by = " and ".join(sorted({found.answered_by for found in trials}))
            yield Finding(about, f"{len(hooks)} in {path}; answered by the {by}")
    with suppress(InvalidSettings):
        socket = hook_socket(given or load().store)
        is_live = socket is not None and is_answered(socket)
        yield Finding("hooks, server", f"at {socket}" if is_live else "none runs: hooks wait at the store themselves")


def _hosts() -> Iterable[Finding]:
    """Hosts that have our server: whether it answers, or in a project, which anybody can have written, is there."""
    from askdesk.cli.hosts import HOSTS, Place

    scopes: tuple[Scope, ...] = ("user", "project")
    for host in HOSTS.values():
        for scope in scopes:
            path = host.path(scope, Place.here())
            if path is not None and path.is_file():
                yield from _host(host, scope)


def _host(host: Host, scope: Scope) -> Iterable[Finding]:
    from askdesk.cli.host_file import HostFile
    from askdesk.cli.host_server import found
    from askdesk.cli.hosts import NAME

    about = f"{host.name}, {scope}"
    try:
        file = HostFile(host, scope)
        if NAME.encode() not in (file.raw or b""):  # whatever else is wrong with it is no business of ours
            return
        entry = file.entry()
    except InvalidSettings as error:
        yield Finding(about, str(error), wrong=True)
        return
    if entry is None:
        return
    trial = found(host, entry, is_trusted=scope == "user")
    if trial.trouble:
        yield Finding(about, f"in {file.path}: {shown(trial.trouble)}", wrong=True)
    else:
        answers = f"; answers with {', '.join(trial.tools)}" if trial.tools else ""
        yield Finding(about, f"in {file.path}{shown(answers)}")


def _tokens(settings: Settings) -> tuple[tuple[str, str], ...]:
    return ("ASKDESK_TOKEN", settings.token), ("ASKDESK_ANSWER_TOKEN", settings.answer_token)


async def _server(url: str, settings: Settings) -> list[Finding]:
    """Whether a desk answers there, and what it lets this client do."""
    from askdesk.stores.http import HTTPStore

    tokens = settings.token, settings.answer_token
    store = await HTTPStore.open(url, asker_token=tokens[0], answerer_token=tokens[1], patience=_PATIENCE)
    findings = [Finding("store", store.url)]
    try:
        await store.check()
        findings.append(Finding("desk server", "answers"))
        findings.append(await _token(store, "asker", tokens[0]))
        findings.append(await _token(store, "answerer", tokens[1]))
        if any(tokens) and not any(finding.wrong for finding in findings):
            findings.append(Finding("open asks", await _count_on(Desk(store))))
    except AskdeskError as error:
        findings.append(Finding("desk server", shown(str(error)), wrong=True))
    finally:
        await store.close()
    return findings


async def _token(store: HTTPStore, kind: Literal["asker", "answerer"], token: str) -> Finding:
    """What a token may do, never what it is."""
    name = {"asker": "ASKDESK_TOKEN", "answerer": "ASKDESK_ANSWER_TOKEN"}[kind]
    deed = {"asker": "asks", "answerer": "answers"}[kind]
    if not token:
        return Finding(name, f"not set: nobody {deed} from here")
    try:
        me = await store.me(kind)
    except InvalidSettings as error:
        return Finding(name, f"set; {shown(error.problems[0].rule)}", wrong=True)
    if me.kind != kind:
        return Finding(name, f"set, but the token is an {me.kind}'s", wrong=True)
    limits = [f"{what} {', '.join(names)}" for what, names in (("project", me.projects), ("agent", me.agents)) if names]
    until = f", until {me.expires.astimezone():%Y-%m-%d %H:%M}" if me.expires else ""
    only = f", only for {' and '.join(limits)}" if limits else ""
    return Finding(name, f"set; {deed} as {shown(me.name)}{shown(only)}{until}")


def _path(url: str) -> Path | None:
    is_file = url.startswith("sqlite:") or ("://" not in url and url != "memory:")
    return sqlite_path(url) if is_file else None


def _file(path: Path) -> Finding:
    if mode := path.stat().st_mode & 0o077:
        return Finding("store file", f"others may open it (mode {mode:03o}): chmod 600 {path}", wrong=True)
    return Finding("store file", "only you may open it")


async def _database(url: str) -> list[Finding]:
    """Which PostgreSQL it is, and what is kept there. Looking makes no desk."""
    from askdesk.stores.postgres import PostgresStore

    try:
        store = await PostgresStore.open(url, patience=_PATIENCE, create=False)
    except NoStore:
        return [Finding("database", "there is no desk in it yet; the first ask makes it")]
    try:
        about = await store.about()
        pools = "one that pools: changes by others are looked for, not heard" if store.is_proxied else "none that pools"
        return [
            Finding("database", f"PostgreSQL {about.version}, schema {about.schema}"),
            Finding("proxy", pools),
            Finding("open asks", await _count_on(Desk(store))),
        ]
    finally:
        await store.close()


async def _count(url: str) -> str:
    async with open_desk(url) as desk:
        return await _count_on(desk)


async def _count_on(desk: Desk) -> str:
    page = await desk.page("open", limit=1000)
    return f"{len(page.entries)}{' or more' if page.after else ''}"
