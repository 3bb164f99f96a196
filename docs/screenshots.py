"""Takes docs/pictures/*.png: the real page in Chromium, and one with the terminal beside it.

Run it as `python docs/screenshots.py`. Fonts differ between machines, so no test compares what it takes.
"""

from __future__ import annotations

import asyncio
import base64
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

from playwright.async_api import Browser, Page, async_playwright

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "docs")]

from pictures import CALL, FOLDER, LAYER  # noqa: E402
from tests.browser import ARGUMENTS, executable  # noqa: E402

from askdesk import Answer, Answered, Asker, Declined, Option, Permission, Question, Questions  # noqa: E402
from askdesk.cli.demo import QUESTIONS  # noqa: E402
from askdesk.core.desk import Desk  # noqa: E402
from askdesk.core.limits import OPEN  # noqa: E402
from askdesk.server import tokens  # noqa: E402
from askdesk.server.run import Address, beside  # noqa: E402
from askdesk.server.service import Service  # noqa: E402
from askdesk.stores.memory import MemoryStore  # noqa: E402

BUILDER = Asker("builder", project="/home/ana/new-service")
DEPLOYER = Asker("deployer", project="/home/ana/shop")
EDIT = Permission(
    "Edit",
    {
        "file_path": "/home/ana/shop/app.py",
        "old_string": "def main():\n    run(debug=True)\n",
        "new_string": 'def main():\n    setup()\n    run(debug=False, host="0.0.0.0")\n',
    },
    folder="/home/ana/shop",
    description="Turn debugging off",
)
CARD = (
    '<div style="padding:14px;border:1px solid #ccd;border-radius:10px"><small>Active users</small><h2>1,284</h2></div>'
)
WIDE = (
    '<div style="padding:14px;border:1px solid #ccd;border-radius:10px;display:flex;gap:18px"><h2>1,284</h2>'
    '<p>up <b style="color:#187a3c">12 %</b> on last week</p></div>'
)
CARDS = Question(
    "Which card should the dashboard have?",
    [Option("Compact (Recommended)", "Title and number", CARD), Option("Wide", "With the trend", WIDE)],
    header="Card",
)
CAPTION = "font: 600 15px system-ui; color: #445; margin: 0 0 8px"


@asynccontextmanager
async def served(desk: Desk) -> AsyncIterator[str]:
    address = Address(port=0)
    listening = address.listen()
    url = address.url(listening.getsockname()[1])
    async with beside(Service(desk, url, limits=OPEN), address, listening):
        yield url


async def signed_in(browser: Browser, desk: Desk, url: str, width: int, height: int, scheme: str) -> Page:
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        device_scale_factor=1.5,
        locale="en",
    )
    page = await context.new_page()
    code = await tokens.new_link(desk.shelf, "ana", now=desk.now())
    await page.goto(f"{url}/sign-in?code={code}")
    return page


async def take(page: Page, address: str, name: str, *, whole: bool = False) -> None:
    await page.goto(address)
    await page.locator("button.waiting").first.wait_for(state="detached")  # the guard of a permission's buttons
    await page.screenshot(path=FOLDER / f"{name}.png", full_page=whole)


async def both(browser: Browser) -> None:
    """The terminal's form and the page, showing the same ask."""
    inside = "".join(
        f'<figure style="margin:0"><figcaption style="{CAPTION}">{words}</figcaption>'
        f'<img style="width:820px;border-radius:12px" src="data:{kind};base64,{picture}"></figure>'
        for words, kind, picture in (
            ("in the terminal", "image/svg+xml", base64.b64encode((FOLDER / "preview.svg").read_bytes()).decode()),
            ("and in a browser", "image/png", base64.b64encode((FOLDER / "page-same.png").read_bytes()).decode()),
        )
    )
    page = await browser.new_page(viewport={"width": 2200, "height": 760})
    await page.set_content(
        f'<div id="both" style="display:inline-flex;gap:28px;padding:24px;background:#eef0f4">{inside}</div>'
    )
    await page.wait_for_function("[...document.images].every((image) => image.complete)")
    await page.locator("#both").screenshot(path=FOLDER / "both.png")
    (FOLDER / "page-same.png").unlink()


async def main() -> None:
    desk = Desk(MemoryStore())
    asks = {
        "same": await desk.post(LAYER, asker=BUILDER, preview_format="markdown"),
        "permission": await desk.post(EDIT, asker=DEPLOYER),
        "questions": await desk.post(QUESTIONS, asker=BUILDER, preview_format="markdown"),
        "previews": await desk.post(CARDS, asker=Asker("designer", project="/home/ana/shop"), preview_format="html"),
        "command": await desk.post(CALL, asker=BUILDER, deadline=timedelta(hours=2)),
    }
    for question, reply in (
        (Question("Which license?", ["MIT", "Apache-2.0"], header="License"), Answered([Answer(["MIT"])])),
        (Question("Ship today?", ["Yes", "Tomorrow"]), Declined("Let us talk first")),
    ):
        ask = await desk.post(Questions([question]), asker=BUILDER)
        await desk.settle(ask.id, reply, by="ana", surface="terminal")
    async with served(desk) as url, async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=executable(), args=[*ARGUMENTS])
        page = await signed_in(browser, desk, url, 1240, 800, "light")
        await take(page, f"{url}/asks/{asks['same'].id}", "page-same")
        await take(page, f"{url}/asks/{asks['previews'].id}", "page-questions")
        await take(page, f"{url}/settled", "page-settled")
        dark = await signed_in(browser, desk, url, 1240, 800, "dark")
        await take(dark, f"{url}/asks/{asks['permission'].id}", "page-permission")
        phone = await signed_in(browser, desk, url, 390, 780, "light")
        await take(phone, f"{url}/asks/{asks['questions'].id}", "page-phone")
        async with desk.at_work(BUILDER), desk.at_work(DEPLOYER) as deployer:
            await deployer.delivered(await desk.tell(DEPLOYER, "Leave the migrations alone", by="ana", surface="inbox"))
            await desk.tell(DEPLOYER, "The staging server is back", by="ben", surface="page")
            await take(page, f"{url}/agents/{deployer.address}", "page-agent")
        await both(browser)
        await browser.close()


if __name__ == "__main__":
    asyncio.run(main())
