"""The PostgreSQL of the tests comes from a wheel where none is installed, as root and as another user."""

from __future__ import annotations

import asyncio
import os
import pwd
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from tests import postgres
from tests.postgres import Cluster, programs
from tests.stores.on_postgres import opened
from tests.stores.other_process import NOBODY

from askdesk.core.model import Entry
from askdesk.testing.store_contract import a_settlement, an_ask


def test_one_is_started_from_the_wheel_by_root_and_by_another_user_and_nothing_is_left_of_it() -> None:
    environment = {**os.environ, "ASKDESK_TEST_POSTGRES_WHEEL": "1"}
    program = [sys.executable, "-m", "tests.test_postgres"]
    ran = subprocess.run(program, cwd=Path(__file__).parents[1], env=environment, stdout=subprocess.PIPE, check=True)
    told = [line.split("\t") for line in ran.stdout.decode().splitlines()]

    users = [0, NOBODY] if os.getuid() == 0 else [os.getuid()]
    assert [(int(user), Path(fetched)) for user, fetched, _ in told] == [(user, from_wheel()) for user in users]
    for *_, folder in told:
        assert (Path(folder).exists(), working_in(folder)) == (False, [])


def from_wheel() -> Path:
    """Where root has fetched it, that is for all; else who runs the tests."""
    return next(found for uid in (0, os.getuid()) if (found := postgres._place(uid) / "wheel").exists())


def working_in(folder: str) -> list[str]:
    """The processes that work in a folder, also where it is gone."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # gone, or another user's
            if os.readlink(process / "cwd").startswith(folder):
                found.append((process / "cmdline").read_text())
    return found


def world_writable(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


def link(place: Path) -> None:
    place.with_name("elsewhere").mkdir()
    place.symlink_to("elsewhere")


def nobodys(place: Path) -> None:
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)


@pytest.mark.parametrize("made", [world_writable, link, *([nobodys] if os.getuid() == 0 else [])])
def test_programs_that_somebody_else_may_have_put_there_are_never_run(
    made: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    place = postgres._place(os.getuid())
    made(place)
    (place / "wheel").mkdir()
    with pytest.raises(RuntimeError, match=r"somebody else may have put programs there: remove it"):
        postgres._from_wheel()


async def is_kept(url: str) -> bool:
    async with opened(url) as store:
        await store.add(an_ask())
        await store.settle(an_ask().id, a_settlement())
        return await store.get(an_ask().id) == Entry(an_ask(), a_settlement())


def run() -> None:
    with Cluster() as cluster:
        assert asyncio.run(is_kept(cluster.database()))
        print(os.getuid(), programs().parents[2], cluster.folder, sep="\t", flush=True)


def become_nobody() -> None:
    """Who may read none of what was loaded until now."""
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    os.environ["HOME"] = pwd.getpwuid(NOBODY).pw_dir
    programs.cache_clear()


if __name__ == "__main__":
    run()
    if os.getuid() == 0:
        become_nobody()
        run()
