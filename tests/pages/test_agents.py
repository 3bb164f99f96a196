"""Agents at work on the page: they are seen, told something or stopped, and it is said when that has reached them."""

import re

import pytest
from playwright.async_api import Locator, Page, expect
from tests.hostile import HARMFUL
from tests.pages.house import DATABASE, PHONE, House, button, follow

from askdesk.core import work
from askdesk.core.model import Asker
from askdesk.core.work import Instruction, Work
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

AGENT = Asker("claude", "s-1", "/srv/site", parent="planner")
OTHER = Asker("builder", "s-2", "/srv/shop")
PLACE = f"/agents/{work.address(AGENT)}"


async def told(house: House, asker: Asker = AGENT) -> list[tuple[str, bool, str, str]]:
    found = [one.instruction for one in await work.told(house.desk.shelf, work.address(asker))]
    return [(one.text, one.stop, one.by, one.surface) for one in found]


async def heard(at_work: Work) -> Instruction:
    instruction = await at_work.take()
    assert instruction is not None
    await at_work.delivered(instruction)
    return instruction


async def lend_cookies(of: Page, to: Page) -> None:
    cookies = [{**cookie} for cookie in await of.context.cookies()]
    await to.context.add_cookies(cookies)  # type: ignore[arg-type]


def box(page: Page) -> Locator:
    return page.get_by_label("What you want to tell the agent")


async def filled(page: Page, text: str) -> None:
    await box(page).fill(text)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripted", "scriptless"])
async def test_an_agent_without_an_ask_is_told_something_from_the_list(house: House, scripts: bool) -> None:
    async with house.desk.at_work(AGENT) as at_work, house.desk.at_work(OTHER):
        page = await house.person(java_script_enabled=scripts)
        agents = page.get_by_role("list", name="Agents at work").get_by_role("link")
        await expect(agents).to_have_count(2)
        await expect(agents.first).to_contain_text(re.compile(r"claude\s+site · (has just begun|at work for)"))
        await agents.first.click()
        await expect(page.get_by_role("heading", name="Tell claude something")).to_be_visible()

        await filled(page, "use tabs,\nplease")
        await button(page, "Tell").click()

        state = page.locator(".told-lately .about")
        await expect(state).to_contain_text("waits: the agent has not taken it yet")
        await expect(box(page)).to_have_value("")
        assert await told(house) == [("use tabs,\nplease", False, "ana", "page")]
        assert page.url == f"{house.server.url}{PLACE}"

        await heard(at_work)
        if not scripts:
            await page.reload()
        await expect(state).to_contain_text(re.compile(r"ana on page, \d\d:\d\d · reached the agent at \d\d:\d\d"))
        if scripts:
            await expect(page.get_by_role("status")).to_contain_text("reached the agent at")


@pytest.mark.parametrize("scripts", [True, False], ids=["scripted", "scriptless"])
async def test_stopping_takes_two_steps_and_takes_the_words_along(house: House, scripts: bool) -> None:
    async with house.desk.at_work(AGENT) as at_work:
        page = await house.person("ana", PLACE, java_script_enabled=scripts)
        await filled(page, "wrong branch")
        await expect(button(page, "Stop it now")).to_be_hidden()
        await page.get_by_text("Stop the agent").click()
        await button(page, "Stop it now").click()
        await expect(page.locator(".told-lately")).to_contain_text("wrong branch")
        instruction = await heard(at_work)
        assert (instruction.text, instruction.stop) == ("wrong branch", True)


async def test_stopping_needs_no_words_and_telling_does(house: House) -> None:
    async with house.desk.at_work(AGENT):
        page = await house.person("ana", PLACE)
        await button(page, "Tell").click()
        await expect(page.get_by_role("alert")).to_contain_text("must not be blank: there is nothing to tell")
        await page.get_by_text("Stop the agent").click()
        await button(page, "Stop it now").click()
        await expect(page.locator(".told-lately")).to_contain_text("Stop the agent")
        assert await told(house) == [("", True, "ana", "page")]


async def test_sent_twice_it_is_told_once(house: House) -> None:
    async with house.desk.at_work(AGENT):
        page = await house.person("ana", PLACE)
        await filled(page, "use tabs")
        fields = await page.locator("form.tell").evaluate("form => Object.fromEntries(new FormData(form))")
        for _ in range(2):
            answer = await page.request.post(
                PLACE, form={**fields, "action": "tell"}, headers={"Origin": house.server.url}
            )
            assert answer.status == 200  # of the page that it leads to
        assert await told(house) == [("use tabs", False, "ana", "page")]


