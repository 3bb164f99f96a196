"""Previews on the page: side by side, two compared, framed as what a model made, and shut in."""

import pytest
from playwright.async_api import Page, expect
from tests.browser import watch
from tests.pages.house import PHONE, House, follow, press

from askdesk.core.model import Answer, Answered, Ask, Option, Question
from askdesk.surfaces.web.frame import FRAME_POLICY

pytestmark = pytest.mark.anyio

MARKDOWN = Question(
    "Which layout?",
    [Option("Sidebar", "", "# One\n\nwith **bold**"), Option("Top", "", "# Two"), Option("Bottom", "", "# Three")],
)
HTML = Question(
    "Which cards?",
    [
        Option("Blue", "", "<p style='color: blue'>one</p><form action='/x'><button>Allow once</button></form>"),
        Option("Red", "", "<p onclick='top.owned = 1'>two</p><img src=x onerror='top.owned = 1'>"),
        Option("Plain"),
    ],
    multi_select=True,
)


async def boxes(page: Page, selector: str) -> list[tuple[float, float]]:
    """Where things begin: across, down."""
    found = await page.locator(selector).evaluate_all(
        "elements => elements.map(element => element.getBoundingClientRect()).map(box => [box.x, box.y])"
    )
    return [(x, y) for x, y in found]


async def outcome(house: House, ask: Ask) -> object:
    settlement = await house.desk.wait(ask.id, timeout=30)
    assert settlement is not None
    return settlement.outcome


async def test_previews_in_markdown_stand_side_by_side_and_are_marked_as_a_models(house: House) -> None:
    ask = await house.desk.post(MARKDOWN, preview_format="markdown")
    page = await house.person("ana", f"/asks/{ask.id}")

    await expect(page.locator(".preview figcaption")).to_have_text(
        [f"Model-generated preview: {name}" for name in ("Sidebar", "Top", "Bottom")]
    )
    await expect(page.locator(".rendered strong, .rendered .s-strong")).to_have_text("bold")
    (first_x, first_y), (second_x, second_y), _ = await boxes(page, ".preview")
    assert (first_y, first_x < second_x) == (second_y, True)
    await page.get_by_role("radio", name="Top").check()
    await press(page, "Send")
    assert await outcome(house, ask) == Answered([Answer(["Top"])])


async def test_on_a_phone_previews_stand_below_each_other(house: House) -> None:
    ask = await house.desk.post(MARKDOWN, preview_format="markdown")
    page = await house.person("ana", f"/asks/{ask.id}", **PHONE)

    places = await boxes(page, ".preview")

    assert len({x for x, _ in places}) == 1
    assert [y for _, y in places] == sorted({y for _, y in places})


async def test_html_is_shut_in_a_frame_with_a_policy_of_its_own(house: House) -> None:
    ask = await house.desk.post(HTML, preview_format="html")
    page = await house.person()
    seen = watch(page, house.server.url)
    framed = []
    page.on("response", lambda response: framed.append(response) if "/previews/" in response.url else None)

    await page.goto(f"/asks/{ask.id}")
    await expect(page.frame_locator("iframe").nth(1).get_by_text("two")).to_be_visible()
    await expect(page.frame_locator("iframe").nth(0).get_by_text("Allow once")).to_be_disabled()
    await page.frame_locator("iframe").nth(0).get_by_text("Allow once").click(force=True)
    await page.frame_locator("iframe").nth(1).get_by_text("two").click()

    assert [response.headers["content-security-policy"] for response in framed] == [FRAME_POLICY] * 2
    assert [response.headers["x-frame-options"] for response in framed] == ["SAMEORIGIN"] * 2
    frames = page.locator("iframe")
    assert await frames.evaluate_all("all => all.map(frame => frame.getAttribute('sandbox'))") == ["", ""]
    assert await frames.evaluate_all("all => all.map(frame => frame.contentDocument)") == [None, None]  # another origin
    assert await page.evaluate("window.owned") is None
    assert (seen.dialogs, seen.popups, seen.requests) == ([], [], [])
    assert page.url == f"{house.server.url}/asks/{ask.id}"
    assert (await house.desk.get(ask.id)).settlement is None


async def test_several_options_with_previews_are_chosen_at_once(house: House) -> None:
    ask = await house.desk.post(HTML, preview_format="html")
    page = await house.person("ana", f"/asks/{ask.id}")

    await page.get_by_role("checkbox", name="Red").check()
    await page.get_by_role("checkbox", name="Plain").check()
    await press(page, "Send")

    assert await outcome(house, ask) == Answered([Answer(["Red", "Plain"], multi_select=True)])


async def test_two_previews_are_compared_and_the_way_back_loses_nothing(house: House) -> None:
    ask = await house.desk.post(MARKDOWN, preview_format="markdown")
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_label("Your own words").fill("a mixture")

    await page.get_by_role("link", name="Compare two previews").click()
    shown = page.locator(".compared figcaption")
    await expect(shown).to_have_text(["Model-generated preview: Sidebar", "Model-generated preview: Top"])
    await page.get_by_label("On the right").select_option("Bottom")
    await follow(page, "Show")

    await expect(shown).to_have_text(["Model-generated preview: Sidebar", "Model-generated preview: Bottom"])
    (_, first), (_, second) = await boxes(page, ".compared .preview")
    assert first == second
    await page.get_by_role("link", name="Back to the ask").click()
    await expect(page.get_by_label("Your own words")).to_have_value("a mixture")


async def test_frames_are_compared_too(house: House) -> None:
    ask = await house.desk.post(HTML, preview_format="html")
    page = await house.person("ana", f"/asks/{ask.id}/compare/0")

    await expect(page.frame_locator("iframe").nth(0).get_by_text("one")).to_be_visible()
    await expect(page.frame_locator("iframe").nth(1).get_by_text("two")).to_be_visible()


async def test_a_preview_is_only_for_whoever_may_see_its_ask(house: House) -> None:
    html = await house.desk.post(HTML, preview_format="html")
    markdown = await house.desk.post(MARKDOWN, preview_format="markdown")
    page, stranger = await house.person(), await house.stranger()

    async def status(who: Page, path: str) -> int | None:
        answer = await who.goto(path)
        return answer.status if answer else None

    assert await status(stranger, f"/asks/{html.id}/previews/0/0") == 401
    assert await status(page, f"/asks/{html.id}/previews/0/0") == 200
    for missing in (f"{html.id}/previews/0/2", f"{html.id}/previews/1/0", f"{html.id}/previews/0/999"):
        assert await status(page, f"/asks/{missing}") == 404
    assert await status(page, f"/asks/{markdown.id}/previews/0/0") == 404
    assert await status(page, f"/asks/{html.id}/compare/1") == 404
