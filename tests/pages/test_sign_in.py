"""A one-time link becomes a session of one browser, and nothing of the link is left."""

from datetime import timedelta

import pytest
from playwright.async_api import Page, expect
from tests.browser import Answer, Site
from tests.pages.house import DATABASE, House, follow, press
from tests.server.running import Running

from askdesk.core.desk import Desk
from askdesk.core.limits import OPEN
from askdesk.core.model import Asker
from askdesk.server import tokens
from askdesk.server.run import Address, beside
from askdesk.server.service import Service
from askdesk.stores.memory import MemoryStore
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

HOW = "This page opens with a one-time link. Whoever runs the desk makes one with:"


async def words(page: Page) -> list[str]:
    """The paragraphs of a page that only says something, and its command."""
    return await page.locator("main :is(h1, p, pre)").all_text_contents()


async def test_a_one_time_link_signs_a_browser_in_and_nothing_of_its_code_is_left(house: House) -> None:
    page = await house.stranger()

    await page.goto(await house.link("ana"))

    assert page.url == f"{house.server.url}/"
    assert await page.evaluate("[document.referrer, document.cookie]") == ["", ""]
    await expect(page.locator(".who")).to_have_text("ana")
    (cookie,) = await page.context.cookies()
    assert {name: cookie[name] for name in ("name", "path", "httpOnly", "secure", "sameSite")} == {
        "name": f"askdesk-{house.server.port}",
        "path": "/",
        "httpOnly": True,
        "secure": False,
        "sameSite": "Strict",
    }


async def test_over_tls_the_cookie_is_bound_to_the_host_and_secure() -> None:
    desk = Desk(MemoryStore())
    address = Address(port=0, public_url="https://desk.example")
    listening = address.listen()
    service = Service(desk, "https://desk.example", limits=OPEN)
    async with beside(service, address, listening) as serving:
        server = Running(service, serving, listening.getsockname()[1])
        code = await tokens.new_link(desk.shelf, "ana", now=desk.now())
        headers = {"Host": "desk.example", "Sec-Fetch-Site": "none"}
        answer = await server.request("GET", f"/sign-in?code={code}", headers=headers)

    name_and_text, *rest = answer.headers["set-cookie"].split("; ")
    assert (answer.status, answer.headers["location"]) == (303, "/")
    assert name_and_text.startswith("__Host-askdesk=askdesk_page_")
    assert rest == ["HttpOnly", "Max-Age=43200", "Path=/", "SameSite=strict", "Secure"]


async def test_a_link_that_was_used_signs_nobody_in(house: House) -> None:
    link = await house.link()
    first, second = await house.stranger(), await house.stranger()
    await first.goto(link)

    answer = await second.goto(link)

    assert answer is not None
    assert answer.status == 401
    assert await words(second) == ["Sign in", "This link was used already, or is too old.", HOW, "askdesk link"]
    assert await second.context.cookies() == []


async def test_a_link_that_is_too_old_signs_nobody_in(still_house: House, clock: FakeClock) -> None:
    link = await still_house.link()
    clock.advance(tokens.LINK_LIFE.total_seconds())
    page = await still_house.stranger()

    answer = await page.goto(link)

    assert answer is not None
    assert answer.status == 401
    assert await page.context.cookies() == []


async def test_a_link_leads_nowhere_but_to_the_desk(house: House) -> None:
    page = await house.stranger()

    await page.goto(f"{await house.link()}&next=https://evil.example/")

    assert page.url == f"{house.server.url}/"