@pytest.mark.parametrize("beside", [False, True], ids=["on its page", "beside an ask"])
async def test_another_button_or_other_words_on_a_page_that_is_shown_again_are_told_too(
    house: House, beside: bool
) -> None:
    """After a response that was lost, or Back, the page still has the submission of what was sent before."""
    ask = await house.desk.post(DATABASE, asker=AGENT)
    async with house.desk.at_work(AGENT):
        page = await house.person("ana", f"/asks/{ask.id}" if beside else PLACE)
        fields = await page.locator("form.tell").evaluate("form => Object.fromEntries(new FormData(form))")
        for said in [("use tabs", "tell"), ("use tabs", "stop"), ("use blanks", "tell"), ("use tabs", "tell")]:
            answer = await page.request.post(
                PLACE,
                form={**fields, **dict(zip(("text", "action"), said, strict=True))},
                headers={"Origin": house.server.url},
            )
            assert answer.status == 200
        assert await told(house) == [
            *(("use tabs", False, "ana", "page"), ("use tabs", True, "ana", "page")),
            ("use blanks", False, "ana", "page"),
        ]


async def test_a_double_click_tells_once(house: House) -> None:
    async with house.desk.at_work(AGENT):
        page = await house.person("ana", PLACE)
        await filled(page, "use tabs")
        await button(page, "Tell").dblclick()
        await expect(page.locator(".told-lately li")).to_have_count(1)
        await expect(box(page)).to_be_focused()
        assert await told(house) == [("use tabs", False, "ana", "page")]


@pytest.mark.parametrize("scripts", [True, False], ids=["scripted", "scriptless"])
async def test_the_asker_of_an_ask_is_told_something_beside_it(house: House, scripts: bool) -> None:
    ask = await house.desk.post(DATABASE, asker=AGENT)
    async with house.desk.at_work(AGENT) as at_work:
        page = await house.person("ana", f"/asks/{ask.id}", java_script_enabled=scripts)
        await page.get_by_role("radio", name="Postgres").check()
        await expect(button(page, "Tell")).to_be_hidden()
        await page.get_by_text("Tell claude something").click()
        await filled(page, "look at the schema first")
        await button(page, "Tell").click()

        await expect(page.locator(".told-lately")).to_contain_text("look at the schema first")
        assert page.url.partition("#")[0] == f"{house.server.url}/asks/{ask.id}"
        assert (await heard(at_work)).text == "look at the schema first"
        if scripts:  # nothing else on the page has moved
            await expect(page.get_by_role("radio", name="Postgres")).to_be_checked()
    assert (await house.desk.get(ask.id)).settlement is None


async def test_beside_an_ask_whose_asker_is_not_at_work_there_is_no_box(house: House) -> None:
    ask = await house.desk.post(DATABASE, asker=AGENT)
    async with house.desk.at_work(OTHER):
        page = await house.person("ana", f"/asks/{ask.id}")
        await expect(page.locator("#ask")).to_be_visible()
        await expect(page.locator("#telling")).to_have_count(0)


async def test_agents_come_and_go_on_a_page_that_is_open(house: House) -> None:
    page = await house.stranger()
    await page.clock.install()
    signed_in = await house.person()
    await lend_cookies(signed_in, page)
    await page.goto("/")
    agents = page.locator(".agents li")
    await expect(agents).to_have_count(0)
    async with house.desk.at_work(AGENT):
        await page.clock.run_for(16_000)
        await expect(agents).to_have_count(1)
    await page.clock.run_for(16_000)
    await expect(agents).to_have_count(0)


async def test_what_was_typed_is_there_again_after_a_reload(house: House) -> None:
    ask = await house.desk.post(DATABASE, asker=AGENT)
    async with house.desk.at_work(AGENT):
        page = await house.person("ana", PLACE)
        await filled(page, "use ta")
        await page.reload()
        await expect(box(page)).to_have_value("use ta")
        await page.goto(f"/asks/{ask.id}")
        await expect(box(page)).to_have_value("use ta")
        await button(page, "Tell").click()
        await expect(page.locator(".told-lately")).to_contain_text("use ta")
        await page.reload()
        await expect(box(page)).to_have_value("")


