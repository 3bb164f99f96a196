"""Hostile texts in every field of an ask: on the page they are text, in their own place, and nothing else."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from playwright.async_api import Page
from tests.browser import watch
from tests.hostile import HARMFUL, TRICKY, _hidden, marker
from tests.pages.house import PHONE, House

from askdesk.core.model import Answer, Answered, Ask, Asker, Denied, Option, Permission, Question
from askdesk.surfaces import draft
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.form import Given

pytestmark = pytest.mark.anyio

BREAKOUTS = (
    '" onmouseover="window.owned = \'qwaaq\'" x="',
    "' autofocus onfocus='window.owned = 1' qwabq='",
    "</textarea></title></select></option><script>window.owned = 'qwacq'</script>",
    "<script>window.owned = 'qwadq'</script>",
    "<img src=x onerror=\"window.owned = 'qwaeq'\">",
    "</bdi></span></form></article></main><button name=action value=allow form=answer>qwafq</button>",
    "javascript:window.owned='qwagq'",
    "<iframe srcdoc=\"<script>top.owned = 'qwahq'</script>\"></iframe>",
    "<a id=answer href=//evil.example/qwaiq>Allow once</a><base href=//evil.example/>",
    "&quot;&gt;&lt;script&gt;window.owned = 'qwajq'&lt;/script&gt; &#x202e; {{ 7 * 7 }} {% raw %}",
    "<style>*{display:none}</style><link rel=stylesheet href=//evil.example/qwakq><meta http-equiv=refresh content=0>",
    "]]><!-- qwalq --!><svg onload=window.owned=1><template shadowrootmode=open>",
)
PAYLOADS = tuple(text for text in (*HARMFUL[::20], *TRICKY[::12], *BREAKOUTS) if len(text) < 600)
PLAIN = "plain qaaaq"
STILL = "/fragments/keys"  # where nothing follows what happens on the desk


class Seen(NamedTuple):
    """A document as far as an agent could have a hand in it."""

    text: str
    labels: list[str]  # attributes that are read out or shown
    elements: list[str]  # each with the names of its attributes


SEEN = """
async path => {
  const elsewhere = path && new DOMParser().parseFromString(await (await fetch(path)).text(), "text/html");
  const page = elsewhere || document, shown = ["title", "aria-label", "alt", "placeholder", "data-new"];
  const elements = [...page.querySelectorAll("*")].filter(element => !element.parentElement?.closest(".rendered"));
  const looks = element => `${element.localName} ${element.getAttributeNames().sort().join(" ")}`;
  return [
    page.documentElement.textContent,
    elements.flatMap(element => shown.map(name => element.getAttribute(name)).filter(Boolean)),
    elements.filter(element => !element.matches("bdi, span")).map(looks),
  ];
}
"""


async def look(page: Page) -> Seen:
    return Seen(*await page.evaluate(SEEN))


async def look_at(page: Page, *paths: str) -> list[Seen]:
    """At fragments of a page, all of them in one go."""
    return [Seen(*seen) for seen in await page.evaluate(f"paths => Promise.all(paths.map({SEEN}))", paths)]


def unseen(seen: Seen) -> set[str]:
    """Characters that nobody can see, or that reorder what can be seen."""
    return {hidden for text in (seen.text, *seen.labels) for hidden in _hidden(text.replace("\n", ""))}


def questions(text: str) -> Iterator[Question]:
    options = [Option(f"{text} a", text, text), Option(f"{text} b (Recommended)", text, f"{text}\n\n{text}")]
    yield Question(text, options, header=text)
    yield Question(f"2 {text}", options, header=text, multi_select=True)
    yield Question(f"3 {text}", kind="text", default=text)


def permissions(text: str) -> Iterator[Permission]:
    rules = [{"type": text, text: text}]
    folder, claim = text, text
    yield Permission(text, {text: text, "list": [text, {text: [text]}]}, folder, claim, rules)
    yield Permission("Bash", {"command": text, "description": text, text: 1}, folder, claim, rules)
    yield Permission("Edit", {"file_path": text, "old_string": text, "new_string": f"x{text}"}, folder, claim)
    yield Permission("WebFetch", {"url": text, "prompt": text}, folder, claim)


def asker(text: str) -> Asker:
    return Asker(text, session=text, project=text, parent=text)


async def post(house: House, text: str) -> list[Ask]:
    asks = [await house.desk.post(questions(text), asker=asker(text), preview_format="markdown")]
    return asks + [await house.desk.post(permission, asker=asker(text)) for permission in permissions(text)]


async def test_an_open_ask_is_nothing_but_text_whatever_an_agent_writes_into_it(house: House) -> None:
    page = await house.person(path=STILL)
    plain = await look_at(page, *(f"/fragments/asks/{ask.id}" for ask in await post(house, PLAIN)))

    for text in PAYLOADS:
        hostile = await look_at(page, *(f"/fragments/asks/{ask.id}?all=1" for ask in await post(house, text)))
        for seen, usual in zip(hostile, plain, strict=True):
            assert unseen(seen) == set(), text
            assert marker(text) in seen.text, text
            assert Counter(_unvaried(seen)) == Counter(_unvaried(usual)), text


def _unvaried(seen: Seen) -> list[str]:
    """Without what an ask has more of when its text has more lines."""
    return [element for element in seen.elements if not element.startswith("br")]


async def test_the_lists_are_nothing_but_text(house: House) -> None:
    page = await house.person()
    for text in PAYLOADS:
        await post(house, text)
        settled = await house.desk.post(questions(text), asker=asker(text))
        answer = Answer([f"{text} a"], note=text)
        await house.desk.settle(settled.id, Answered([answer, None, Answer(other=text)]), by=text, surface=text)

    for path in ("/", "/?order=newest", "/settled"):
        seen = watch(page, house.server.url)
        await page.goto(path)
        looked = await look(page)
        assert unseen(looked) == set()
        assert [text for text in PAYLOADS if marker(text) not in looked.text and path == "/"] == []
        rows = Counter(element for element in looked.elements if element.startswith(("li", "a ", "time")))
        assert len(rows) <= 8, rows  # all rows look alike
        assert await page.evaluate("window.owned") is None
        assert (seen.dialogs, seen.popups, seen.requests) == ([], [], [])


SETTLED = {
    *("html", "head", "body", "article", "header", "section", "h1", "h2", "h3", "p", "ul", "li", "pre", "time", "a"),
    *("strong", "div", "figure", "figcaption"),
}


async def test_a_settled_ask_is_nothing_but_text_whoever_wrote_it(house: House) -> None:
    page = await house.person(path=STILL)
    for text in PAYLOADS:
        first, second, *_ = await post(house, text)
        typed = Draft(v=1, given=(Given((0,), text, note=text), Given(own=text, owned=True), Given()), message=text)
        await draft.keep(house.desk.shelf, first, "bo", typed)
        note = Answer([f"{text} a"], note=text)
        await house.desk.settle(first.id, Answered([note, None, Answer(other=text)]), by=text, surface=text)
        await house.desk.settle(second.id, Denied(text, redirect=text), by=text, surface=text)

        for seen in await look_at(page, *(f"/fragments/asks/{ask.id}" for ask in (first, second))):
            assert unseen(seen) == set(), text
            assert marker(text) in seen.text, text
            assert {element.split(" ")[0] for element in seen.elements} <= SETTLED, text


@pytest.mark.parametrize("options", [{}, PHONE], ids=["desk", "phone"])
async def test_in_a_real_page_nothing_runs_opens_leaves_or_grows_out_of_its_place(
    house: House, options: dict[str, Any]
) -> None:
    page = await house.person(**options)
    seen = watch(page, house.server.url)
    asks = [ask for text in (*BREAKOUTS, *PAYLOADS[::10]) for ask in (await post(house, text))[:2]]

    for ask in asks:
        await page.goto(f"/asks/{ask.id}", wait_until="domcontentloaded")
        await page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true; })")
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        state = await page.evaluate(f"[window.owned, {wide}, document.querySelectorAll('#answer, #ask, #list').length]")
        assert state == [None, 0, 3], ask

    assert (seen.dialogs, seen.popups, seen.requests, seen.errors) == ([], [], [], [])
    assert [place for place in seen.navigations if not place[1].startswith(house.server.url)] == []
    assert [(await house.desk.get(ask.id)).settlement for ask in asks] == [None] * len(asks)
