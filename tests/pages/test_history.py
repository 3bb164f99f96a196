"""What was settled: found again by words and fields, with what was not chosen, each at an address of its own."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Page, expect
from tests.pages.house import DATABASE, NAME, PARTS, SIMPLE, House, follow

from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Option,
    Question,
    Questions,
    Reply,
    Settlement,
)

pytestmark = pytest.mark.anyio

SHOP, API = Asker("builder", project="/srv/shop"), Asker("tester", project="/srv/api")


async def settled(house: House) -> Mapping[str, Ask]:
    """One ask of each end, the latest last."""
    desk = house.desk
    asks = {
        "answered": await desk.post([DATABASE, PARTS], asker=SHOP),
        "declined": await desk.post(NAME, asker=API),
        "allowed": await desk.post(SIMPLE, asker=SHOP),
        "denied": await desk.post(SIMPLE, asker=API),
    }
    replies: dict[str, Reply] = {
        "answered": Answered([Answer(["Postgres"], note="we know it"), Answer(["Stores"], other="the manual")]),
        "declined": Declined("ask tomorrow", stop=True),
        "allowed": Allowed('{"command": "make"}'),
        "denied": Denied("not here", redirect="use a container"),
    }
    for name, reply in replies.items():
        by = "bo" if name == "answered" else "ana"
        await desk.settle(asks[name].id, reply, by=by, surface="terminal", digest=SIMPLE.digest)
    asks["withdrawn"] = await desk.post(DATABASE, asker=SHOP)
    await desk.withdraw(asks["withdrawn"].id, "found it myself")
    return asks


async def found(page: Page, asks: Mapping[str, Ask]) -> list[str]:
    """Which of them are listed."""
    names = {f"/asks/{ask.id}": name for name, ask in asks.items()}
    links = await page.locator(".history a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    return [names[link] for link in links]


async def test_all_that_was_settled_is_listed_the_latest_first(house: House) -> None:
    asks = await settled(house)
    await house.desk.post(NAME)
    page = await house.person("ana", "/settled")

    assert await found(page, asks) == ["withdrawn", "denied", "allowed", "declined", "answered"]
    await expect(page.locator(".history .answers")).to_have_text(
        'Database → Postgres; note: we know it · Tests → Stores, "the manual"'
    )
    await expect(page.locator(".history .about").last).to_contain_text("answered by bo on terminal · builder · shop · ")
    await expect(page).to_have_title("(1) Settled · askdesk")


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("manual", ["answered"]),
        ("database", ["withdrawn", "answered"]),
        ("make build", ["denied", "allowed"]),
        ("is:denied", ["denied"]),
        ("by:bo", ["answered"]),
        ("nowhere", []),
        ('"', ["withdrawn", "denied", "allowed", "declined", "answered"]),
    ],
)
async def test_words_find_what_was_asked_and_said(house: House, words: str, names: list[str]) -> None:
    asks = await settled(house)
    page = await house.person("ana", "/settled")

    await page.get_by_label("Search").fill(words)
    await follow(page, "Find")

    assert await found(page, asks) == names
    await expect(page.get_by_label("Search")).to_have_value(words)
    await expect(page.locator(".empty")).to_have_count(0 if names else 1)


async def test_fields_beside_the_words_narrow_it_down(house: House) -> None:
    asks = await settled(house)
    page = await house.person("ana", "/settled")

    await page.get_by_label("Agent").fill("builder")
    await follow(page, "Find")
    assert await found(page, asks) == ["withdrawn", "allowed", "answered"]
    await page.get_by_label("Outcome").select_option("allowed")
    await follow(page, "Find")
    assert await found(page, asks) == ["allowed"]
    await page.get_by_label("Agent").fill("")
    await page.get_by_label("Project").fill("/srv/api")
    await page.get_by_label("Outcome").select_option("declined")
    await page.get_by_label("By").fill("ana")
    await follow(page, "Find")

    assert await found(page, asks) == ["declined"]
    await follow(page, "Español")
    assert await found(page, asks) == ["declined"]  # the search stays


async def test_a_settled_ask_shows_what_was_chosen_and_what_was_not(house: House) -> None:
    asks = await settled(house)
    page = await house.person("ana", "/settled")

    await page.get_by_role("link", name="Which database should it use? (+1 more)").click()

    await expect(page.locator(".ended")).to_contain_text("answered by bo on terminal")
    assert page.url == f"{house.server.url}/asks/{asks['answered'].id}"
    await expect(page.locator(".chosen bdi")).to_have_text(["Postgres", "Stores"])
    await expect(page.locator(".unchosen bdi")).to_have_text(["SQLite", "Surfaces", "Adapters"])
    await expect(page.locator("p.said")).to_have_text(["Note: we know it", "Own words: the manual"])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("declined", ["Said: ask tomorrow", "The agent was stopped."]),
        ("denied", ["Said: not here", "Instead: use a container"]),
        ("allowed", []),
        ("withdrawn", ["Reason: found it myself"]),
    ],
)
async def test_every_end_says_what_was_said(house: House, name: str, said: list[str]) -> None:
    asks = await settled(house)
    page = await house.person("ana", f"/asks/{asks[name].id}")

    await expect(page.locator(".ended")).to_contain_text(name)
    await expect(page.locator("p.said")).to_have_text(said)
    await expect(page.get_by_role("heading", name="What ran instead")).to_have_count(int(name == "allowed"))
    await expect(page.locator("#answer")).to_have_count(0)


async def test_older_ones_are_on_further_pages(house: House) -> None:
    for number in range(60):
        ask = await house.desk.post(NAME, asker=Asker(f"agent {number}"))
        await house.desk.settle(ask.id, Declined(), by="ana", surface="terminal")
    page = await house.person("ana", "/settled?by=ana")
    rows = page.locator(".history li")
    await expect(rows).to_have_count(50)

    await page.get_by_role("link", name="Older ones").click()

    await expect(rows).to_have_count(10)
    await expect(rows.last).to_contain_text("agent 0 ·")
    await expect(page.get_by_label("By")).to_have_value("ana")
    await expect(page.get_by_role("link", name="Older ones")).to_have_count(0)


LAYOUT = Question(
    "Which layout?",
    [Option("Wide", "One column", "+------+\n| WIDE |\n+------+"), Option("Tall", "Two", "+--+\n|T |\n+--+")],
    header="Layout",
)


async def imported(house: House) -> Ask:
    """An ask with times of its own, as out of a log."""
    asker = Asker("claude-code", session="7339e977", project="/srv/shop")
    asked = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
    ask = Ask("0123456789abcdef", Questions([LAYOUT]), asker, asked, "toolu_1", preview_format="markdown")
    said = Answered([Answer(["Wide"], note="but blue")])
    await house.desk.store.add(ask)
    await house.desk.store.settle(
        ask.id, Settlement(said, asked + timedelta(minutes=3, seconds=20), "log toolu_1", surface="claude-code")
    )
    return ask


async def test_a_settled_ask_says_when_it_was_asked_how_long_it_took_and_where_it_came_from(house: House) -> None:
    ask = await imported(house)
    page = await house.person("ana", f"/asks/{ask.id}")
    asked = f"{ask.created.astimezone():%Y-%m-%d %H:%M}"

    await expect(page.locator(".ended")).to_contain_text("answered on claude-code · 2026-03-01")
    await expect(page.locator(".took")).to_have_text(f"asked {asked}, took 3m 20s · session 7339e977")


async def test_the_previews_of_a_settled_ask_stand_side_by_side_with_the_chosen_one_marked(house: House) -> None:
    ask = await imported(house)
    page = await house.person("ana", f"/asks/{ask.id}", viewport={"width": 1280, "height": 900})

    await expect(page.locator(".chosen figure")).to_contain_text("WIDE")
    await expect(page.locator(".unchosen figure")).to_contain_text("T")
    wide, tall = [await page.locator(f".{name} figure").bounding_box() for name in ("chosen", "unchosen")]
    assert wide is not None
    assert tall is not None
    assert (wide["y"], wide["x"] + wide["width"] < tall["x"]) == (tall["y"], True)

    await page.get_by_role("link", name="Compare").click()
    await expect(page.locator(".compared figure")).to_have_count(2)


async def test_what_came_out_of_a_log_is_found_by_where_it_came_from(house: House) -> None:
    asks = {**await settled(house), "log": await imported(house)}
    page = await house.person("ana", "/settled?q=on:claude-code+blue")

    assert await found(page, asks) == ["log"]
