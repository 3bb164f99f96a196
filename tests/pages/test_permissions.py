"""Permissions on the page: what was seen is what runs, and nothing runs that was not seen."""

import json
from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.pages.house import SIMPLE, House, button, press

from askdesk.core.model import Allowed, Denied, Outcome, Permission
from askdesk.surfaces import draft
from askdesk.surfaces.draft import Draft
from askdesk.testing.clock import FakeClock

pytestmark = pytest.mark.anyio

MAKE = {
    "type": "addRules",
    "behavior": "allow",
    "rules": [{"toolName": "Bash", "ruleContent": "make:*"}],
    "destination": "localSettings",
}
PLAN = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
RULED = Permission("Bash", {"command": "make"}, suggestions=[MAKE, PLAN])
MANY_LINES = Permission("Bash", {"command": "\n".join(f"echo {n}" for n in range(200))})
LONG_LINE = Permission("Bash", {"command": f"echo {'x' * 9_000}; rm -rf ~"})
QUICK = "That was quicker than anybody reads. Look at the call, then decide."
PARTLY = "Not all of this call was shown. Open all of it, then decide."
OTHER = "The call on your screen was not the one asked for. Here is the one that was."


async def outcome(house: House, ask_id: str) -> Outcome:
    settlement = await house.desk.wait(ask_id, timeout=30)
    assert settlement is not None
    assert (settlement.by, settlement.surface) == ("ana", "page")
    return settlement.outcome


async def is_open(house: House, ask_id: str) -> bool:
    return (await house.desk.get(ask_id)).settlement is None


async def call(page: Page) -> list[str]:
    """The lines of the call on the page."""
    return "\n".join(await page.locator(".call pre").all_text_contents()).split("\n")


TOOLS: dict[str, tuple[dict[str, Any], str]] = {
    "Bash": (
        {"command": "make \\\n  test", "timeout": 90_000, "run_in_background": True, "description": "Tests"},
        """
Bash command · Bash
│ make \\
│   test
folder: /srv/app
timeout: 1 min 30 s (90000)
runs in the background and goes on after this call (run_in_background: true)

the agent says (not checked):
│ Tests""",
    ),
    "Edit": (
        {"file_path": "/srv/app/a.py", "old_string": "a = 1\nb = 2", "new_string": "a = 1\nb = 3"},
        """
Edit a file · Edit
file: /srv/app/a.py
folder: /srv/app
│   a = 1
│ - b = 2
│ + b = 3""",
    ),
    "WebFetch": (
        {"url": "https://example.org/x", "prompt": "Sum it up"},
        """
Fetch from the web · WebFetch
host: example.org
URL: https://example.org/x
folder: /srv/app
prompt:
│ Sum it up""",
    ),
    "mcp__files__remove": (
        {"path": "/srv", "deep": True},
        """
Tool `remove` of the MCP server `files` · mcp__files__remove
folder: /srv/app
│ path: "/srv"
│ deep: true""",
    ),
}


@pytest.mark.parametrize("tool", TOOLS)
async def test_each_tool_is_shown_by_its_real_input(house: House, tool: str) -> None:
    given, lines = TOOLS[tool]
    ask = await house.desk.post(Permission(tool, given, folder="/srv/app"))
    page = await house.person("ana", f"/asks/{ask.id}")

    await expect(page.get_by_role("heading", level=1)).to_have_text("agent asks for permission")
    assert "\n".join(["", *await call(page)]) == lines


async def test_allow_once(house: House) -> None:
    ask = await house.desk.post(SIMPLE)
    page = await house.person("ana", f"/asks/{ask.id}")

    await press(page, "Allow once")

    assert await outcome(house, ask.id) == Allowed()
    settlement = (await house.desk.get(ask.id)).settlement
    assert settlement is not None
    assert settlement.digest == SIMPLE.digest
    await expect(page.locator(".ended")).to_contain_text("allowed by ana on page")


