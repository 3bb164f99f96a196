"""The benches run, and what they measured is told. What they measure decides no test."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

import pytest
from bench import desks, growth, hook, log, mcp, memory, page, pages, paint, restart, run, server, start, two_servers
from bench.growth import Curve
from bench.measure import Figure, Ratio, Section, p99, shown
from bench.plot import Panel, Series, small_multiples
from bench.report import Report, Result
from bench.rows import fill_postgres, fill_sqlite
from tests.postgres import Cluster

from askdesk.core.store import State

ROOT = Path(__file__).parent.parent


def measured(results: list[Result]) -> list[tuple[int, int, bool]]:
    """Of each ratio: how often its floor and ours were measured, and whether all of it is a figure."""
    ratios = [each for each in results if isinstance(each, Ratio)]
    return [(len(each.floor), len(each.ours), min(*each.floor, *each.ours) > 0) for each in ratios]


def test_every_bench_measures_ours_and_its_floor_in_turns() -> None:
    results: list[Result] = [
        start.measure(2),
        *hook.measure(2),
        mcp.measure(2),
        paint.measure(2),
        asyncio.run(desks.on_sqlite(2)),
        asyncio.run(desks.on_sqlite(2, at_once=8)),
        log.measure(2, megabytes=1),
        server.exchange(2),
        *server.many(2, connections=4),
    ]
    assert measured(results) == [(2, 2, True)] * 10
    each_alone = asyncio.run(desks.in_memory(2))
    assert measured([each_alone]) == [(2 * desks.IN_A_ROW, 2 * desks.IN_A_ROW, True)]


def test_every_figure_is_measured() -> None:
    figures = [server.stream_memory(50), *server.idle_costs(0.1, 5, rest=0)]
    assert [(each.unit, each.value >= 0) for each in figures] == [("kB", True), *[("%", True)] * 3]


def test_an_agent_and_a_person_at_two_servers_are_measured(cluster: Cluster) -> None:
    assert measured([two_servers.measure(cluster, 2)]) == [(2, 2, True)]


def test_servers_with_many_open_asks_are_measured(tmp_path: Path) -> None:
    empty, full = (str(tmp_path / name) for name in ("empty.db", "full.db"))
    fill_sqlite(Path(empty), 0, "open")
    fill_sqlite(Path(full), 1000, "open")
    results = [*memory.measure("SQLite", empty, full, 1000, 2), *restart.measure(empty, full, 1000, 2)]
    assert measured([*results]) == [(2, 2, True)] * 2
    assert all(each.value > 0 for each in results)


def test_servers_with_many_open_asks_in_a_database_are_measured(cluster: Cluster) -> None:
    empty, full = cluster.database(), cluster.database()
    for url, count in ((empty, 0), (full, 1000)):
        asyncio.run(fill_postgres(url, count, "open"))
    results = memory.measure("PostgreSQL", empty, full, 1000, 2)
    assert measured([*results]) == [(2, 2, True)]
    assert all(each.value > 0 for each in results)


def test_the_page_is_measured_in_a_browser() -> None:
    seen, weight, requests, elsewhere = page.measure(2)
    assert measured([seen]) == [(2, 2, True)]
    assert weight.value > 10
    assert (requests.value, elsewhere.value) == (6, 0)  # the document, style, script, icon, live stream and its list


def test_every_verb_is_measured_at_every_size_on_every_store(cluster: Cluster) -> None:
    curves = growth.measure(cluster, 2, (60, 120))
    whats = [
        "post",
        "settle",
        "expire",
        "the first page",
        "the newest page",
        "search a common word",
        "search a rare word",
    ]
    whats += ["settle elsewhere, wake here", "index an ask for searches"]
    series = ["SQLite, open", "SQLite, history", "PostgreSQL, open", "PostgreSQL, history"]
    assert [(curve.what, curve.series) for curve in curves] == [(what, name) for what in whats for name in series]
    times = {curve.what: [len(each) for each in curve.samples.values()] for curve in curves}
    assert times == {what: [1, 1] if what.startswith("index") else [2, 2] for what in whats}
    assert all(min(each) > 0 for curve in curves for each in curve.samples.values())
    assert len(growth.figures(curves)) == 4


def made_up(what: str, state: State, *times: float) -> Curve:
    return Curve(what, "SQLite", state, {10**power: [time, time] for power, time in enumerate(times, 2)})


CURVES = [
    made_up("post", "open", 100, 100, 100),
    made_up("post", "settled", 100, 1000, 10_000),
    made_up("list", "open", 100, 150, 200),
]
RATIO = Ratio("ours", "the least", 2, [1000.0, 3000.0, 2000.0], [5000.0, 3000.0, 4000.0], 1.5)
RESULTS: list[Result] = [
    RATIO,
    Ratio("memory", "none", 1.5, [4e7], [5e7], unit="B"),
    Figure("requests", 6, "", 6),
    Figure("a page", 20.55, "kB", 20),
    *CURVES,
    Section("Peers", "| others |", {"others": 1}),
]
REPORT = Report(
    datetime(2026, 11, 18, 12, tzinfo=UTC),
    {"processor": "2 x CPU", "memory": "4 GiB", "system": "Linux 6", "disk": "ext4"},
    {"Python": "3.11"},
    RESULTS,
)


def test_a_table_shows_floor_and_ours_with_both_their_ratios() -> None:
    assert [each.row() for each in RESULTS if isinstance(each, Ratio | Figure | Curve)] == [
        "| ours | the least | 3 | 2.00 ms | 3.00 ms | 4.00 ms | 5.00 ms | 2.00x | 2x | 1.67x | 1.5x | NO |",
        "| memory | none | 1 | 40.0 MB | 40.0 MB | 50.0 MB | 50.0 MB | 1.25x | 1.5x | 1.25x |  | yes |",
        "| requests | 6 | 6 | yes |",
        "| a page | 20.6 kB | 20 kB | NO |",
        "| post | SQLite, open | 100 µs | 100 µs | 100 µs | 1.0x | 3.0x | yes |",
        "| post | SQLite, history | 100 µs | 1.00 ms | 10.0 ms | 100.0x | 3.0x | NO |",
        "| list | SQLite, open | 100 µs | 150 µs | 200 µs | 2.0x | 3.0x | yes |",
    ]


def test_times_have_three_digits_and_one_of_a_hundred_is_slower_than_most() -> None:
    assert [shown(value) for value in (0.5, 5.345, 42, 999, 1234, 56_780, 2.5e6)] == [
        *("0.50 µs", "5.34 µs", "42.0 µs", "999 µs"),
        *("1.23 ms", "56.8 ms", "2.50 s"),
    ]
    assert [p99(range(1, 101)), p99(range(1, 1001)), p99([3, 9, 4])] == [99, 990, 9]


def test_the_document_and_the_raw_figures_hold_all_that_was_measured() -> None:
    document = REPORT.document()
    assert all(each.row() in document for each in RESULTS if isinstance(each, Ratio | Figure | Curve))
    assert "Measured on 2026-11-18: 2 x CPU, 4 GiB, Linux 6, ext4. Python 3.11." in document
    assert document.count("(pictures/growth.svg)") == 1
    assert document.endswith("## Peers\n\n| others |\n")
    raw = json.loads(json.dumps(REPORT.raw()))
    assert [len(raw[name]) for name in ("ratios", "figures", "growth", "sections")] == [2, 2, 3, 1]
    assert raw["ratios"][0]["ours"] == RATIO.ours
    assert raw["growth"][1]["samples"] == {"100": [100, 100], "1000": [1000, 1000], "10000": [10_000, 10_000]}


def test_a_table_takes_the_place_of_the_one_before_and_leaves_the_page_as_it_is() -> None:
    page = "a\n<!-- measured by it -->\nold\n<!-- until here -->\nb\n"
    assert pages.replaced(page, "it", "new\n") == page.replace("old", "\nnew\n")
    assert pages.standing(page, "it") == "old\n"
    with pytest.raises(AssertionError, match="there is no place for it"):
        pages.replaced("a page without one", "it", "new")


def test_the_plot_has_every_series_in_its_panel_and_a_legend() -> None:
    picture = ElementTree.fromstring(small_multiples("Growth", "asks", growth.panels(CURVES)))  # noqa: S314 - our own
    svg = {"": "http://www.w3.org/2000/svg"}
    drawn = {
        panel.find("text[@class='panel']", svg).text: {  # type: ignore[union-attr]
            line.find("title", svg).text: line.get("points")  # type: ignore[union-attr]
            for line in panel.findall("polyline", svg)
        }
        for panel in picture.findall("g", svg)
    }
    # From 100 to 10,000 in both directions: 176 wide, 150 high, from the top down.
    assert drawn == {
        "post": {
            "SQLite, open": "0.0,150.0 88.0,150.0 176.0,150.0",
            "SQLite, history": "0.0,150.0 88.0,75.0 176.0,0.0",
        },
        "list": {"SQLite, open": "0.0,150.0 88.0,136.8 176.0,127.4"},
    }
    told = [text.text for text in picture.findall("text", svg)]
    assert told == ["Growth", "SQLite, open", "SQLite, history", "would be in proportion"]


def test_two_figures_alone_can_be_plotted() -> None:
    panels = [Panel("post", [Series("<b>", [(100, 7.0), (1000, 7.0)])])]
    assert "&lt;b&gt;" in small_multiples("Growth", "asks", panels)


def bench(*options: str, **given: str) -> subprocess.Popen[str]:
    command = (sys.executable, "-m", "bench.run", *options)
    return subprocess.Popen(
        command, cwd=ROOT, env={**os.environ, **given}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """One that PostgreSQL can reach, as another user."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o711)  # noqa: S103
        yield Path(folder)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_run_that_is_stopped_leaves_nothing(open_folder: Path, number: signal.Signals, code: int) -> None:
    with bench("--only", "two-servers", TMPDIR=str(open_folder)) as process:
        while not (number_of := _told(open_folder, "*/*/data/postmaster.pid")):
            assert process.poll() is None
        postgres = int(number_of.splitlines()[0])
        process.send_signal(number)
        said, told = process.communicate()
    assert (process.returncode, said, list(open_folder.iterdir())) == (code, "", [])
    assert not Path(f"/proc/{postgres}").exists()
    assert "Traceback" not in told


