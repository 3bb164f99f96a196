"""The list of open asks: live, in order, and still under the pointer."""

import socket
from datetime import timedelta
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.pages.house import COUNT, DATABASE, NAME, PARTS, PHONE, SIMPLE, House, follow

from askdesk.core.model import Answer, Answered, Asker

pytestmark = pytest.mark.anyio

NOBODY = "No agent waits for an answer"


async def listed(page: Page) -> list[str]:
    """The rows as somebody hears them."""
    texts = await page.locator(".asks li a").all_text_contents()
    return [" ".join(text.split())[1:] for text in texts]  # without the mark, which is for the eyes


async def ids(page: Page) -> Any:
    return await page.locator(".asks li").evaluate_all("rows => rows.map(row => row.dataset.id)")


async def test_an_ask_appears_by_itself_and_goes_when_it_is_settled(still_house: House) -> None:
    page = await still_house.person()
    await expect(page.locator(".large")).to_have_text(NOBODY)
    await expect(page).to_have_title("askdesk")

    first = await still_house.desk.post([DATABASE, PARTS], asker=Asker("builder", project="/srv/shop"))
    await expect(page.locator(".asks li")).to_have_count(1)
    await still_house.desk.post(SIMPLE, asker=Asker("tester"))

    await expect(page.locator(".asks li")).to_have_count(2)
    assert await listed(page) == [
        "question: Which database should it use? (+1 more) builder · shop · now",
        "permission: Bash: rm -rf build && make tester · now",
    ]
    await expect(page).to_have_title("(2) askdesk")
    await expect(page.locator(".count")).to_have_text("2")
    await still_house.desk.settle(first.id, Answered([Answer(["Postgres"]), None]), by="bo", surface="terminal")
    await expect(page.locator(".asks li")).to_have_count(1)
    await expect(page).to_have_title("(1) askdesk")


async def test_a_row_tells_until_when_it_waits_and_that_its_process_has_gone(still_house: House) -> None:
    gone = Asker("builder", host=socket.gethostname(), process=2**22 + 1)  # more than a kernel gives out
    ask = await still_house.desk.post(NAME, asker=gone, deadline=timedelta(days=2))
    page = await still_house.person()

    assert ask.deadline is not None
    until = f"{ask.deadline.astimezone():%Y-%m-%d %H:%M}"
    assert await listed(page) == [
        f"question: What should it be called? builder · now · until {until} · its process is gone"
    ]


