"""Hostile previews in a real Chromium: nothing of them runs, leaves, opens or asks, also when everything is clicked.

Whatever reaches out has a canary to reach. That it stayed silent is known when a fence, which the same browser visits
afterwards, has heard all that a page can send: then everything before it had its chance.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from math import inf
from typing import NamedTuple

import pytest
from anyio import move_on_after, to_thread
from markdown_it import MarkdownIt
from playwright.async_api import Browser, Page
from tests.browser import Answer, Canary, Site, Watch, watch
from tests.hostile_html import HTML, MARKDOWN, html_payloads, markdown_payloads, slug

from askdesk.surfaces.web.frame import FRAME_POLICY, frame_document
from askdesk.surfaces.web.markdown import markdown_html

pytestmark = pytest.mark.anyio

EVERY = 1 if os.environ.get("ASKDESK_TEST_PAYLOADS") == "all" else 2
TOGETHER = 40  # previews on one page; many more make a browser slow out of proportion
APP_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)

WIDE, HIGH, COLUMNS = 200, 100, 8
GRID = ((16, 20), (184, 20), (16, 80), (184, 80))  # where each of them is clicked
STYLE = f"""
body {{ margin: 0; width: {WIDE * COLUMNS}px }}
iframe, section {{ width: {WIDE}px; height: {HIGH}px; border: 0; float: left }}
section {{ contain: strict; overflow: auto }}
"""
FENCE = b"""<!doctype html><link rel=stylesheet href="/style"><link rel=prefetch href="/prefetch"><img src="/image">
<iframe src="/frame"></iframe><script>fetch("/fetch")</script>"""
SENT = ("GET /", "GET /style", "GET /prefetch", "GET /image", "GET /frame", "GET /fetch")


class Walls(NamedTuple):
    """What stands between a preview and the person's browser."""

    cleaning: bool
    policy: bool  # that of the page, that of the frame, and the frame's sandbox


ALL = Walls(cleaning=True, policy=True)
POLICY = Walls(cleaning=False, policy=True)
CLEANING = Walls(cleaning=True, policy=False)
NONE = Walls(cleaning=False, policy=False)


def document(preview: str, walls: Walls) -> bytes:
    if walls.cleaning:
        return frame_document(preview)
    return frame_document("words").replace(b"words", preview.encode()) if walls.policy else preview.encode()


def framed(previews: Mapping[str, str], walls: Walls) -> Site:
    """A page with a frame for each preview."""
    sandbox = 'sandbox="" referrerpolicy="no-referrer"' if walls.policy else ""
    body = "".join(f'<iframe {sandbox} src="/frame/{slug(name)}"></iframe>' for name in previews)
    documents = {f"/frame/{slug(name)}": document(preview, walls) for name, preview in previews.items()}
    return site(body, documents, walls)


def inlined(fragments: Iterable[str], walls: Walls) -> Site:
    """A page that has the previews in itself."""
    return site("".join(f"<section>{fragment}</section>" for fragment in fragments), {}, walls)


def site(body: str, documents: Mapping[str, bytes], walls: Walls) -> Site:
    page = f'<!doctype html><title>askdesk</title><link rel="stylesheet" href="/style.css">{body}'.encode()
    app, frame = ({"Content-Security-Policy": policy} if walls.policy else {} for policy in (APP_POLICY, FRAME_POLICY))

    def answer(path: str) -> Answer:
        if path == "/":
            return Answer(page, headers=app)
        if path == "/style.css":
            return Answer(STYLE.encode(), "text/css")
        return Answer(documents.get(path, b""), headers=frame)

    return Site(answer)


def grouped(previews: Mapping[str, str]) -> Iterator[dict[str, str]]:
    rest = iter(previews.items())
    while group := dict(islice(rest, TOGETHER)):
        yield group


async def click_all(page: Page, count: int, patience: float) -> None:
    """Each preview is clicked all over, and then its focus moved with Tab, and what has it pressed with Enter."""
    for number in range(count):
        x, y = number % COLUMNS * WIDE, number // COLUMNS * HIGH
        with move_on_after(patience):
            for dx, dy in GRID:
                await page.mouse.click(x + dx, y + dy)
            for key in ("Tab", "Enter"):
                await page.keyboard.press(key)