DENIALS = {
    "Deny": ("", Denied()),
    "Deny and say why": ("Why not? The agent reads this.", Denied("so\nthere")),
    "Suggest another way": ("What other way do you suggest?", Denied("Another way: so\nthere")),
    "Deny and give this instruction": ("What should the agent do instead?", Denied(redirect="so\nthere")),
    "Deny and stop the agent": ("Why should the agent stop? (may stay empty)", Denied("so\nthere", stop=True)),
}


@pytest.mark.parametrize("name", DENIALS)
async def test_deny_in_each_way(house: House, name: str) -> None:
    field, denied = DENIALS[name]
    ask = await house.desk.post(SIMPLE)
    page = await house.person("ana", f"/asks/{ask.id}")

    if field:
        await page.get_by_text("Deny, and say something").click()
        await page.get_by_label(field).fill(" so\nthere ")
    await press(page, name)

    assert await outcome(house, ask.id) == denied


async def test_a_way_to_deny_that_needs_words_asks_for_them_and_each_way_keeps_its_own(house: House) -> None:
    ask = await house.desk.post(SIMPLE)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_text("Deny, and say something").click()
    await page.get_by_label("Why not?").fill("because")

    await press(page, "Suggest another way")

    await expect(page.get_by_role("alert")).to_have_text("Type something first.")
    await expect(page.get_by_label("Why not?")).to_have_value("because")
    assert await draft.kept(house.desk.shelf, ask, "ana") == Draft(v=1, words=(("message", "because"),))
    assert await is_open(house, ask.id)


async def test_a_changed_call_is_checked_then_shown_and_only_then_can_run(house: House) -> None:
    ask = await house.desk.post(Permission("Bash", {"command": "rm -rf build", "timeout": 5}))
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_text("Allow with changes").click()
    field = page.get_by_label("The input, as JSON")
    await expect(field).to_have_value('{\n  "command": "rm -rf build",\n  "timeout": 5\n}')

    await press(page, "See what would run")
    await expect(page.get_by_role("alert")).to_have_text("Nothing was changed. Change it, or allow it as it is.")
    await page.get_by_text("Allow with changes").click()
    await field.fill('{"command": "ls",\n  "timeout": }')
    await press(page, "See what would run")
    await expect(page.get_by_role("alert")).to_have_text("input: is not JSON: Expecting value at line 2, column 14")
    await expect(field).to_have_value('{"command": "ls",\n  "timeout": }')
    await field.fill('{"command": "ls build", "timeout": 5}')
    await press(page, "See what would run")

    await expect(page.get_by_role("heading", name="This would run instead")).to_be_visible()
    assert await call(page) == ['│ - command: "rm -rf build"', '│ + command: "ls build"', "│   timeout: 5"]
    assert await is_open(house, ask.id)
    await press(page, "Change it again")
    await expect(field).to_have_value('{"command": "ls build", "timeout": 5}')
    await press(page, "See what would run")
    await press(page, "Allow the changed call, once")
    assert await outcome(house, ask.id) == Allowed('{"command": "ls build", "timeout": 5}')
    await expect(page.get_by_role("heading", name="What ran instead")).to_be_visible()


async def test_a_long_change_must_be_opened_too_and_nothing_of_it_is_lost(house: House) -> None:
    ask = await house.desk.post(SIMPLE)
    changed = json.dumps({"command": "\n".join(f"echo {n}" for n in range(100))})
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_text("Allow with changes").click()
    await page.get_by_label("The input, as JSON").fill(changed)
    await press(page, "See what would run")
    run = button(page, "Allow the changed call, once")
    await expect(run).to_be_disabled()

    await page.get_by_role("button", name="Show what is hidden here").click()
    await expect(page.get_by_role("button", name="Show what is hidden here")).to_have_count(0)
    await press(page, "Allow the changed call, once")

    assert await outcome(house, ask.id) == Allowed(changed)


