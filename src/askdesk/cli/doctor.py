"""Tell what is installed, which store is used and what is wrong. Ends with 1 where something is."""

from __future__ import annotations

import asyncio
import os
import platform
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from askdesk import __version__
from askdesk.cli.command import print_json
from askdesk.cli.main import ANSWERED, FAILED
from askdesk.core.errors import AskdeskError, InvalidSettings
from askdesk.open import agents_shell, open_desk, sqlite_path
from askdesk.settings import config_path, load

_SAFE_SQLITE = (3, 51, 3)  # before it, two writers at once could damage a WAL file


class Finding(NamedTuple):
    about: str
    says: str
    wrong: bool = False


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the findings, for programs")


def run(given: Namespace) -> int:
    findings = [*_software(), *_surroundings(), *_store(given.store)]
    if given.json:
        print_json([finding._asdict() for finding in findings])
    else:
        for finding in findings:
            print(f"{'WRONG' if finding.wrong else 'ok':<5}  {finding.about:<21}  {finding.says}")
    return FAILED if any(finding.wrong for finding in findings) else ANSWERED


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


def _store(given: str | None) -> Iterable[Finding]:
    try:
        url = given or load().store
    except InvalidSettings as error:
        yield Finding("settings", str(error), wrong=True)
        return
    try:
        yield Finding("store", url)
        path = _path(url)
        if path and not path.exists():
            yield Finding("store file", "not there yet; the first ask makes it")
            return
        if path:
            yield _file(path)
        yield Finding("open asks", asyncio.run(_count(url)))
    except (AskdeskError, OSError) as error:
        yield Finding("store", str(error), wrong=True)


def _path(url: str) -> Path | None:
    is_file = url.startswith("sqlite:") or ("://" not in url and url != "memory:")
    return sqlite_path(url) if is_file else None


def _file(path: Path) -> Finding:
    if mode := path.stat().st_mode & 0o077:
        return Finding("store file", f"others may open it (mode {mode:03o}): chmod 600 {path}", wrong=True)
    return Finding("store file", "only you may open it")


async def _count(url: str) -> str:
    most = 1000
    async with open_desk(url) as desk:
        page = await desk.page("open", limit=most)
    return f"{len(page.entries)}{' or more' if page.after else ''}"