@pytest.mark.parametrize("limits", [{}, {"projects": ["/srv/site"]}], ids=["of everything", "of a project"])
async def test_what_is_told_when_the_agent_has_just_gone_waits_for_its_session(
    house: House, limits: dict[str, list[str]]
) -> None:
    page = await house.stranger()
    await page.goto(await house.link("ana", **limits))
    async with house.desk.at_work(AGENT):
        await page.goto(PLACE)
        await filled(page, "use tabs")
    await button(page, "Tell").click()
    await expect(page.locator("#heard")).to_contain_text("This agent is not at work now.")
    await expect(page.locator("#heard")).to_contain_text("use tabs")
    async with house.desk.at_work(AGENT) as at_work:
        assert (await heard(at_work)).text == "use tabs"
        await expect(page.locator(".told-lately .state")).to_contain_text("reached the agent")


async def test_agents_of_other_projects_are_neither_seen_nor_told_anything(house: House) -> None:
    page = await house.stranger()
    async with house.desk.at_work(AGENT), house.desk.at_work(OTHER):
        await page.goto(await house.link("ben", projects=["/srv/shop"]))
        await expect(page.locator(".agents .subject")).to_have_text(["builder"])
        answer = await page.goto(PLACE)
        assert answer is not None
        assert answer.status == 404
        await page.goto(f"/agents/{work.address(OTHER)}")
        await page.locator("form.tell").evaluate("(form, path) => { form.action = path }", PLACE)
        await filled(page, "use tabs")
        await button(page, "Tell").click()
        await expect(page.locator("h1")).to_have_text("There is nothing here")
        assert await told(house) == []


async def test_a_form_of_another_sign_in_tells_nothing_and_keeps_the_words(house: House) -> None:
    async with house.desk.at_work(AGENT):
        page = await house.person("ana", PLACE, java_script_enabled=False)
        fresh = await house.person("ana")
        await filled(page, "use tabs")
        await lend_cookies(fresh, page)
        await follow(page, "Tell")
        await expect(page.get_by_role("alert")).to_be_visible()
        await expect(box(page)).to_have_value("use tabs")
        assert await told(house) == []
        await follow(page, "Tell")
        assert await told(house) == [("use tabs", False, "ana", "page")]


async def test_an_agent_without_a_sign_of_life_is_gone_from_the_page(still_house: House, clock: FakeClock) -> None:
    await Work(still_house.desk.shelf, AGENT, clock).begin()
    page = await still_house.person()
    await expect(page.locator(".agents li")).to_have_count(1)
    clock.advance(200)
    await page.reload()
    await expect(page.locator(".agents li")).to_have_count(0)


async def test_names_of_agents_are_text_and_nothing_else(house: House) -> None:
    hostile = Asker(f"<b>x</b>{HARMFUL[0]}", "s", "<script>window.owned = 1</script>/\x1b[31m\u202e", parent="<i>y")
    async with house.desk.at_work(hostile):
        page = await house.person("ana", f"/agents/{work.address(hostile)}", **PHONE)
        await expect(page.locator("h1")).to_contain_text("<b>x</b>")
        text = await page.locator("html").text_content() or ""
        assert await page.evaluate("window.owned") is None
        assert await page.locator("b, i").count() == 0
        assert not {"\x1b", "\u202e"} & set(text)


async def test_a_list_by_agent_has_the_agents_of_that_name(house: House) -> None:
    async with house.desk.at_work(AGENT), house.desk.at_work(OTHER):
        page = await house.person("ana", "/?agent=claude")
        await expect(page.locator(".agents .subject")).to_have_text(["claude"])


async def test_j_and_k_go_on_to_the_agents(house: House) -> None:
    await house.desk.post(DATABASE, asker=OTHER)
    async with house.desk.at_work(AGENT):
        page = await house.person()
        await page.keyboard.press("j")
        await page.keyboard.press("j")
        await expect(page.locator(".agents li a")).to_be_focused()
        await page.keyboard.press("Enter")
        await expect(page.locator("h1")).to_have_text("Tell claude something")


async def test_the_page_of_an_agent_speaks_spanish(house: House) -> None:
    async with house.desk.at_work(AGENT):
        page = await house.person("ana", PLACE, locale="es")
        await expect(page.locator("h1")).to_have_text("Decirle algo a claude")
        await expect(button(page, "Decir")).to_be_visible()