async def test_always_allow_says_what_it_means_and_keeps_what_was_ticked(house: House) -> None:
    ask = await house.desk.post(RULED)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_text("Allow, and always from now on").click()
    await expect(page.locator(".rule label")).to_have_text(
        [
            "Allow without asking, in this project, for you (local settings): Bash(make:*)",
            "Edit files without asking, for this session only: acceptEdits",
        ]
    )

    await press(page, "Allow, and remember what is ticked")
    await expect(page.get_by_role("alert")).to_have_text("Tick what to remember first.")
    await page.get_by_text("Allow, and always from now on").click()
    await page.get_by_role("checkbox").first.check()
    await press(page, "Allow, and remember what is ticked")

    assert await outcome(house, ask.id) == Allowed(remember=(RULED.suggestions[0],))
    await expect(page.locator(".settled")).to_contain_text("Kept as a rule:Allow without asking, in this project")


@pytest.mark.parametrize(
    ("permission", "size", "tail"),
    [(MANY_LINES, "lines: 181, characters: 1721", "│ echo 199"), (LONG_LINE, "lines: 0, characters:", "; rm -rf ~")],
)
async def test_a_long_call_shows_its_ends_and_must_be_opened_before_it_can_be_allowed(
    house: House, permission: Permission, size: str, tail: str
) -> None:
    ask = await house.desk.post(permission)
    page = await house.person("ana", f"/asks/{ask.id}")
    first, *_, last = await call(page)
    assert (first, last[-len(tail) :]) == ("Bash command · Bash", tail)
    opener = page.get_by_role("button", name=f"Show what is hidden here ({size}")
    await expect(opener).to_be_enabled()
    await expect(button(page, "Allow once")).to_be_disabled()
    await expect(button(page, "Deny")).to_be_enabled()

    await opener.click()

    await expect(opener).to_have_count(0)
    command = json.loads(permission.input)["command"]
    assert "\n".join(line.removeprefix("│ ") for line in (await call(page))[1:]) == command
    await press(page, "Allow once")
    assert await outcome(house, ask.id) == Allowed()


POSTED = """
async changes => {
  const body = new URLSearchParams(new FormData(document.querySelector("#answer")));
  for (const [name, value] of Object.entries(changes)) body.set(name, value);
  const answer = await fetch(location.href, { method: "POST", body });
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  return [answer.status, page.querySelector("[role=alert], .ended")?.textContent ?? ""];
}
"""


async def posted(page: Page, **changes: str) -> list[Any]:
    """What the server says to the form on the page, with some of its fields forged."""
    status, said = await page.evaluate(POSTED, {"action": "allow", **changes})
    return [status, " ".join(said.split())]


async def test_the_server_itself_refuses_an_allow_that_comes_too_soon(still_house: House, clock: FakeClock) -> None:
    ask = await still_house.desk.post(RULED)
    page = await still_house.person("ana", f"/asks/{ask.id}")

    assert await posted(page) == [422, QUICK]
    clock.advance(0.499)
    assert await posted(page) == [422, QUICK]
    assert await posted(page, action="remember", rule="0") == [422, QUICK]
    assert await is_open(still_house, ask.id)
    clock.advance(0.001)
    assert (await posted(page))[0] == 200
    assert await outcome(still_house, ask.id) == Allowed()


async def test_the_server_itself_refuses_an_allow_of_what_was_not_shown(still_house: House, clock: FakeClock) -> None:
    ask = await still_house.desk.post(SIMPLE)
    other = await still_house.desk.post(RULED)
    long = await still_house.desk.post(MANY_LINES)
    page = await still_house.person("ana", f"/asks/{other.id}")
    others = await page.locator("[name=stamp]").input_value()
    bo = await still_house.person("bo", f"/asks/{ask.id}")
    bos = await bo.locator("[name=stamp]").input_value()
    await page.goto(f"/asks/{long.id}")
    clock.advance(1)
    assert await posted(page) == [422, PARTLY]
    whole = (await page.locator("[name=stamp]").input_value()).replace(" part ", " whole ")
    assert await posted(page, stamp=whole) == [422, OTHER]

    await page.goto(f"/asks/{ask.id}")
    clock.advance(1)

    for stamp in ("", "nonsense", "a b c d.e", others, bos, "\u202e", f"{others}0"):
        assert await posted(page, stamp=stamp) == [422, OTHER]
    status, said = await posted(page, digest=RULED.digest)
    assert (status, said.partition(", which")[0]) == (422, "digest: the input shown was not the one asked for")
    assert await posted(page, action="run", input='{"command": "ls"}') == [422, OTHER]
    assert await posted(page, form="") == [
        403,
        "You signed in again since this page was opened. Look once more, then press the button again.",
    ]
    assert await posted(page, action="send") == [422, "This ask has no such button."]
    assert await is_open(still_house, ask.id)


