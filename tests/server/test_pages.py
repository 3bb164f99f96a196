"""The page's routes without a browser: what a person gets to see, and what a form of theirs may say."""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from tests.server.running import Answer, Running, running

from askdesk.core.desk import Desk
from askdesk.core.model import Allowed, Answered, Ask, Asker, Denied, Permission, Question
from askdesk.server import tokens
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

LIST = Permission("Bash", {"command": "ls"})


class Person:
    """Somebody who is signed in, at a browser that runs no scripts."""

    def __init__(self, server: Running, token: str) -> None:
        self._server = server
        self._headers = {"Cookie": f"askdesk-{server.port}={token}", "Accept-Language": "en"}

    async def opens(self, path: str) -> str:
        answer = await self._server.request("GET", path, headers=self._headers)
        assert answer.status == 200, answer
        return answer.body.decode()

    async def sends(self, path: str, page: str, **fields: str) -> Answer:
        """Press a button of a form, with the hidden fields that the page has."""
        hidden = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page))
        body = urlencode({**hidden, **fields}).encode()
        more = {"Origin": self._server.url, "Content-Type": "application/x-www-form-urlencoded"}
        return await self._server.request("POST", path, body=body, headers={**self._headers, **more})


@pytest.fixture
async def server(clock: FakeClock) -> AsyncIterator[Running]:
    async with running(Desk(MemoryStore(), clock=clock)) as server:
        yield server


@pytest.fixture
async def ana(server: Running) -> Person:
    return Person(server, await server.token("page", "ana"))


async def test_every_open_ask_is_listed_however_large_those_before_it_are(server: Running, ana: Person) -> None:
    for number in range(25):
        await server.desk.post(Permission("Write", {"file_path": f"/{number}", "content": "x" * 110_000}))
    await server.desk.post(Question("The last one?", ["a", "b"]))
    page = await ana.opens("/")
    assert len(re.findall(r"<li data-id=", page)) == 26
    assert "The last one?" in page


async def test_whoever_is_limited_sees_their_own_behind_any_number_of_others(server: Running) -> None:
    for number in range(1001):
        await server.desk.post(Question(f"{number}?", ["a", "b"]), asker=Asker(project="theirs"))
    await server.desk.post(Question("Mine?", ["a", "b"]), asker=Asker(project="mine"))
    person = Person(server, await server.token("page", "ana", projects=["mine"]))
    page = await person.opens("/")
    assert len(re.findall(r"<li data-id=", page)) == 1
    assert "Mine?" in page


def listed(page: str) -> list[str]:
    return re.findall(r'<span class="subject">.*<bdi>(.*)</bdi>', page)


async def test_of_more_asks_than_fit_those_at_the_wanted_end_are_listed_and_that_is_said(
    server: Running, ana: Person
) -> None:
    asks = [await server.desk.post(Question(f"{number}?", ["a", "b"])) for number in range(501)]
    oldest, newest = await ana.opens("/"), await ana.opens("/?order=newest")
    assert listed(oldest) == [f"{number}?" for number in range(500)]
    assert listed(newest) == [f"{number}?" for number in range(500, 0, -1)]
    assert "<title>(500+) askdesk</title>" in oldest
    assert "More are open: the 500 oldest are listed." in oldest
    assert "More are open: the 500 newest are listed." in newest

    await server.desk.withdraw(asks[0].id)
    all_of_them = await ana.opens("/")
    assert "<title>(500) askdesk</title>" in all_of_them
    assert "More are open" not in all_of_them


async def test_the_list_tells_when_the_ask_that_somebody_looks_at_is_settled(server: Running, ana: Person) -> None:
    asks = [await server.desk.post(Question(f"{number}?", ["a", "b"])) for number in range(501)]
    path = "/fragments/list?current="
    assert "data-settled" not in await ana.opens(path + asks[500].id)  # open, though not among those listed
    await server.desk.withdraw(asks[500].id)
    assert "data-settled" in await ana.opens(path + asks[500].id)
    assert "data-settled" not in await ana.opens(path + "0" * 32)


async def asked(server: Running, permission: Permission = LIST) -> Ask:
    return await server.desk.post(permission)


async def test_a_call_is_allowed_once_it_could_be_read(server: Running, ana: Person, clock: FakeClock) -> None:
    ask = await asked(server)
    page = await ana.opens(f"/asks/{ask.id}")
    quick = await ana.sends(f"/asks/{ask.id}", page, action="allow")
    assert (quick.status, "quicker than anybody reads" in quick.body.decode()) == (422, True)
    clock.advance(0.5)
    assert (await ana.sends(f"/asks/{ask.id}", page, action="allow")).status == 303
    settlement = (await server.desk.get(ask.id)).settlement
    assert settlement is not None
    assert (settlement.outcome, settlement.by, settlement.surface) == (Allowed(), "ana", "page")


async def test_a_call_that_was_shown_before_the_date_went_back_is_looked_at_again_and_allowed(
    server: Running, ana: Person, clock: FakeClock
) -> None:
    ask = await asked(server)
    page = await ana.opens(f"/asks/{ask.id}")
    clock.advance(10)
    clock.jump(-3600)
    refused = await ana.sends(f"/asks/{ask.id}", page, action="allow")
    assert (refused.status, (await server.desk.get(ask.id)).settlement) == (422, None)
    clock.advance(0.5)
    assert (await ana.sends(f"/asks/{ask.id}", refused.body.decode(), action="allow")).status == 303


