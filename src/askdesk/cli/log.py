"""Questions and answers found in transcripts and API logs: what was offered, what was chosen, when, how long it took.

PATHs are files or folders, "-" is standard input; without one, the transcripts of this user's Claude Code. Read are its
transcripts, also those of subagents, and logs of the Messages API: requests and responses, a JSON object a line.

  askdesk log                                  everything that Claude Code ever asked you
  askdesk log --text "database is:answered"    the language of `askdesk list --text`
  askdesk log --since 7d --md > decisions.md   a decision record, with the rejected options
  askdesk log --json session.jsonl             one object a line, for programs
  askdesk log --follow session.jsonl           go on as the file grows
  askdesk log --import                         put them into the desk's history
"""

from __future__ import annotations

import heapq
import json
import os
import shutil
import signal
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from askdesk.cli.command import duration, force_argument, on_desk, refused_to_agents, say
from askdesk.cli.log_files import STDIN, LogFile, found, size_of, transcripts_folder, written_at
from askdesk.cli.main import ANSWERED
from askdesk.cli.progress import Progress
from askdesk.core import search
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, InvalidSettings
from askdesk.core.text import shown_json
from askdesk.wire.transcript import Call, Log

_PAUSE = 0.2  # seconds between two looks at files that are followed
_LOOKS = 10  # after so many, also at folders, for new files
_PIPE = 100  # columns where nobody says how many there are


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH", help="files and folders (default: Claude Code's own)")
    parser.add_argument("--json", action="store_true", help="one JSON object a line, for programs")
    parser.add_argument("--md", action="store_true", help="a decision record in Markdown")
    parser.add_argument("--follow", action="store_true", help="go on as files grow and new ones come; Ctrl-C ends it")
    parser.add_argument("--text", default="", metavar="WORDS", help="those with all these words; also is:answered")
    parser.add_argument("--project", metavar="NAME", help="only of this project: its folder, or the last part of it")
    parser.add_argument("--since", type=duration, metavar="SPAN", help="only what was asked in the last 2h, 7d, …")
    parser.add_argument("--limit", type=_count, metavar="N", help="only the newest so many")
    parser.add_argument("--import", action="store_true", dest="imports", help="put them into the desk's history")
    force_argument(parser)


def _count(text: str) -> int:
    if text.isascii() and text.isdigit() and 0 < int(text) <= 1_000_000:
        return int(text)
    raise ArgumentTypeError(f"needs a number from 1 to 1000000, got {text!r}")


def run(given: Namespace) -> int:
    from askdesk.settings import load
    from askdesk.surfaces.texts import speak

    if given.json and given.md:
        raise InvalidAsk("give one of --json and --md")
    settings = load()
    speak(settings.language)
    log = Log()
    try:
        if given.imports:
            if (refused := refused_to_agents(given)) is not None:
                return refused
            _check_import(given, given.store or settings.store)
            return on_desk(given.store, lambda desk: _import(desk, given, log), create=True)
        progress = Progress()
        return _show(_wanted(given, log, progress), given, progress)
    except KeyboardInterrupt:
        if not given.follow:
            raise
        return ANSWERED
    finally:
        _tell_flaws(log)


def _show(calls: Iterable[Call | None], given: Namespace, progress: Progress) -> int:
    from askdesk.surfaces.decision_record import heading

    printed = _printer(given)
    count = 0
    for call in calls:
        if call is None:
            sys.stdout.flush()
            continue
        if sys.stdout.isatty():
            progress.clear()
        if given.md and not count:
            print(heading())
        count += 1
        print(printed(call))
    return ANSWERED if count else say("no calls of AskUserQuestion found")


def _check_import(given: Namespace, store: str) -> None:
    if given.json or given.md:
        raise InvalidAsk("--import prints how many; give it without --json and --md")
    if store.startswith(("https:", "http:")):
        raise InvalidSettings(
            f"--import keeps the times of the log, and a desk server has its own: import where the desk is kept, "
            f"not through {store}"
        )


async def _import(desk: Desk, given: Namespace, log: Log) -> int:
    from askdesk.cli.log_import import Imported, keep

    counts = Imported()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # asyncio's own waits for an await, and reading has none
    try:
        await keep(desk.store, _wanted(given, log, Progress()), counts)
    finally:
        print(counts)
    return ANSWERED


def _wanted(given: Namespace, log: Log, progress: Progress) -> Iterator[Call | None]:
    """The calls to be shown; None where a log that is followed pauses."""
    is_wanted = _filter(given)
    calls = (call for call in _calls(given, log, progress) if call is None or is_wanted(call))
    if given.limit:
        yield from _newest(calls, given.limit)
    yield from calls


def _filter(given: Namespace) -> Callable[[Call], bool]:
    words = search.query(given.text)
    since = datetime.now(UTC) - given.since if given.since else None

    def is_wanted(call: Call) -> bool:
        project = call.asker.project.rstrip("/")
        return (
            (given.project is None or given.project.rstrip("/") in (project, os.path.basename(project)))
            and (since is None or call.at >= since)
            and (not words or search.matches(call.entry, words))
        )

    return is_wanted


def _newest(calls: Iterator[Call | None], limit: int) -> Iterable[Call]:
    """Of all that there are up to the first pause, the newest so many, in the order of time."""
    until_pause = iter(lambda: next(calls, None), None)
    return reversed(heapq.nlargest(limit, until_pause, key=lambda call: call.at))


def _calls(given: Namespace, log: Log, progress: Progress) -> Iterator[Call | None]:
    """Every call that ended, in the order of the files; at the end those that nobody answered."""
    paths = given.paths or [_default()]
    names = found(paths)
    if not names:
        say(f"there are no transcripts in {', '.join(paths)}")
    files = {name: LogFile(log, name) for name in names if given.follow or not _is_older(name, given)}
    progress.total = sum(map(size_of, files))
    yield from _read(files.values(), progress)
    if not given.follow:
        yield from (call for file in files.values() for call in file.end())
        yield from log.rest()
        return
    yield None
    yield from _followed(paths, files, log)


def _default() -> str:
    folder = transcripts_folder(os.environ)
    if not folder.is_dir():
        raise InvalidAsk(f"{folder}: Claude Code keeps no transcripts here; name files or folders")
    return str(folder)


def _is_older(name: str, given: Namespace) -> bool:
    """Whether nothing was written there for as long as is looked back."""
    if given.since is None or name == STDIN:
        return False
    seconds: float = given.since.total_seconds()
    return time.time() - written_at(name) > seconds


def _read(files: Iterable[LogFile], progress: Progress) -> Iterator[Call]:
    try:
        for file in files:
            for step in file.read():
                if isinstance(step, int):
                    progress.add(step)
                else:
                    yield step
    finally:
        progress.clear()


def _followed(paths: list[str], files: dict[str, LogFile], log: Log) -> Iterator[Call | None]:
    looks = 0
    told = {call.id for call in log.open}
    while True:
        time.sleep(_PAUSE)
        looks += 1
        if looks % _LOOKS == 0:
            files.update((name, LogFile(log, name)) for name in found(paths) if name not in files)
        yield from (step for file in files.values() for step in file.read() if not isinstance(step, int))
        for call in log.open:
            if call.id not in told:
                told.add(call.id)
                say(f"waits for an answer: {_subject(call)}")
        yield None


def _subject(call: Call) -> str:
    from askdesk.surfaces.phrases import subject

    return subject(call.ask)


def _printer(given: Namespace) -> Callable[[Call], str]:
    """How a call is written: for programs, for a document, or for whoever sits here."""
    if given.json:
        from askdesk.wire.call_record import plain

        readable = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
        return lambda call: shown_json(json.dumps(plain(call), ensure_ascii=not readable))
    if given.md:
        from askdesk.surfaces.decision_record import record

        return record
    from askdesk.surfaces.terminal.ansi import written
    from askdesk.surfaces.terminal.log_view import log_lines

    columns = shutil.get_terminal_size((_PIPE, 24)).columns
    colours = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return lambda call: "\n".join([*(written(row, colours=colours) for row in log_lines(call, columns)), ""])


def _tell_flaws(log: Log) -> None:
    """Name what could not be read: the first ones, and how many there are."""
    for flaw in log.flaws:
        say(f"{flaw.place}: {flaw.what}")
    if (more := log.flaw_count - len(log.flaws)) > 0:
        say(f"and {more} more of {log.flaw_count} places like these")
