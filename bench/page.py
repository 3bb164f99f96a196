"""How soon a person sees a question in Chromium, against one static page of the same bytes, of the same kind of server.

The static page is the document as the desk wrote it, with the style inside and the script as a comment. What is timed
is the Element Timing of the question's own text: from the start of the navigation to the frame that shows it, in a
browser that has kept nothing of the page.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import uvicorn
import uvloop
from bench.measure import Figure, Ratio
from bench.running import ASK, Running, asked, id_of, keys_of, running, serving
from playwright.sync_api import Browser, sync_playwright
from starlette.responses import HTMLResponse
from tests.browser import ARGUMENTS, NAMES, executable

from askdesk.server.run import Address
from askdesk.surfaces.web.render import static_files

_WATCH = """
new MutationObserver(() => document.querySelector("#q0 h2")?.setAttribute("elementtiming", "question"))
  .observe(document, { childList: true, subtree: true });
window.shown = new Promise((tell) => new PerformanceObserver((list) => tell(list.getEntries()[0].renderTime))
  .observe({ type: "element", buffered: true }));
"""


def is_possible() -> bool:
    """Whether there is a Chromium: it is large to install."""
    return any(map(shutil.which, NAMES))


def measure(rounds: int) -> list[Ratio | Figure]:
    floor, ours, loads = [], [], []
    with _served() as (server, path), _static(server, path) as static, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable(), args=[*ARGUMENTS])
        for number in range(rounds + 1):
            least, whole = _loaded(browser, static, "/"), _loaded(browser, server, path)
            if number:  # with the first ones the browser itself was cold
                floor.append(least.shown)
                ours.append(whole.shown)
                loads.append(whole)
        browser.close()
    return [
        Ratio("a question is seen in Chromium, cold cache", "one static page of the same bytes", 1.5, floor, ours),
        Figure("the page of an ask, with all it loads", median(load.bytes for load in loads) / 1000, "kB", 40),
        Figure("requests for it", max(load.requests for load in loads), "", 6),
        Figure("requests to others", max(load.elsewhere for load in loads), "", 0),
    ]


@contextmanager
def _served() -> Iterator[tuple[Running, str]]:
    """A desk, and where an ask of it is shown."""
    with tempfile.TemporaryDirectory() as folder:
        store = f"{folder}/desk.db"
        with serving(store, keys_of(store)) as server, server.connected() as connection:
            ask_id = id_of(asked(connection, server.request("POST", "/v1/asks", server.asker, ASK)))
            yield server, f"/asks/{ask_id}"


@contextmanager
def _static(server: Running, path: str) -> Iterator[Running]:
    """The same in one file, that a server of the same kind knows by heart."""
    with server.connected() as connection, tempfile.NamedTemporaryFile("w", suffix=".html") as file:
        file.write(_in_one(asked(connection, server.view(path)).decode()))
        file.flush()
        with running("bench.page", file.name) as static:
            yield static


def _in_one(document: str) -> str:
    style, script = (static_files()[name].body.decode() for name in ("askdesk.css", "askdesk.js"))
    document = re.sub(r'<link rel="icon"[^>]*>', '<link rel="icon" href="data:,">', document)
    document = re.sub(r'<link rel="stylesheet"[^>]*>', lambda _: f"<style>{style}</style>", document)
    document = re.sub(r"<script .*?</script>", "", document)
    return f"{document}<!--{script.replace('--', '- ')}-->"


class Load(NamedTuple):
    shown: float  # µs
    bytes: int  # as they came over the wire
    requests: int
    elsewhere: int


def _loaded(browser: Browser, server: Running, path: str) -> Load:
    """By somebody who is signed in, in a browser that has kept nothing else."""
    address = f"http://127.0.0.1:{server.port}"
    context = browser.new_context()
    if server.page:
        context.add_cookies([{"name": f"askdesk-{server.port}", "value": server.page, "url": address}])
    page = context.new_page()
    page.add_init_script(_WATCH)
    urls: dict[str, str] = {}
    sizes: dict[str, int] = {}
    network = context.new_cdp_session(page)
    network.on("Network.requestWillBeSent", lambda event: urls.update({event["requestId"]: event["request"]["url"]}))
    network.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    network.send("Network.enable")
    page.goto(f"{address}{path}")
    shown: float = page.evaluate("window.shown")
    while any(number not in sizes and not url.endswith("/events") for number, url in urls.items()):
        page.wait_for_timeout(10)
    context.close()
    elsewhere = [url for url in urls.values() if not url.startswith((address, "data:"))]
    return Load(shown * 1000, round(sum(sizes.values())), len(urls), len(elsewhere))


async def _serve_floor(page: HTMLResponse) -> None:
    listening = Address(port=0).listen()
    print(json.dumps({"port": listening.getsockname()[1], "asker": "", "answerer": ""}), flush=True)
    config: dict[str, Any] = {"http": "httptools", "ws": "none", "lifespan": "off", "log_config": None}
    await uvicorn.Server(uvicorn.Config(page, access_log=False, **config)).serve([listening])


if __name__ == "__main__":
    uvloop.run(_serve_floor(HTMLResponse(Path(sys.argv[1]).read_text())))