async def test_a_page_of_yesterday_allows_nothing(server: Running, ana: Person, clock: FakeClock) -> None:
    ask = await asked(server)
    page = await ana.opens(f"/asks/{ask.id}")
    clock.advance(timedelta(days=1, seconds=1).total_seconds())
    old = await ana.sends(f"/asks/{ask.id}", page, action="allow")
    assert (old.status, "That page is a day old" in old.body.decode()) == (422, True)
    assert (await server.desk.get(ask.id)).settlement is None


@pytest.mark.parametrize("change", ["", "x.y", "sha256:0 - whole 2026-01-01T00:00:00+00:00.00", "é"])
async def test_nobody_makes_up_that_a_call_was_seen(
    server: Running, ana: Person, clock: FakeClock, change: str
) -> None:
    ask = await asked(server)
    page = await ana.opens(f"/asks/{ask.id}")
    clock.advance(1)
    forged = await ana.sends(f"/asks/{ask.id}", page, action="allow", stamp=change)
    assert (forged.status, (await server.desk.get(ask.id)).settlement) == (422, None)


async def test_what_one_browser_has_seen_lets_another_allow_nothing(
    server: Running, ana: Person, clock: FakeClock
) -> None:
    ask = await asked(server)
    seen = re.search(r'name="stamp" value="([^"]*)"', await ana.opens(f"/asks/{ask.id}"))
    clock.advance(1)
    ben = Person(server, await server.token("page", "ben"))
    assert seen
    sent = await ben.sends(f"/asks/{ask.id}", await ben.opens(f"/asks/{ask.id}"), action="allow", stamp=seen[1])
    assert (sent.status, (await server.desk.get(ask.id)).settlement) == (422, None)


async def test_a_call_that_is_too_large_to_be_changed_here_can_still_be_denied(server: Running, ana: Person) -> None:
    ask = await asked(server, Permission("Write", {"file_path": "/x", "content": "字" * 300_000}))
    page = await ana.opens(f"/asks/{ask.id}")
    assert 'name="input"' not in page
    assert (await ana.sends(f"/asks/{ask.id}", page, action="deny")).status == 303
    settlement = (await server.desk.get(ask.id)).settlement
    assert settlement is not None
    assert settlement.outcome == Denied()


async def test_a_quote_left_open_does_not_undo_the_filters(server: Running, ana: Person) -> None:
    for text in ("Which foo?", "Which bar?"):
        ask = await server.desk.post(Question(text, ["a", "b"]), asker=Asker("builder"))
        await server.desk.settle(ask.id, Answered([ask.questions[0].read("a")]), by="ana", surface="page")
    page = await ana.opens("/settled?" + urlencode({"q": '"foo', "is": "answered", "agent": "builder"}))
    assert ("Which foo?" in page, "Which bar?" in page) == (True, False)


async def test_a_link_is_used_up_by_a_person_alone(server: Running) -> None:
    code = await tokens.new_link(server.desk.shelf, "ana", now=server.desk.now())
    for headers in ({}, {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}):
        looked = await server.request("GET", f"/sign-in?code={code}", headers=headers)
        assert (looked.status, "set-cookie" in looked.headers) == (200, False)
    form = {"Origin": server.url, "Content-Type": "application/x-www-form-urlencoded"}
    body = urlencode({"code": code}).encode()
    assert (
        await server.request("POST", "/sign-in", body=body, headers={**form, "Origin": "http://evil"})
    ).status == 403
    pressed = await server.request("POST", "/sign-in", body=body, headers=form)
    assert (pressed.status, pressed.headers["location"]) == (303, "/")
    assert (await server.request("POST", "/sign-in", body=body, headers=form)).status == 401


async def test_signing_in_anew_ends_the_session_before(server: Running) -> None:
    before = await server.token("page", "ana")
    code = await tokens.new_link(server.desk.shelf, "ben", now=server.desk.now())
    headers = {"Cookie": f"askdesk-{server.port}={before}"}
    opened = await server.request("GET", f"/sign-in?code={code}", headers={**headers, "Sec-Fetch-Site": "none"})
    assert opened.status == 303
    assert (await server.request("GET", "/", headers=headers)).status == 401


async def test_wrong_tokens_of_others_keep_nobody_from_signing_in(server: Running) -> None:
    for _ in range(70):
        await server.request("GET", "/v1/me", token="wrong")  # noqa: S106 - as its name says
    code = await tokens.new_link(server.desk.shelf, "ana", now=server.desk.now())
    opened = await server.request("GET", f"/sign-in?code={code}", headers={"Sec-Fetch-Site": "none"})
    assert opened.status == 303


async def test_an_ask_follows_another_by_its_id_alone(server: Running) -> None:
    body = {"questions": [{"question": "Which?", "options": ["a", "b"]}], "follows": "../sign-in?code=abc"}
    answer = await server.request("POST", "/v1/asks", token=await server.token("asker"), body=body)
    assert (answer.status, answer.json["errors"][0]["path"]) == (422, "follows")


@pytest.mark.parametrize("name", ["serving/evil/1", "told/1", "notify/since", "draft/{id}/ben", "snooze/{id}/ben"])
async def test_what_is_the_servers_own_or_another_persons_is_not_written(server: Running, name: str) -> None:
    ask = await asked(server)
    path = f"/v1/shelf/{name.format(id=ask.id)}"
    token = await server.token("answerer", "ana")
    assert (await server.request("PUT", path, token=token, body={"value": "1"})).status == 403
    mine = f"/v1/shelf/draft/{ask.id}/ana"
    assert (await server.request("PUT", mine, token=token, body={"value": "1"})).status == 200
