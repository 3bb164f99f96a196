"""What happens while somebody types: another surface wins, the asker goes, the desk goes and comes back."""

import re
from datetime import timedelta

import pytest
from playwright.async_api import Browser, expect
from tests.pages.house import DATABASE, PARTS, SIMPLE, House, button, house_of, press

from askdesk.core.desk import Desk
from askdesk.core.model import Answer, Answered, Denied
from askdesk.server import tokens
from askdesk.stores.memory import MemoryStore
from askdesk.surfaces import draft
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

LOST = "The desk is out of reach; trying again."
UNSENT = "Not sent: the desk is out of reach. What you filled in is still here."
BACK = "Back in touch with the desk."
LONG = "áé" * 30_000  # more than a page may send while it goes away


async def test_when_another_surface_wins_the_card_says_who_said_what_and_keeps_what_was_typed(house: House) -> None:
    ask = await house.desk.post([DATABASE, PARTS])
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_role("checkbox", name="Surfaces").check()
    await expect(page.locator("[data-kept]")).to_have_text("Draft kept")
    await page.get_by_label("Your own words").fill(LONG)

    await house.desk.settle(ask.id, Answered([Answer(["Postgres"]), None]), by="bo", surface="terminal")

    await expect(page.locator(".ended")).to_contain_text("answered by bo on terminal")
    await expect(page.locator(".chosen bdi")).to_have_text(["Postgres"])
    await expect(page.locator(".unchosen bdi")).to_have_text(["SQLite", "Stores", "Surfaces", "Adapters"])
    await expect(page.get_by_role("status")).to_contain_text("answered by bo on terminal")
    await expect(page.locator("#main")).to_be_focused()
    assert await page.locator(".typed .said").all_text_contents() == [
        f'Which database should it use?: "{LONG}"',
        "Which parts should be tested?: Surfaces",
    ]


