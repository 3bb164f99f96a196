"""One ask from its first moment to its end, through commands that know nothing of each other."""

import json
import os
from pathlib import Path

from tests.cli.command import DATABASE, Ran, askdesk, in_file, until
from tests.cli.person import Person

SQLITE = json.dumps({"answers": {"Which database?": "SQLite"}})
POSTGRES = json.dumps({"answers": {"Which database?": "Postgres"}})


def is_open_elsewhere() -> bool:
    return Path(f"{os.environ['ASKDESK_STORE']}-wal").exists()


def test_an_ask_is_posted_listed_answered_and_waited_for(tmp_path: Path) -> None:
    posted = askdesk("ask", "--no-wait", in_file(tmp_path, DATABASE))
    ask_id = posted.out.strip()
    listed = askdesk("list")
    answered = askdesk("answer", ask_id, "--by", "ana", typed=SQLITE)
    waited = askdesk("wait", ask_id)
    different = askdesk("answer", ask_id, "--by", "ben", typed=POSTGRES)
    same = askdesk("answer", ask_id, "--by", "ana", typed=SQLITE)

    assert posted == Ran(0, f"{ask_id}\n", "")
    assert listed.out.splitlines()[1].startswith(ask_id[:8])
    assert answered == same == Ran(0, "", f"askdesk: ask {ask_id} is settled: answered by ana on command line\n")
    assert (waited.code, json.loads(waited.out)) == (0, {**DATABASE, "answers": {"Which database?": "SQLite"}})
    assert different == Ran(8, "", f"askdesk: ask {ask_id} is already settled: answered by ana on command line\n")


def test_the_same_holds_when_every_process_is_killed_in_between(tmp_path: Path) -> None:
    file = in_file(tmp_path, DATABASE)
    with Person("ask", "--surface", "none", "--key", "k1", file) as builder:
        builder.reads("waits for an answer")
        builder.process.kill()
    ask_id = json.loads(askdesk("list", "--json").out)["entries"][0]["ask"]["id"]
    with Person("wait", ask_id) as waiter, Person("answer", ask_id) as ana:
        ana.reads("Your choice: ")
        ana.types("2")
        until(is_open_elsewhere)
        waiter.process.kill()
        ana.process.kill()
    listed = askdesk("list")
    answered = askdesk("answer", ask_id, "--by", "ana", typed=SQLITE)
    with Person("wait", ask_id) as waiter:
        waiter.process.kill()
    different = askdesk("answer", ask_id, "--by", "ana", typed=POSTGRES)
    same = askdesk("answer", ask_id, "--by", "ana", typed=SQLITE)
    again = askdesk("ask", "--key", "k1", file)

    assert listed.out.splitlines()[1].endswith("Which database? [its process is gone]")
    assert (answered.code, different.code, same.code) == (0, 8, 0)
    assert (again.code, json.loads(again.out)) == (0, {**DATABASE, "answers": {"Which database?": "SQLite"}})