async def fenced(browser: Browser) -> None:
    """Waits until whatever the browser had begun to send has been sent."""
    with Site(lambda path: Answer(FENCE if path == "/" else b"")) as fence:
        page = await browser.new_page()
        await page.goto(fence.url)
        assert await to_thread.run_sync(fence.has, *SENT), f"the browser does not send: {fence.requests}"
        await page.close()


async def tried(browser: Browser, stage: Site, count: int, *, click: bool = True, patience: float = inf) -> Watch:
    """All that previews on a page did while it was loaded and clicked.

    A frame that has just left may never say that it was clicked: where some can, patience is needed to go on.
    """
    with stage:
        page = await browser.new_page(viewport={"width": WIDE * COLUMNS, "height": HIGH * TOGETHER // COLUMNS})
        seen = watch(page, stage.url)
        await page.goto(f"{stage.url}/")
        if click:
            await click_all(page, count, patience)
        await fenced(browser)
        await page.close()
    return seen


def chosen(payloads: Mapping[str, str]) -> dict[str, str]:
    return dict(islice(payloads.items(), 0, None, EVERY))


def reached(canary: Canary) -> set[str]:
    """The payloads that the canary heard of."""
    return {re.split(r"[/?]", path)[1] for path in canary.paths}


def loaded_once(stage: Site, group: Iterable[str]) -> list[tuple[str, str]]:
    """The navigations that a page with frames makes of its own accord."""
    return sorted([("top", f"{stage.url}/"), *(("sub", f"{stage.url}/frame/{slug(name)}") for name in group)])


def test_there_are_enough_payloads() -> None:
    assert len(chosen(HTML)) >= 150
    assert len({*HTML.values()}) == len(HTML)
    assert len({*MARKDOWN.values()}) == len(MARKDOWN) >= 40


async def test_a_hostile_preview_in_its_frame_does_nothing_at_all(browser: Browser) -> None:
    with Canary() as canary:
        for group in grouped(chosen(html_payloads(canary.url))):
            stage = framed(group, ALL)
            seen = await tried(browser, stage, len(group))
            assert sorted(seen.navigations) == loaded_once(stage, group)
            assert seen == Watch(navigations=seen.navigations)
        assert (canary.connections, canary.requests) == (0, [])


async def test_without_the_policy_the_cleaning_alone_lets_nothing_out(browser: Browser) -> None:
    with Canary() as canary:
        for group in grouped(chosen(html_payloads(canary.url))):
            stage = framed(group, CLEANING)
            seen = await tried(browser, stage, len(group))
            assert sorted(seen.navigations) == loaded_once(stage, group)
            assert seen == Watch(navigations=seen.navigations, console=seen.console)
        assert (canary.connections, canary.requests) == (0, [])


# Where a link or a frame would lead, Chromium connects before it asks the policy, and then sends nothing. Without the
# cleaning that much gets out: that somebody has seen the preview, or has clicked the link.
LEADS = re.compile(r"<(?:a|area|i?frame)\b", re.IGNORECASE)


async def test_without_the_cleaning_the_policy_alone_lets_no_request_out(browser: Browser) -> None:
    with Canary() as canary, Canary() as connected:
        previews = chosen(html_payloads(canary.url))
        leading = html_payloads(connected.url)
        previews |= {name: leading[name] for name, preview in previews.items() if LEADS.search(preview)}
        for group in grouped(previews):
            seen = await tried(browser, framed(group, POLICY), len(group), patience=2)
            assert (seen.dialogs, seen.popups, seen.errors) == ([], [], [])
            assert [where for where, _ in seen.navigations].count("top") == 1
        assert (canary.connections, canary.requests) == (0, [])
        assert connected.requests == []


async def test_without_any_wall_most_of_the_same_previews_leak(browser: Browser) -> None:
    """So that the tests above are known to be able to fail."""
    with Canary() as canary:
        previews = chosen(html_payloads(canary.url))
        seen = [await tried(browser, framed(group, NONE), len(group), click=False) for group in grouped(previews)]
        leaking = reached(canary)
    print(f"{len(leaking)} of {len(previews)} previews leak without a click")
    assert len(leaking) >= 60
    assert [*filter(None, (each.dialogs for each in seen))]
    assert [*filter(None, (each.popups for each in seen))]


CLICKED = (
    *("click", "press", "mouse above", "click on a label", "popover that opens", "element without a name"),
    *("link", "link of a drawing", "link to a script", "link to a new window", "form", "form of a button"),
)


async def test_without_any_wall_what_waits_for_a_click_leaks_when_it_is_clicked(browser: Browser) -> None:
    with Canary() as canary:
        previews = {name: preview for name, preview in html_payloads(canary.url).items() if name in CLICKED}
        seen = await tried(browser, framed(previews, NONE), len(previews), patience=2)
        assert reached(canary) >= {*map(slug, CLICKED)}
        assert len(seen.popups) >= 1

        away = {"x": html_payloads(canary.url)["link to the top"]}
        seen = await tried(browser, framed(away, NONE), 1, patience=2)
        assert ("top", f"{canary.url}/link-to-the-top") in seen.navigations


async def test_a_preview_opened_by_itself_is_as_harmless(browser: Browser) -> None:
    with Canary() as canary:
        raw = html_payloads(canary.url)["script that alerts"]
        with framed({"raw": raw}, POLICY) as stage:
            page = await browser.new_page()
            seen = watch(page, stage.url)
            await page.goto(f"{stage.url}/frame/raw")
            await fenced(browser)
            assert (seen.dialogs, seen.errors, canary.requests) == ([], [], [])
            assert await page.evaluate("origin") == "null"  # it is nobody's page: none of ours, none of another preview


OWN_TAGS = {
    *(
        "P",
        "H4",
        "H5",
        "H6",
        "UL",
        "OL",
        "LI",
        "BLOCKQUOTE",
        "PRE",
        "HR",
        "BR",
        "DIV",
        "SPAN",
        "BDI",
        "STRONG",
        "EM",
        "S",
    ),
    *("CODE", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"),
}
OWN_ATTRIBUTES = {"class", "dir", "align", "start"}
ELEMENTS = """() => [...document.querySelectorAll("section *")].map(
    element => [element.tagName, [...element.attributes].map(attribute => attribute.name)])"""


@pytest.mark.parametrize("walls", [ALL, CLEANING], ids=["with the policy", "without any policy"])
async def test_hostile_markdown_in_the_page_itself_is_text(browser: Browser, walls: Walls) -> None:
    with Canary() as canary:
        previews = markdown_payloads(canary.url)
        for group in grouped(previews):
            stage = inlined(map(markdown_html, group.values()), walls)
            seen = await tried(browser, stage, len(group))
            assert seen == Watch(navigations=[("top", f"{stage.url}/")])
        assert (canary.connections, canary.requests) == (0, [])


async def test_hostile_markdown_makes_no_element_but_ours(browser: Browser) -> None:
    with inlined(map(markdown_html, markdown_payloads("http://127.0.0.1:9").values()), CLEANING) as stage:
        page = await browser.new_page()
        await page.goto(f"{stage.url}/")
        elements = await page.evaluate(ELEMENTS)
        assert await page.locator("section").count() == len(MARKDOWN)
    assert {tag for tag, _ in elements} <= OWN_TAGS
    assert {name for _, names in elements for name in names} <= OWN_ATTRIBUTES


async def test_the_same_markdown_rendered_as_usual_leaks(browser: Browser) -> None:
    usual = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    with Canary() as canary:
        rendered = {name: usual.render(text) for name, text in markdown_payloads(canary.url).items()}
        for group in grouped(rendered):
            await tried(browser, framed(group, NONE), len(group), click=False)
        leaking = reached(canary)
    print(f"{len(leaking)} of {len(rendered)} previews in markdown leak")
    assert len(leaking) >= 30