async def test_whoever_signs_in_again_leaves_no_session_behind(house: House) -> None:
    page = await house.person("ana")
    (before,) = await page.context.cookies()
    await page.goto(await house.link("bo"))
    await expect(page.locator(".who")).to_have_text("bo")

    other = await house.stranger()
    await other.context.add_cookies([{"name": before["name"], "value": before["value"], "url": house.server.url}])
    await other.goto("/")

    await expect(other.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_a_stranger_is_told_how_to_sign_in_in_their_language(house: House) -> None:
    page = await house.stranger(locale="es-MX")

    answer = await page.goto("/settled")

    assert answer is not None
    assert answer.status == 401
    assert await page.locator("html").get_attribute("lang") == "es"
    assert await words(page) == [
        "Entrar",
        "Esta página se abre con un enlace de un solo uso. Quien lleva el escritorio lo crea con:",
        "askdesk link",
    ]


async def test_signing_out_ends_the_session_for_whoever_kept_its_cookie(house: House) -> None:
    page = await house.person()
    cookies = await page.context.cookies()

    await follow(page, "Sign out")

    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert await page.context.cookies() == []
    thief = await house.stranger()
    await thief.context.add_cookies(
        [{"name": c["name"], "value": c["value"], "url": house.server.url} for c in cookies]
    )
    await thief.goto("/")
    await expect(thief.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_a_session_that_is_revoked_ends_on_the_open_page(house: House) -> None:
    page = await house.person()
    (token,) = await tokens.tokens(house.desk.shelf)

    await tokens.revoke(house.desk.shelf, token.id, house.desk.now())
    await house.desk.post(DATABASE)  # whatever happens next

    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await expect(page.locator("pre")).to_have_text("askdesk link")


async def test_a_session_lives_on_while_it_is_used_and_ends_when_it_is_not(
    still_house: House, clock: FakeClock
) -> None:
    page = await still_house.person()

    async def seen() -> str | None:
        await page.goto("/settled")
        heading = await page.locator("h1").text_content()
        await page.goto("about:blank")  # so that nothing is looked at in between
        return heading

    hours = tokens.PAGE_LIFE.total_seconds()
    clock.advance(hours - 60)
    assert await seen() == "Settled"
    (token,) = await tokens.tokens(still_house.desk.shelf)
    assert token.expires == clock.now() + tokens.PAGE_LIFE
    clock.advance(hours - 60)
    assert await seen() == "Settled"
    clock.advance(hours)
    assert await seen() == "Sign in"


async def test_another_site_can_lead_a_person_to_an_ask(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person()
    link = f'<a href="{house.server.url}/asks/{ask.id}?order=newest">look</a>'
    with Site(lambda path: Answer(link.encode())) as site:
        await page.goto(site.url.replace("127.0.0.1", "localhost"))

        await page.get_by_text("look").click()

        await expect(page.get_by_role("heading", name="agent asks")).to_be_visible()
        assert page.url == f"{house.server.url}/asks/{ask.id}?order=newest"


async def test_another_site_leads_a_stranger_to_the_sign_in(house: House) -> None:
    page = await house.stranger()
    link = f'<a href="{house.server.url}/">look</a>'
    with Site(lambda path: Answer(link.encode())) as site:
        await page.goto(site.url.replace("127.0.0.1", "localhost"))

        await page.get_by_text("look").click()

        await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


async def test_a_link_in_another_site_signs_in_once_the_person_says_so(house: House) -> None:
    page = await house.stranger()
    link = f'<a href="{await house.link()}">look</a>'
    with Site(lambda path: Answer(link.encode())) as site:
        await page.goto(site.url.replace("127.0.0.1", "localhost"))

        await page.get_by_text("look").click()
        await expect(page.get_by_text("This link signs this browser in, once.")).to_be_visible()
        assert await page.context.cookies() == []
        await follow(page, "Sign in")

        await expect(page.locator(".who")).to_have_text("ana")
        assert page.url == f"{house.server.url}/"


async def test_a_page_from_before_a_new_sign_in_sends_nothing_and_keeps_what_was_typed(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")
    other = await page.context.new_page()
    await other.goto(await house.link("ana"))
    await other.close()

    await page.get_by_label("Your own words").fill("neither")
    await press(page, "Send")

    await expect(page.get_by_role("alert")).to_have_text(
        "You signed in again since this page was opened. Look once more, then press the button again."
    )
    await expect(page.get_by_label("Your own words")).to_have_value("neither")
    assert (await house.desk.get(ask.id)).settlement is None
    await press(page, "Send")
    await expect(page.locator(".ended")).to_contain_text("answered by ana on page")


async def test_a_session_with_a_limit_sees_only_what_it_may(house: House) -> None:
    ask = await house.desk.post(DATABASE, asker=Asker("builder", project="secret"))
    mine = await house.desk.post(DATABASE, asker=Asker("tester", project="web"), deadline=timedelta(hours=1))
    page = await house.stranger()
    await page.goto(await house.link("ana", projects=["web"]))

    assert await page.locator(".asks li").evaluate_all("rows => rows.map(row => row.dataset.id)") == [mine.id]
    answer = await page.goto(f"/asks/{ask.id}")
    assert answer is not None
    assert (answer.status, await words(page)) == (
        404,
        ["There is nothing here", "The ask is not known, or not for you."],
    )