MISSED = Ratio("slow", "quick", 2, [1.0, 1.0], [9.0, 9.0])


@pytest.mark.parametrize(("found", "code"), [([MISSED], 0), (None, 1)], ids=["misses its aim", "breaks"])
def test_only_a_bench_that_breaks_fails_a_run_and_no_ratio_that_misses_its_aim(
    found: list[Result], code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", tempfile.gettempdir())  # a run has a place of its own
    monkeypatch.setenv("TMPDIR", tempfile.gettempdir())
    monkeypatch.setattr(Report, "keep", lambda _: Path.cwd() / "kept")
    monkeypatch.setitem(run.BENCHES, "start", lambda _: found)
    monkeypatch.setattr(sys, "argv", ["scripts/bench", "--only", "start"])
    assert run.main() == code
    assert ("| 9.00x | 2x | 9.00x |  | NO |" in capsys.readouterr().out) == (code == 0)


def _told(folder: Path, pattern: str) -> str:
    """What stands in the file that will be there."""
    return "".join(path.read_text() for path in folder.glob(pattern))


@pytest.mark.parametrize("options", [("--short", "--write"), ("--growth", "--write"), ("--only", "growht")])
def test_what_cannot_be_is_refused_before_anything_is_measured(options: tuple[str, ...]) -> None:
    with bench(*options) as process:
        said, told = process.communicate()
    assert (process.returncode, said) == (2, "")
    assert "error: " in told
