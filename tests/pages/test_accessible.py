"""Every view of the page, for everybody: axe finds nothing, nothing scrolls sideways, Tab shows where it is."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from typing import Any

import pytest
from axe_playwright_python.async_playwright import Axe  # type: ignore[import-untyped]
from playwright.async_api import Page, expect
from tests.pages.house import COUNT, DATABASE, NAME, PARTS, SIMPLE, House

from askdesk.core import work
from askdesk.core.clock import SystemClock
from askdesk.core.model import Allowed, Answer, Answered, Asker, Declined, Denied, Option, Permission, Question
from askdesk.core.work import Work
from askdesk.surfaces import draft
from askdesk.surfaces.draft import Draft

pytestmark = pytest.mark.anyio

AXE = Axe()
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
WIDE, NARROW, NARROWEST = 1280, 390, 320

MARKDOWN = (
    "# Title\n\nSome *words*, `code` and [a link](https://example.org/).\n\n- one\n- two\n\n"
    "| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\ndef f(x: int) -> str:  # a comment\n    return 'text' * 3\n```\n\n"
    "> quoted\n\n```diff\n- old\n+ new\n```"
)
LAYOUT = Question(
    "Which layout?",
    [
        Option("Sidebar (Recommended)", "Two columns.", MARKDOWN),
        Option("Stacked", "One column.", "```\n" + "x" * 300 + "\n```"),
        Option("Neither"),
    ],
    header="Layout",
)
FRAMES = Question("Which card?", [Option("Plain", preview="<p>One</p>"), Option("Bold", preview="<b>Two</b>")])
MAKE = {
    "type": "addRules",
    "behavior": "allow",
    "rules": [{"toolName": "Bash", "ruleContent": "make:*"}],
    "destination": "localSettings",
}
RULED = Permission(
    "Bash", {"command": "make\t\u202e", "timeout": 5}, folder="/srv/app", description="Cleans up", suggestions=[MAKE]
)
LONG = Permission("Bash", {"command": "\n".join(f"echo {n} {'x' * 200}" for n in range(100))})
EDIT = Permission("Edit", {"file_path": "/srv/app/a.py", "old_string": "a = 1\nb = 2\n", "new_string": "a = 1\n"})

AGENT = Asker("claude", "s-1", "/srv/site", parent="planner")

View = Callable[[House, Page], Awaitable[None]]


def button(page: Page, name: str) -> Any:
    return page.locator(f"button[value={name}]:visible")


async def _send(page: Page) -> None:
    """As the button does; on a narrow screen it is not there before the last question."""
    send = page.locator("button[value=send]")
    await expect(send).to_be_enabled()
    await send.evaluate("button => button.form.requestSubmit(button)")


async def _empty(house: House, page: Page) -> None:
    await page.goto("/")


async def _full(house: House, page: Page) -> None:
    await house.desk.post(DATABASE, asker=Asker("builder", project="/srv/shop"), deadline=timedelta(hours=2))
    await house.desk.post(SIMPLE, asker=Asker("cleaner", project="/srv/web"))
    await page.goto("/")


async def _questions(house: House, page: Page) -> None:
    first = await house.desk.post(DATABASE, asker=Asker("builder"))
    body = [DATABASE, PARTS, NAME, COUNT, LAYOUT]
    asker = Asker("builder", project="/srv/shop", parent="planner")
    ask = await house.desk.post(
        body, asker=asker, deadline=timedelta(hours=2), preview_format="markdown", follows=first.id
    )
    await page.goto(f"/asks/{ask.id}")


async def _frames(house: House, page: Page) -> None:
    ask = await house.desk.post(FRAMES, preview_format="html")
    await page.goto(f"/asks/{ask.id}")


async def _review(house: House, page: Page) -> None:
    ask = await house.desk.post([DATABASE, PARTS])
    await page.goto(f"/asks/{ask.id}")
    await page.locator("#q0-1").check()
    await _send(page)
    await expect(button(page, "send_reviewed")).to_be_visible()


async def _problem(house: House, page: Page) -> None:
    ask = await house.desk.post([COUNT, DATABASE])
    await page.goto(f"/asks/{ask.id}")
    await page.locator("[id='q0.own']").fill("nine")
    await _send(page)
    await expect(page.get_by_role("alert")).to_be_visible()


async def _permission(house: House, page: Page) -> None:
    ask = await house.desk.post(RULED)
    await page.goto(f"/asks/{ask.id}")
    for ways in await page.locator("details.ways summary").all():
        await ways.click()
    await button(page, "allow").scroll_into_view_if_needed()
    await expect(button(page, "allow")).to_be_enabled()


async def _edit(house: House, page: Page) -> None:
    ask = await house.desk.post(EDIT)
    await page.goto(f"/asks/{ask.id}")
    await expect(button(page, "allow")).to_be_enabled()


async def _long(house: House, page: Page) -> None:
    ask = await house.desk.post(LONG)
    await page.goto(f"/asks/{ask.id}")
    await expect(button(page, "deny")).to_be_enabled()


async def _opened(house: House, page: Page) -> None:
    ask = await house.desk.post(LONG)
    await page.goto(f"/asks/{ask.id}?all=1")
    await button(page, "allow").scroll_into_view_if_needed()
    await expect(button(page, "allow")).to_be_enabled()


async def _changed(house: House, page: Page) -> None:
    ask = await house.desk.post(RULED)
    await page.goto(f"/asks/{ask.id}")
    await page.locator("details:has(#input) summary").click()
    await page.locator("#input").fill('{"command": "ls"}')
    await button(page, "check").click()
    await expect(button(page, "run")).to_be_enabled()


async def _answered(house: House, page: Page) -> None:
    await house.desk.post(DATABASE)
    ask = await house.desk.post([LAYOUT, PARTS, NAME], preview_format="markdown")
    await draft.keep(house.desk.shelf, ask, "bo", Draft(v=1, message="Not\nnow"))
    answers = [Answer(["Stacked"], note="a note"), Answer(["Stores"], "own words", multi_select=True), None]
    await house.desk.settle(ask.id, Answered(answers), by="bo", surface="terminal")
    await page.goto(f"/asks/{ask.id}")


async def _denied(house: House, page: Page) -> None:
    ask = await house.desk.post(RULED)
    await house.desk.settle(ask.id, Denied("no", stop=True, redirect="rest"), by="bo", surface="terminal")
    await page.goto(f"/asks/{ask.id}")


async def _allowed(house: House, page: Page) -> None:
    ask = await house.desk.post(RULED)
    allowed = Allowed('{"command": "ls"}', RULED.suggestions)
    await house.desk.settle(ask.id, allowed, by="bo", surface="terminal", digest=RULED.digest)
    await page.goto(f"/asks/{ask.id}")


async def _history(house: House, page: Page) -> None:
    for body, reply in ((DATABASE, Answered([Answer(other="none")])), (PARTS, Declined("no")), (SIMPLE, Denied("no"))):
        ask = await house.desk.post(body, asker=Asker("builder", project="/srv/shop"))
        await house.desk.settle(ask.id, reply, by="bo", surface="terminal")
    await page.goto("/settled")


async def _compared(house: House, page: Page) -> None:
    ask = await house.desk.post(LAYOUT, preview_format="markdown")
    await page.goto(f"/asks/{ask.id}/compare/0")


async def _help(house: House, page: Page) -> None:
    await page.goto("/help")


async def _nowhere(house: House, page: Page) -> None:
    await page.goto("/asks/nowhere")


async def _signed_out(house: House, page: Page) -> None:
    await page.context.clear_cookies()
    await page.goto("/")


async def _agent(house: House, page: Page) -> None:
    await _at_work(house)
    await page.goto(f"/agents/{work.address(AGENT)}")
    await page.locator("details.stop summary").click()


async def _beside(house: House, page: Page) -> None:
    await _at_work(house)
    ask = await house.desk.post(DATABASE, asker=AGENT)
    await page.goto(f"/asks/{ask.id}")
    await expect(button(page, "tell")).to_be_visible()


async def _at_work(house: House) -> None:
    """An agent that has heard something, and not all of it."""
    at_work = Work(house.desk.shelf, AGENT, SystemClock())
    await at_work.begin()
    await at_work.delivered(await house.desk.tell(AGENT, "use\ntabs", by="ana", surface="page"))
    await house.desk.tell(AGENT, "x" * 300, stop=True, by="bo", surface="inbox")


VIEWS: Mapping[str, View] = {
    "agent": _agent,
    "beside": _beside,
    "empty": _empty,
    "full": _full,
    "questions": _questions,
    "frames": _frames,
    "review": _review,
    "problem": _problem,
    "permission": _permission,
    "edit": _edit,
    "long": _long,
    "opened": _opened,
    "changed": _changed,
    "answered": _answered,
    "denied": _denied,
    "allowed": _allowed,
    "history": _history,
    "compared": _compared,
    "help": _help,
    "nowhere": _nowhere,
    "signed out": _signed_out,
}


@pytest.fixture(params=VIEWS)
def view(request: pytest.FixtureRequest) -> View:
    return VIEWS[request.param]


async def flaws(page: Page) -> list[str]:
    """What axe finds: which rule, where, and why."""
    if not await page.evaluate("'axe' in window"):
        await page.evaluate(AXE.axe_script)  # past the policy of the page, as a debugger may
    found = await page.evaluate("tags => axe.run({ runOnly: tags, resultTypes: ['violations'] })", TAGS)
    return [
        f"{violation['id']} {node['target']}: {node['failureSummary']}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]


async def look(page: Page, width: int, colours: Any) -> None:
    await page.set_viewport_size({"width": width, "height": 900})
    await page.emulate_media(color_scheme=colours)


async def test_axe_finds_nothing_in_spanish(house: House) -> None:
    page = await house.person(locale="es", reduced_motion="reduce")

    for name in ("questions", "permission", "answered", "history", "agent"):
        await VIEWS[name](house, page)
        await expect(page.locator("html")).to_have_attribute("lang", "es")
        assert await flaws(page) == [], name


SIDEWAYS = """
() => [...document.querySelectorAll("body *")].filter(
  element => element.getBoundingClientRect().right > document.documentElement.clientWidth + 1
    && !element.closest(".rendered, pre, .unseen, .skip")
).map(element => element.outerHTML.slice(0, 120))
"""


SMALL = """
() => [...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter(element => {
  const { width, height } = element.getBoundingClientRect();
  const isShown = element.checkVisibility({ visibilityProperty: true }) && !element.matches(".skip:not(:focus)");
  const isInText = element.matches(".about a, .rendered a, p:not(.back):not(.actions):not(.compare) > a:not(.button)");
  const isLarge = (width >= 24 && height >= 24) || element.labels?.[0]?.getBoundingClientRect().height >= 24;
  return isShown && !isInText && !isLarge;
}).map(element => element.outerHTML.slice(0, 120))
"""


async def test_axe_finds_nothing_all_can_be_hit_and_nothing_scrolls_sideways(house: House, view: View) -> None:
    page = await house.person(reduced_motion="reduce")
    await view(house, page)

    for width, colours in ((WIDE, "light"), (NARROW, "dark")):
        await look(page, width, colours)
        assert (await flaws(page), await page.evaluate(SMALL)) == ([], []), (width, colours)
    await look(page, NARROWEST, "light")
    assert (await page.evaluate("document.documentElement.scrollWidth"), await page.evaluate(SIDEWAYS)) == (320, [])


@pytest.mark.parametrize("name", ["questions", "permission"])
async def test_axe_finds_nothing_with_the_colours_the_other_way_round(house: House, name: str) -> None:
    page = await house.person(reduced_motion="reduce")
    await VIEWS[name](house, page)

    for width, colours in ((WIDE, "dark"), (NARROW, "light")):
        await look(page, width, colours)
        assert await flaws(page) == [], (width, colours)


FOCUSED = """
() => {
  const element = document.activeElement, style = getComputedStyle(element), box = element.getBoundingClientRect();
  if (element === document.body || element === document.documentElement) return null;
  const isRinged = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  const isThere = box.bottom > 0 && box.top < innerHeight && box.width > 0;
  const all = window.numbered ??= new Map();
  if (!all.has(element)) all.set(element, all.size);
  return [all.get(element), element.outerHTML.slice(0, 100), isRinged, isThere];
}
"""


CONTROLS = """
() => new Set([...document.querySelectorAll("a[href], button, input, select, textarea, summary")].filter(
  element => !element.disabled && element.type !== "hidden" && element.checkVisibility({ visibilityProperty: true })
).map(element => element.type === "radio" ? element.name : element)).size
"""


async def walked(page: Page) -> list[tuple[str, bool, bool]]:
    """Everything that Tab stops at, from the top of the page; whether it has a ring and is in sight."""
    await page.evaluate("document.body.tabIndex = -1; document.body.focus(); scrollTo(0, 0)")
    stops: dict[int, tuple[str, bool, bool]] = {}
    for _ in range(200):
        await page.keyboard.press("Tab")
        stop = await page.evaluate(FOCUSED)
        if stop is None or stop[0] in stops:
            break
        stops[stop[0]] = (stop[1], stop[2], stop[3])
    return list(stops.values())


@pytest.mark.parametrize("name", ["questions", "permission", "history", "agent"])
async def test_tab_stops_at_everything_in_sight_and_with_a_ring(house: House, name: str) -> None:
    page = await house.person()
    await VIEWS[name](house, page)

    stops = await walked(page)

    assert "Skip to the ask" in stops[0][0] or 'class="skip"' in stops[0][0]
    assert [stop for stop in stops if not (stop[1] and stop[2])] == []
    assert len(stops) >= await page.evaluate(CONTROLS)


async def test_tab_comes_to_the_options_first_and_then_to_send(house: House) -> None:
    ask = await house.desk.post([DATABASE, PARTS])
    page = await house.person("ana", f"/asks/{ask.id}")
    await expect(button(page, "send")).to_be_enabled()

    stops = [stop for stop, _, _ in await walked(page)]

    wanted = ('id="q0-0"', 'name="q0.own"', 'id="q1-0"', 'id="q1-1"', 'name="q1.own"', 'value="send"', 'value="review"')
    places = [next(n for n, stop in enumerate(stops) if part in stop) for part in wanted]
    assert places == sorted(places)


async def test_tab_comes_to_the_call_before_the_decision(house: House) -> None:
    page = await house.person()
    await _long(house, page)
    await button(page, "deny").scroll_into_view_if_needed()

    stops = [stop for stop, _, _ in await walked(page)]

    wanted = ("?all=1", 'value="deny"')
    places = [next(n for n, stop in enumerate(stops) if part in stop) for part in wanted]
    assert places == sorted(places)
    assert not any('value="allow"' in stop for stop in stops)


async def test_what_happens_is_told_politely(house: House) -> None:
    page = await house.person()
    told = page.locator("#told")
    await expect(told).to_have_role("status")
    assert await told.get_attribute("aria-live") in (None, "polite")  # a status is polite of itself
    await expect(told).to_have_text("")

    await house.desk.post(DATABASE, asker=Asker("builder"))

    await expect(told).to_have_text("New ask from builder: Which database should it use?")
    assert await flaws(page) == []


async def test_the_skip_link_leads_to_the_ask(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")

    await page.keyboard.press("Tab")
    await expect(page.get_by_role("link", name="Skip to the ask")).to_be_focused()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")

    await expect(page.locator("#q0 input").first).to_be_focused()


async def test_the_language_of_each_word_is_known(house: House) -> None:
    page = await house.person()
    await expect(page.locator("html")).to_have_attribute("lang", "en")
    await expect(page.locator("button[name=language]")).to_have_attribute("lang", "es")
    spanish = await house.stranger(locale="es")
    await spanish.goto("/")
    await expect(spanish.locator("html")).to_have_attribute("lang", "es")
    await expect(spanish.locator("button[name=language]")).to_have_attribute("lang", "en")