async def test_whoever_types_on_when_the_card_changes_does_not_press_keys(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_label("Your own words").press_sequentially("let us not use those thin")

    await house.desk.settle(ask.id, Answered([Answer(["Postgres"])]), by="bo", surface="terminal")
    await expect(page.locator(".ended")).to_contain_text("answered by bo on terminal")
    await page.keyboard.type("g in gs / ? 1 j")

    await expect(page.locator(".ended")).to_contain_text("answered by bo on terminal")
    assert page.url == f"{house.server.url}/asks/{ask.id}"
    await expect(page.get_by_role("dialog")).to_have_count(0)


async def test_when_the_asker_takes_it_back_the_text_stays(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_label("Your own words").fill("half a tho")
    await page.get_by_role("radio", name="Postgres").check()  # so that the words would not have counted

    await house.desk.withdraw(ask.id, "no longer needed")

    await expect(page.locator(".ended")).to_contain_text("withdrawn")
    await expect(page.locator(".settled > .said")).to_have_text("Reason: no longer needed")
    await expect(page.locator(".typed .said")).to_have_text('Which database should it use?: Postgres, "half a tho"')


async def test_when_the_deadline_passes_the_text_stays(still_house: House, clock: FakeClock) -> None:
    ask = await still_house.desk.post(DATABASE, deadline=timedelta(minutes=5))
    page = await still_house.person("ana", f"/asks/{ask.id}")
    await page.get_by_label("Your own words").fill("half a tho")

    clock.advance(301)
    assert (await still_house.desk.get(ask.id)).settlement is not None  # whoever looks first, ends what is due

    await expect(page.locator(".ended")).to_contain_text("expired")
    await expect(page.locator(".typed .said")).to_have_text('Which database should it use?: "half a tho"')


async def test_words_of_a_lost_decision_are_kept(house: House) -> None:
    ask = await house.desk.post(SIMPLE)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_text("Deny, and say something").click()
    await page.get_by_label("Why not? The agent reads this.").fill("not in this folder")

    await house.desk.settle(ask.id, Denied(), by="bo", surface="terminal")

    await expect(page.locator(".ended")).to_contain_text("denied by bo on terminal")
    await expect(page.locator(".typed .said")).to_have_text("not in this folder")


async def test_the_desk_goes_and_comes_back_and_nothing_is_lost(browser: Browser) -> None:
    desk = Desk(MemoryStore())
    ask = await desk.post(DATABASE)
    async with house_of(desk, browser) as house:
        page = await house.person("ana", f"/asks/{ask.id}")
        house.stay()
        port = house.server.port
    await expect(page.get_by_role("status")).to_have_text(LOST)
    await page.get_by_label("Your own words").fill("typed while it was gone")
    await expect(page.locator("[data-kept]")).to_have_text("The draft could not be kept")

    await button(page, "Send").click()  # nobody is there: the page stays
    await expect(page.get_by_role("status")).to_have_text(UNSENT)
    await expect(page.get_by_label("Your own words")).to_have_value("typed while it was gone")
    async with house_of(desk, browser, port=port) as house:
        await expect(page.get_by_role("status")).to_have_text(BACK)
        await expect(page.locator("[data-kept]")).to_have_text("Draft kept")
        await desk.post(PARTS)
        await expect(page.locator(".asks li")).to_have_count(2)
        await press(page, "Send")
        await expect(page.locator(".ended")).to_contain_text("answered by ana on page")
        await page.context.close()

    settlement = (await desk.get(ask.id)).settlement
    assert settlement is not None
    assert settlement.outcome == Answered([Answer(other="typed while it was gone")])


async def test_whoever_is_signed_out_while_typing_stays_with_what_they_typed(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", "/settled")
    await page.route(re.compile("/events|/fragments/"), lambda route: route.abort())  # or it reloads before that
    await page.goto(f"/asks/{ask.id}")
    (token,) = await tokens.tokens(house.desk.shelf)
    await tokens.revoke(house.desk.shelf, token.id, house.desk.now())
    house.server.service.recent.forget(token)  # as where somebody signs out

    await page.get_by_label("Your own words").fill("half a tho")

    await expect(page.get_by_role("status")).to_have_text(
        "You are signed out. Sign in in another tab, then come back: what you typed stays here."
    )
    await button(page, "Send").click()
    other = await page.context.new_page()
    await other.goto(await house.link("ana"))
    await other.close()
    await expect(page.get_by_label("Your own words")).to_have_value("half a tho")
    await press(page, "Send")
    await expect(page.get_by_role("alert")).to_contain_text("You signed in again since this page was opened.")
    await expect(page.get_by_label("Your own words")).to_have_value("half a tho")


async def test_a_page_in_the_background_gives_its_connection_back_and_catches_up(house: House) -> None:
    page = await house.person()
    await expect(page.locator(".large")).to_be_visible()
    hide = "Object.defineProperty(document, 'visibilityState', { value: '%s', configurable: true })"
    change = "document.dispatchEvent(new Event('visibilitychange'))"

    await page.evaluate(f"{hide % 'hidden'}; {change}")
    await house.until(lambda: house.server.service.metrics.streams == 0)
    await house.desk.post(DATABASE)
    await page.evaluate(f"{hide % 'visible'}; {change}")

    await expect(page.locator(".asks li")).to_have_count(1)


async def test_another_person_sees_the_same_end(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    ana, bo = [await house.person(name, f"/asks/{ask.id}") for name in ("ana", "bo")]
    await bo.get_by_label("Your own words").fill("or neither")
    await ana.get_by_role("radio", name="SQLite").check()

    await press(ana, "Send")

    for page in (ana, bo):
        await expect(page.locator(".ended")).to_contain_text("answered by ana on page")
    await expect(bo.locator(".typed h2")).to_have_text("Typed by bo, not sent")
    assert await draft.kept(house.desk.shelf, ask, "ana") is None