async def test_the_stamp_of_a_changed_call_is_good_for_this_change_alone(still_house: House, clock: FakeClock) -> None:
    ask = await still_house.desk.post(SIMPLE)
    page = await still_house.person("ana", f"/asks/{ask.id}")
    await page.get_by_text("Allow with changes").click()
    await page.get_by_label("The input, as JSON").fill('{"command": "ls"}')
    await press(page, "See what would run")
    await expect(page.get_by_role("heading", name="This would run instead")).to_be_visible()
    clock.advance(1)

    assert await posted(page, action="run", input='{"command": "rm -rf ~"}') == [422, OTHER]
    assert await posted(page, action="allow") == [422, OTHER]
    assert (await posted(page, action="run"))[0] == 200
    assert await outcome(still_house, ask.id) == Allowed('{"command": "ls"}')


async def test_allow_is_inert_until_it_was_visible_and_in_focus_for_half_a_second(house: House) -> None:
    ask = await house.desk.post(SIMPLE)
    page = await house.person()
    await page.add_init_script(
        """Document.prototype.hasFocus = () => window.isLookedAt ?? false;
           const allow = () => document.querySelector("[value=allow]");
           addEventListener("DOMContentLoaded", () => { window.early = allow()?.disabled; })"""
    )
    await page.goto(f"/asks/{ask.id}")
    assert await page.evaluate("window.early") is True
    await expect(button(page, "Deny")).to_be_enabled()  # half a second has passed, and nobody looked
    await expect(button(page, "Allow once")).to_be_disabled()

    waited = await page.evaluate(
        """async () => {
             const allow = document.querySelector("[value=allow]"), since = performance.now();
             window.isLookedAt = true;
             dispatchEvent(new Event("focus"));
             while (allow.disabled) await new Promise(requestAnimationFrame);
             return performance.now() - since;
           }"""
    )

    assert waited >= 490
    await page.evaluate("window.isLookedAt = false; dispatchEvent(new Event('blur'))")
    await expect(button(page, "Allow once")).to_be_disabled()
    assert await is_open(house, ask.id)


async def test_allow_is_inert_while_it_is_out_of_sight(house: House) -> None:
    ask = await house.desk.post(MANY_LINES)
    page = await house.person("ana", f"/asks/{ask.id}?all=1")
    await expect(button(page, "Deny")).to_be_enabled()
    await expect(button(page, "Allow once")).to_be_disabled()

    await button(page, "Allow once").scroll_into_view_if_needed()

    await expect(button(page, "Allow once")).to_be_enabled()


KEYS = [
    "Enter",
    "Space",
    "y",
    "1",
    "a",
    "Enter",
    "d",
    "j",
    "k",
    "Enter",
    "Escape",
    "n",
    "Space",
    "Enter",
    "ArrowDown",
    "Enter",
    "y",
    "Backspace",
    "Space",
    "Enter",
]


async def test_two_hundred_keys_before_and_after_the_page_is_there_decide_nothing(house: House) -> None:
    ask = await house.desk.post(RULED)
    page = await house.person()

    await page.goto(f"/asks/{ask.id}", wait_until="commit")
    for key in KEYS * 10:
        await page.keyboard.press(key)

    assert await is_open(house, ask.id)


async def test_enter_in_a_tick_decides_nothing(house: House) -> None:
    ask = await house.desk.post(RULED)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_text("Allow, and always from now on").click()
    await page.get_by_role("checkbox").first.check()
    await expect(button(page, "Allow, and remember what is ticked")).to_be_enabled()

    await page.keyboard.press("Enter")

    await expect(page.get_by_role("checkbox").first).to_be_focused()
    assert await is_open(house, ask.id)
