"""The first view is light, all of it comes from here, and the second one brings only what changed."""

from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.pages.house import DATABASE, SIMPLE, House

from askdesk.server.guard import PAGE_POLICY

pytestmark = pytest.mark.anyio

MOST_REQUESTS, MOST_BYTES = 6, 40_000


class Wire:
    """What comes over the wire to a page, to the byte; the stream of events stays open and is not counted as bytes."""

    def __init__(self) -> None:
        self.urls: dict[str, str] = {}
        self.cached: set[str] = set()
        self.sizes: dict[str, int] = {}
        self.encodings: dict[str, str] = {}

    @classmethod
    async def of(cls, page: Page) -> "Wire":
        wire = cls()
        session = await page.context.new_cdp_session(page)
        session.on("Network.requestWillBeSent", wire._asked)
        session.on("Network.requestServedFromCache", lambda event: wire.cached.add(event["requestId"]))
        session.on("Network.responseReceived", wire._answered)
        session.on("Network.loadingFinished", wire._came)
        session.on("Network.loadingFailed", lambda event: wire.sizes.update({event["requestId"]: 0}))
        await session.send("Network.enable")
        return wire

    def _asked(self, event: Any) -> None:
        self.urls[event["requestId"]] = event["request"]["url"]

    def _answered(self, event: Any) -> None:
        response = event["response"]
        if response["fromDiskCache"]:
            self.cached.add(event["requestId"])
        self.encodings[response["url"]] = {k.lower(): v for k, v in response["headers"].items()}.get(
            "content-encoding", ""
        )

    def _came(self, event: Any) -> None:
        self.sizes[event["requestId"]] = round(event["encodedDataLength"])

    @property
    def bytes(self) -> int:
        return sum(self.sizes.values())

    @property
    def sent(self) -> list[str]:
        """Addresses that really were asked for, those that the browser has kept left out."""
        return [url for number, url in self.urls.items() if number not in self.cached]

    def has(self, path: str) -> bool:
        """Whether a file is there, wherever it came from."""
        return any(path in url and number in {*self.sizes, *self.cached} for number, url in self.urls.items())

    @property
    def is_quiet(self) -> bool:
        """Whether all has come but the stream of events, which never ends."""
        waiting = [url for number, url in self.urls.items() if number not in {*self.sizes, *self.cached}]
        return bool(self.sizes and waiting) and all(url.endswith("/events") for url in waiting)


async def posted(house: House) -> tuple[str, str]:
    """The paths of an ask with a question and of one for a permission."""
    return f"/asks/{(await house.desk.post(DATABASE)).id}", f"/asks/{(await house.desk.post(SIMPLE)).id}"


async def fresh(house: House) -> Page:
    """Somebody who is signed in, in a browser that has kept nothing of the page."""
    page = await house.person()
    cookies = [{**cookie} for cookie in await page.context.cookies()]
    other = await house.stranger()
    await other.context.add_cookies(cookies)  # type: ignore[arg-type]
    return other


@pytest.mark.parametrize("place", ["inbox", "questions", "permission"])
async def test_the_first_view_is_light_and_all_of_it_comes_from_here(house: House, place: str) -> None:
    questions, permission = await posted(house)
    page = await fresh(house)
    wire = await Wire.of(page)

    await page.goto({"inbox": "/", "questions": questions, "permission": permission}[place])
    await house.until(lambda: wire.is_quiet)

    assert [url for url in wire.urls.values() if not url.startswith(f"{house.server.url}/")] == []
    assert len(wire.urls) <= MOST_REQUESTS, wire.urls
    assert wire.bytes <= MOST_BYTES, (wire.urls, wire.sizes)
    static = {url: encoding for url, encoding in wire.encodings.items() if "/static/askdesk" in url}
    assert len(static) == 2
    assert set(static.values()) == {"gzip"}


async def test_the_second_view_asks_for_no_file_again(house: House) -> None:
    questions, _ = await posted(house)
    page = await fresh(house)
    await page.goto("/")
    wire = await Wire.of(page)

    await page.goto(questions)
    await house.until(lambda: wire.has("/static/askdesk.css") and wire.has("/static/askdesk.js"))

    # Not the icon: the browser fetches it when it likes, and does not always tell where it had it from.
    assert [url for url in wire.sent if "/static/askdesk" in url] == []
    assert {url for url in wire.urls.values() if "/static/askdesk" in url} != set()


INLINE = """
() => [...document.querySelectorAll("script:not([src]), style, [style], [onclick], [onload], [onerror], [onsubmit]")]
  .map(element => element.outerHTML.slice(0, 120))
"""


async def test_every_view_has_the_policy_and_nothing_inline(house: House) -> None:
    questions, permission = await posted(house)
    page = await house.person()

    for path in ("/", questions, permission, "/settled", "/help", "/asks/nowhere", "/sign-in"):
        answer = await page.goto(path)
        assert answer is not None
        assert await answer.header_value("content-security-policy") == PAGE_POLICY
        assert await page.evaluate(INLINE) == []
    # and the house has heard no complaint: nothing was refused by the policy


async def test_the_policy_is_in_force(house: House) -> None:
    page = await house.person()
    await expect(page.locator("#told")).to_be_attached()

    await page.evaluate(
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran=1'}))"
    )

    await house.until(lambda: bool(house.complaints))
    assert await page.evaluate("window.ran") is None
    complaint = house.complaints.pop()
    assert "Content Security Policy" in complaint
    assert house.complaints == []