async def test_each_ask_has_an_address_of_its_own(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person()

    await page.get_by_role("link", name="Which database").click()

    await expect(page.get_by_role("heading", name="agent asks")).to_be_visible()
    assert page.url == f"{house.server.url}/asks/{ask.id}"
    await expect(page).to_have_title("(1) Which database should it use? · askdesk")
    await expect(page.locator(".asks [aria-current=page]")).to_have_count(1)


async def test_the_list_is_ordered_and_filtered_in_place(house: House) -> None:
    shop = await house.desk.post(DATABASE, asker=Asker("builder", project="/srv/shop"))
    api = await house.desk.post(NAME, asker=Asker("builder", project="/srv/api"))
    tester = await house.desk.post(COUNT, asker=Asker("tester", project="/srv/shop"))
    page = await house.person()
    assert await ids(page) == [shop.id, api.id, tester.id]

    await page.get_by_label("First").focus()
    await page.get_by_label("First").select_option("newest")
    await expect(page.locator(".asks li").first).to_have_attribute("data-id", tester.id)
    assert await ids(page) == [tester.id, api.id, shop.id]
    await expect(page.get_by_label("First")).to_be_focused()
    await page.get_by_label("Agent").select_option("builder")
    await expect(page.locator(".asks li")).to_have_count(2)
    await page.get_by_label("Project").select_option("/srv/api")
    await expect(page.locator(".asks li")).to_have_count(1)

    assert page.url == f"{house.server.url}/?order=newest&agent=builder&project=%2Fsrv%2Fapi"
    await expect(page).to_have_title("(3) askdesk")
    await page.reload()
    assert await ids(page) == [api.id]
    await page.get_by_role("link", name="What should it be called?").click()
    await expect(page.locator("select[name=agent]")).to_have_value("builder")  # the list beside it stays as it was


async def test_a_new_ask_is_said_politely_and_takes_no_focus(house: House) -> None:
    ask = await house.desk.post(NAME)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_label("Your own words").focus()

    await house.desk.post(SIMPLE, asker=Asker("builder"))

    await expect(page.get_by_role("status")).to_have_text("New ask from builder: Bash: rm -rf build && make")
    await expect(page.get_by_label("Your own words")).to_be_focused()


BOXES = """elements => elements.map(element => {
  const box = element.getBoundingClientRect();
  return [box.x, box.y, box.height];
})"""


async def test_nothing_moves_under_the_pointer(house: House) -> None:
    first, second, third = [await house.desk.post(question) for question in (DATABASE, NAME, COUNT)]
    page = await house.person("ana", f"/asks/{third.id}")
    things = page.locator(".asks li, main, h1, fieldset, .bar :not(#told)")
    await page.locator(".asks li").nth(1).hover()
    before = await things.evaluate_all(BOXES)

    await house.desk.settle(first.id, Answered([Answer(["Postgres"])]), by="bo", surface="terminal")
    await house.desk.post(SIMPLE, asker=Asker("builder"))

    await expect(page.get_by_role("status")).to_have_text("New ask from builder: Bash: rm -rf build && make")
    await expect(page.locator(".asks .gone")).to_have_attribute("data-id", first.id)
    assert await ids(page) == [first.id, second.id, third.id]
    assert await things.evaluate_all(BOXES) == before
    await page.mouse.move(900, 500)
    await expect(page.locator(".asks li").first).to_have_attribute("data-id", second.id)
    assert len(await ids(page)) == 3


async def test_nothing_moves_under_a_finger(house: House) -> None:
    first, second = [await house.desk.post(question) for question in (DATABASE, NAME)]
    page = await house.person(**PHONE)
    await page.locator(".asks li").nth(1).dispatch_event("pointerdown")

    await house.desk.settle(first.id, Answered([Answer(["Postgres"])]), by="bo", surface="terminal")

    await expect(page.locator(".asks .gone")).to_have_attribute("data-id", first.id)
    await page.locator(".asks li").nth(1).dispatch_event("pointerup")
    await expect(page.locator(".asks li")).to_have_count(1)
    assert await ids(page) == [second.id]


async def test_the_row_that_has_the_focus_is_not_taken_away(house: House) -> None:
    first, second = [await house.desk.post(question) for question in (DATABASE, NAME)]
    page = await house.person()
    await page.keyboard.press("j")

    third = await house.desk.post(COUNT)
    await expect(page.locator(".asks li")).to_have_count(3)
    await expect(page.get_by_role("link", name="Which database")).to_be_focused()
    await house.desk.withdraw(first.id)
    await expect(page.locator(".asks .gone")).to_have_attribute("data-id", first.id)
    await expect(page.get_by_role("link", name="Which database")).to_be_focused()
    await page.keyboard.press("j")

    await expect(page.locator(".asks li")).to_have_count(2)
    await expect(page.get_by_role("link", name="What should it be called?")).to_be_focused()
    assert await ids(page) == [second.id, third.id]


NOTED = """
window.noted = [];
window.Notification = class extends EventTarget {
  static permission = "granted";
  static requestPermission = async () => "granted";
  constructor(title, options) { super(); window.noted.push([title, options.body, options.tag]); }
};
Document.prototype.hasFocus = () => window.isLookedAt ?? false;
"""


async def test_the_browser_notes_a_new_ask_for_whoever_wants_that_and_does_not_look(house: House) -> None:
    page = await house.stranger(permissions=["notifications"])
    await page.add_init_script(NOTED)
    await page.goto(await house.link("ana"))
    await page.goto("/settled")
    await house.desk.post(NAME)
    await expect(page.locator(".count")).to_have_text("1")
    button = page.get_by_role("button", name="Notify me")
    await expect(button).to_have_attribute("aria-pressed", "false")

    await button.click()
    await expect(button).to_have_attribute("aria-pressed", "true")
    ask = await house.desk.post(SIMPLE, asker=Asker("builder"))
    await expect(page.locator(".count")).to_have_text("2")
    await page.evaluate("window.isLookedAt = true")
    await house.desk.post(COUNT)
    await expect(page.locator(".count")).to_have_text("3")

    said = "New ask from builder: Bash: rm -rf build && make"
    assert await page.evaluate("window.noted") == [["askdesk", said, ask.id]]
    await button.click()
    await expect(button).to_have_attribute("aria-pressed", "false")


async def test_the_keys_move_through_the_page_and_send_nothing(house: House) -> None:
    asks = [await house.desk.post(question) for question in (DATABASE, NAME)]
    page = await house.person()

    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await page.keyboard.press("j")
    await expect(page.get_by_role("link", name="What should it be called?")).to_be_focused()
    await page.keyboard.press("k")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("heading", name="agent asks")).to_be_visible()
    await page.keyboard.press("2")
    await expect(page.get_by_role("radio", name="Postgres")).to_be_checked()
    await page.keyboard.press("n")
    await page.keyboard.type("because")
    await expect(page.get_by_label("Note for question 1")).to_have_value("because")
    await page.keyboard.press("Escape")
    await expect(page.get_by_label("Note for question 1")).not_to_be_focused()
    await page.keyboard.press("?")
    await expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await page.keyboard.press("/")
    await expect(page.get_by_role("heading", name="Settled")).to_be_visible()
    await page.keyboard.press("/")
    await expect(page.get_by_label("Search")).to_be_focused()
    await page.keyboard.press("Escape")
    await page.keyboard.press("g")
    await page.keyboard.press("i")
    await expect(page.get_by_role("heading", name="Open asks")).to_have_count(1)

    assert [(await house.desk.get(ask.id)).settlement for ask in asks] == [None, None]


async def test_the_keys_can_be_switched_off(house: House) -> None:
    await house.desk.post(DATABASE)
    page = await house.person("ana", "/help")

    await page.get_by_label("These keys are on").uncheck()
    await page.goto("/")
    await page.keyboard.press("j")

    await expect(page.get_by_role("link", name="Which database")).not_to_be_focused()


async def test_the_page_speaks_the_language_that_the_reader_chooses_and_stays_where_it_is(still_house: House) -> None:
    await still_house.desk.post(SIMPLE)
    page = await still_house.person("ana", "/?order=newest")

    await follow(page, "Español")

    await expect(page.locator("html")).to_have_attribute("lang", "es")
    assert page.url == f"{still_house.server.url}/?order=newest"
    assert await listed(page) == ["permiso: Bash: rm -rf build && make agent · ahora"]
    await follow(page, "English")
    await expect(page.locator("html")).to_have_attribute("lang", "en")
