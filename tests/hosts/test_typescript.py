"""Our MCP server with the TypeScript client, over standard input and output and over HTTP, in both eras."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cli.command import DATABASE, TWO, kept, kept_asks, settled, until
from tests.hosts.typescript import A_PERSON_TAKES, FORMS, Host, Node, hosted, over_http, over_stdio
from tests.stores.remote import Serving, new_tokens, serving

from askdesk.core.model import Answer, Answered, Ask, Declined, Outcome, Withdrawn
from askdesk.core.process import here, is_gone

HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
WAYS = [(way, era) for way in ("stdio", "http") for era in (HANDSHAKE, MODERN)]
SQLITE = 'ANSWERED: the person chose among your options.\n- "Which database?" = "SQLite"'
DECLINED = (
    "DECLINED: the person saw the questions and chose not to answer them. They gave no reason.\n"
    "This is not an answer and not consent: do not act as if a choice had been made."
)
THREE = {"questions": [*TWO["questions"], {"question": "Which name?", "header": "Name", "kind": "text"}]}


class House(NamedTuple):
    """A desk, and hosts of all ways to it: one that anybody may look at is served, the other is not."""

    node: Node
    stores: dict[str, Path]
    tokens: dict[str, str]
    server: Serving

    def way(self, way: str, *options: str) -> dict[str, Any]:
        return over_http(self.server.url, self.tokens) if way == "http" else over_stdio(self.stores["stdio"], *options)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    stores = {way: tmp_path_factory.mktemp(way) / "desk.db" for way in ("stdio", "http")}
    tokens = asyncio.run(new_tokens(stores["http"]))
    with pytest.MonkeyPatch.context() as around, Node() as node:
        around.setenv("ASKDESK_DIALOG_SECONDS", "0.3")
        with serving(stores["http"]) as server:
            yield House(node, stores, tokens, server)


@pytest.fixture(scope="module")
def known(house: House) -> dict[tuple[str, str], Host]:
    """The hosts with a dialog that tests share."""
    return {}


@pytest.fixture
def way(request: pytest.FixtureRequest, house: House, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """How a host comes to the desk, which is then the one that the settings name."""
    way: tuple[str, str] = request.param
    monkeypatch.setenv("ASKDESK_STORE", str(house.stores[way[0]]))
    return way


@pytest.fixture
def host(way: tuple[str, str], house: House, known: dict[tuple[str, str], Host]) -> Host:
    if way not in known:
        known[way] = Host(house.node, house.way(way[0]), way[1], FORMS)
    return known[way]


each_way = pytest.mark.parametrize("way", WAYS, indirect=True, ids=lambda way: "-".join(way))
handshake = pytest.mark.parametrize("way", [("stdio", HANDSHAKE), ("http", HANDSHAKE)], indirect=True)
modern = pytest.mark.parametrize("way", [("stdio", MODERN), ("http", MODERN)], indirect=True)


def the_ask() -> Ask:
    def opened() -> list[Ask]:
        return [entry.ask for entry in kept_asks() if entry.settlement is None]

    until(lambda: len(opened()) == 1)
    return opened()[0]


def outcome(ask: Ask) -> Outcome:
    until(lambda: kept(ask.id).settlement is not None)
    settlement = kept(ask.id).settlement
    assert settlement
    return settlement.outcome


@each_way
def test_what_a_person_fills_into_the_dialog_is_what_the_model_reads(host: Host) -> None:
    call, dialog = host.asks(THREE)
    ask = the_ask()
    assert list(dialog.fields) == [
        *("question_0", "question_0_custom", "question_1", "question_1_custom", "question_2")
    ]
    host.answers(dialog, "accept", {"question_0_custom": "DuckDB", "question_1": ["Logging", "Sign-in"]})
    assert host.result(call) == (
        "PARTLY ANSWERED: the person answered 2 of 3 questions and left the others blank on purpose. Do not assume an "
        "answer to a blank one.\n"
        '- "Which database?" = own words: "DuckDB"\n- "Which parts?" = "Sign-in" + "Logging"\n'
        '- "Which name?" = (left blank)',
        False,
    )
    settlement = kept(ask.id).settlement
    assert settlement
    assert (settlement.by, settlement.surface) == ("ana", "ts-host dialog")


@each_way
def test_a_declined_dialog_is_declined(host: Host) -> None:
    call, dialog = host.asks(DATABASE)
    host.answers(dialog, "decline")
    assert host.result(call) == (DECLINED, True)


@each_way
@pytest.mark.parametrize(("action", "content"), [("cancel", None), ("accept", {}), ("accept", {"question_0": " "})])
def test_a_dialog_that_is_closed_or_sent_empty_answers_nothing(
    way: tuple[str, str], host: Host, action: str, content: dict[str, Any] | None
) -> None:
    call, dialog = host.asks(DATABASE)
    ask = the_ask()
    host.answers(dialog, action, content)
    if way[0] == "http":  # where there is a page, the ask is still there
        settled(ask, Answered([Answer(["SQLite"])]))
        assert host.result(call) == (SQLITE, False)
    else:
        assert host.result(call) == (DECLINED, True)
        assert outcome(ask) == Declined()


@handshake
def test_an_answer_at_the_desk_takes_the_dialog_back(host: Host) -> None:
    call, dialog = host.asks(DATABASE)
    settled(the_ask(), Answered([Answer(["SQLite"])]))
    assert host.result(call) == (SQLITE, False)
    assert host.hears("taken back")["dialog"] == dialog.number


@modern
def test_a_form_that_comes_too_late_gets_the_answer_that_was_first(host: Host) -> None:
    call, dialog = host.asks(DATABASE)
    ask = the_ask()
    settled(ask, Answered([Answer(["SQLite"])]))
    host.answers(dialog, "accept", {"question_0": "Postgres"})
    assert host.result(call) == (SQLITE, False)
    assert outcome(ask) == Answered([Answer(["SQLite"])])


@each_way
def test_a_host_without_a_dialog_is_answered_at_the_desk_and_what_it_stops_is_withdrawn(
    way: tuple[str, str], house: House
) -> None:
    with hosted(house.node, house.way(way[0]), way[1]) as host:
        call = host.calls(DATABASE)
        settled(the_ask(), Answered([Answer(["SQLite"])]))
        assert host.result(call) == (SQLITE, False)
        call = host.calls(DATABASE)
        ask = the_ask()
        host.says("stop", call=call)
        assert outcome(ask) == Withdrawn("the agent stopped waiting")


@handshake
def test_a_call_that_is_stopped_takes_its_dialog_along(host: Host) -> None:
    call, dialog = host.asks(DATABASE)
    ask = the_ask()
    host.says("stop", call=call)
    assert host.hears("taken back")["dialog"] == dialog.number
    assert outcome(ask) == Withdrawn("the agent stopped waiting")


@pytest.mark.parametrize("way", [("stdio", HANDSHAKE)], indirect=True)
def test_a_client_that_counts_progress_waits_on_and_before_its_limit_it_is_told_that_the_ask_is_open(
    way: tuple[str, str], house: House
) -> None:
    server = house.way("stdio", "--progress", "0.1s", "--limit", "3s")
    with hosted(house.node, server, way[1]) as host:
        call = host.calls(DATABASE, progress=True, timeout=2000, resetTimeoutOnProgress=True)
        ask = the_ask()
        text, is_error = host.result(call)  # after two and a half seconds; without progress the client waits for two
        assert (text.startswith("STILL OPEN: nobody has answered yet"), ask.id in text, is_error) == (True, True, False)
        told = [(heard["progress"], heard["message"]) for heard in host.has_heard("progress")]
        assert told[:3] == [(n, "waiting for a person") for n in (1, 2, 3)]
        call = host.calls(DATABASE)
        assert the_ask() == ask
        settled(ask, Answered([Answer(["SQLite"])]))
        assert host.result(call) == (SQLITE, False)


@each_way
def test_what_is_asked_without_waiting_is_collected_once(way: tuple[str, str], host: Host) -> None:
    call = host.calls(DATABASE, "ask_without_waiting")
    ask = the_ask()
    assert host.result(call)[0].startswith(f"ASKED: ask id {ask.id}. Go on with other work")
    settled(ask, Answered([Answer(["SQLite"])]))
    assert host.result(host.calls({}, "collect_answers")) == (f"Ask id {ask.id}. {SQLITE}", False)
    nothing = "NOTHING NEW: nothing that you asked is open or waits to be collected."
    assert host.result(host.calls({}, "collect_answers")) == (nothing, False)


@each_way
def test_a_host_that_is_killed_with_its_dialog_leaves_the_ask_open_and_the_next_one_gets_the_answer(
    way: tuple[str, str], house: House
) -> None:
    with Node() as doomed:
        lost = Host(doomed, house.way(way[0]), way[1], FORMS)
        lost.asks(DATABASE)
        ask = the_ask()
        doomed.process.kill()
        doomed.process.wait()
    until(lambda: lost.pid is None or is_gone(here()[0], lost.pid))
    settled(ask, Answered([Answer(["SQLite"])]))
    with hosted(house.node, house.way(way[0]), way[1]) as host:
        assert host.result(host.calls(DATABASE)) == (SQLITE, False)
    assert [entry for entry in kept_asks() if entry.settlement is None] == []


@pytest.mark.parametrize("way", [("stdio", MODERN)], indirect=True)
def test_a_form_outlives_a_server_that_is_killed(way: tuple[str, str], house: House) -> None:
    """In the era without sessions: whoever is started next takes what was filled in."""
    first = Host(house.node, house.way("stdio"), MODERN, FORMS)
    call = first.calls(DATABASE, manual=True)
    wanted = first.hears("wanted", call=call)
    os.kill(first.pid, signal.SIGKILL)
    first.hears("closed")
    with hosted(house.node, house.way("stdio"), MODERN, FORMS) as host:
        time.sleep(A_PERSON_TAKES)
        form = {"dialog": {"action": "accept", "content": {"question_0": "SQLite"}}}
        call = host.calls(DATABASE, inputResponses=form, requestState=wanted["requestState"])
        assert host.result(call) == (SQLITE, False)
    assert [entry for entry in kept_asks() if entry.settlement is None] == []


@pytest.mark.parametrize("way", [("stdio", MODERN), ("http", MODERN)], indirect=True)
def test_a_form_that_comes_back_with_another_state_is_refused(host: Host) -> None:
    call = host.calls(DATABASE, manual=True)
    state = host.hears("wanted", call=call)["requestState"]
    ask = the_ask()
    form = {"dialog": {"action": "accept", "content": {"question_0": "SQLite"}}}
    call = host.calls(DATABASE, inputResponses=form, requestState=f"{state[:-6]}AAAAAA")
    assert host.hears("failed", call=call)["code"] == -32602
    assert kept(ask.id).settlement is None
    settled(ask, Declined())
    assert host.result(host.calls({"ask_id": ask.id}, "collect_answers")) == (DECLINED, True)


@pytest.mark.parametrize("way", [("http", MODERN)], indirect=True)
def test_a_form_outlives_a_desk_server_that_is_killed(way: tuple[str, str], house: House, tmp_path: Path) -> None:
    store = house.stores["http"]
    with serving(store) as server:
        host = Host(house.node, over_http(server.url, house.tokens), MODERN, FORMS)
        call, dialog = host.asks(DATABASE)
        server.killed()
    with serving(store, server.port):
        host.answers(dialog, "accept", {"question_0": "SQLite"})
        assert host.result(call) == (SQLITE, False)
        host.close()


@each_way
def test_the_tools_say_that_they_change_nothing_and_are_to_be_loaded(host: Host) -> None:
    host.says("tools")
    tools = host.hears("tools")["tools"]
    told = [(tool["name"], tool["annotations"]["readOnlyHint"], tool["_meta"]) for tool in tools]
    names = ("ask_user_question", "ask_permission", "ask_without_waiting", "collect_answers")
    assert told == [(name, True, {"anthropic/alwaysLoad": True}) for name in names]
