"""The whole page without its script: real forms, and not a word less."""

import re
from typing import Any

import pytest
from playwright.async_api import Page, Response, expect
from tests.pages.house import COUNT, DATABASE, NAME, PARTS, SIMPLE, House

from askdesk.core.model import Allowed, Answer, Answered, Asker, Declined, Denied, Outcome, Permission
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
LONG = Permission("Bash", {"command": "\n".join(f"echo {n}" for n in range(200))})


async def person(house: House, path: str, name: str = "ana", **options: Any) -> Page:
    """Somebody whose browser runs no script."""
    return await house.person(name, path, java_script_enabled=False, **options)


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name, exact=True)


def question(page: Page, number: int) -> Any:
    return page.locator(f"#q{number}")


async def pressed(page: Page, name: str) -> Response:
    """What the server answers first to a button."""
    async with page.expect_response(lambda response: response.request.method == "POST") as answer:
        await button(page, name).click()
    return await answer.value


async def outcome(house: House, ask_id: str) -> Outcome:
    settlement = await house.desk.wait(ask_id, timeout=30)
    assert settlement is not None
    assert (settlement.by, settlement.surface) == ("ana", "page")
    return settlement.outcome


async def is_open(house: House, ask_id: str) -> bool:
    return (await house.desk.get(ask_id)).settlement is None


async def test_a_choice_with_a_note_is_sent_and_stands_there_as_the_answer(house: House) -> None:
    ask = await house.desk.post(DATABASE, asker=Asker("builder"))
    page = await person(house, "/")
    await page.get_by_role("link", name="Which database should it use?").click()

    await page.get_by_role("radio", name="Postgres").check()
    await page.get_by_text("Add a note").click()
    await page.get_by_label("Note for question 1").fill("we\nknow it")
    await button(page, "Send").click()

    assert await outcome(house, ask.id) == Answered([Answer(["Postgres"], note="we\nknow it")])
    await expect(page.locator(".ended")).to_contain_text("answered by ana on page")
    await expect(page.locator(".chosen bdi")).to_have_text("Postgres")
    assert page.url == f"{house.server.url}/asks/{ask.id}"


async def test_own_words_are_meant_when_nothing_else_was_chosen(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await person(house, f"/asks/{ask.id}")

    await page.get_by_label("Your own words").fill("MariaDB")
    await button(page, "Send").click()

    assert await outcome(house, ask.id) == Answered([Answer(other="MariaDB")])


async def test_a_blank_is_named_in_the_review_and_sent_as_one(house: House) -> None:
    ask = await house.desk.post([DATABASE, PARTS, NAME])
    page = await person(house, f"/asks/{ask.id}")
    await question(page, 0).get_by_role("radio", name="SQLite").check()
    await question(page, 2).get_by_role("radio", name="The agent suggests: askdesk").check()

    await button(page, "Send").click()

    await expect(page.get_by_role("alert").locator("p, li")).to_have_text(
        ["Blank: 1 of 3. They are sent as blanks.", "Which parts should be tested?"]
    )
    assert await is_open(house, ask.id)
    await button(page, "Change my answers").click()
    await expect(question(page, 0).get_by_role("radio", name="SQLite")).to_be_checked()
    await question(page, 1).get_by_label("Other").fill("the docs")
    await button(page, "Review").click()
    await expect(page.locator(".answers dd")).to_have_text(["SQLite (Recommended)", '"the docs"', '"askdesk"'])
    await button(page, "Change my answers").click()
    await question(page, 1).get_by_label("Other").fill("")
    await button(page, "Review").click()
    await button(page, "Send, leaving 1 blank").click()
    assert await outcome(house, ask.id) == Answered([Answer(["SQLite (Recommended)"]), None, Answer(other="askdesk")])


async def test_a_text_and_a_number_are_typed_and_a_wrong_number_is_explained(house: House) -> None:
    ask = await house.desk.post([NAME, COUNT])
    page = await person(house, f"/asks/{ask.id}")
    await question(page, 0).get_by_label("Your own words").fill("\ntable\n")
    number = page.get_by_label("Your number. A number from 1 to 8.")

    await number.fill("9")
    await button(page, "Send").click()

    said = "“9” does not fit here. A number from 1 to 8."
    await expect(page.get_by_role("alert")).to_have_text(said)
    await expect(number).to_have_accessible_description(said)
    await expect(number).to_have_value("9")
    await expect(question(page, 0).get_by_label("Your own words")).to_have_value("\ntable\n")
    await number.fill("8")
    await button(page, "Send").click()
    assert await outcome(house, ask.id) == Answered([Answer(other="\ntable\n"), Answer(other="8")])


async def test_to_decline_takes_along_what_was_chosen_so_far(house: House) -> None:
    ask = await house.desk.post([DATABASE, PARTS])
    page = await person(house, f"/asks/{ask.id}")
    await page.get_by_role("checkbox", name="Stores").check()

    await page.get_by_text("Decline, or say something instead").click()
    await page.get_by_label("What you would rather say").fill("Ask me\ntomorrow")
    await button(page, "Decline to answer").click()

    so_far = (None, Answer(["Stores"], multi_select=True))
    assert await outcome(house, ask.id) == Declined("Ask me\ntomorrow", so_far)


async def test_a_draft_is_kept_with_a_button_and_is_back_after_a_reload(house: House) -> None:
    ask = await house.desk.post([DATABASE, PARTS])
    page = await person(house, f"/asks/{ask.id}")
    await page.get_by_role("checkbox", name="Stores").check()
    await question(page, 0).get_by_label("Your own words").fill("MariaDB\n")
    await page.get_by_text("Decline, or say something instead").click()
    await page.get_by_label("What you would rather say").fill("perhaps")

    await button(page, "Keep as a draft").click()

    await expect(page.locator(".notice")).to_have_text("Draft kept")
    await page.goto(f"/asks/{ask.id}")
    await expect(page.locator(".notice")).to_have_text("Your draft is back.")
    await expect(question(page, 0).get_by_label("Your own words")).to_have_value("MariaDB\n")
    await expect(question(page, 0).get_by_role("radio", name="Other")).to_be_checked()
    await expect(page.get_by_role("checkbox", name="Stores")).to_be_checked()
    await expect(page.get_by_label("What you would rather say")).to_have_value("perhaps")
    assert await is_open(house, ask.id)


async def test_enter_in_a_field_and_on_a_choice_sends_nothing(house: House) -> None:
    ask = await house.desk.post([DATABASE, COUNT])
    page = await person(house, f"/asks/{ask.id}")
    await page.get_by_role("radio", name="Postgres").check()

    for field in (page.get_by_role("radio", name="Postgres"), page.get_by_label("Your number")):
        async with page.expect_navigation():
            await field.press("Enter")
        await expect(page.locator(".notice")).to_have_text("Draft kept")
        await expect(page.get_by_role("radio", name="Postgres")).to_be_checked()

    assert await is_open(house, ask.id)


async def test_enter_in_a_tick_decides_nothing(house: House) -> None:
    ask = await house.desk.post(Permission("Bash", {"command": "make"}, suggestions=[MAKE]))
    page = await person(house, f"/asks/{ask.id}")
    await page.get_by_text("Allow, and always from now on").click()
    await page.get_by_role("checkbox").check()

    async with page.expect_navigation():
        await page.get_by_role("checkbox").press("Enter")

    assert await is_open(house, ask.id)


async def test_an_allow_that_comes_at_once_is_refused_and_a_later_one_is_taken(
    still_house: House, clock: FakeClock
) -> None:
    ask = await still_house.desk.post(SIMPLE)
    page = await person(still_house, f"/asks/{ask.id}")

    assert (await pressed(page, "Allow once")).status == 422

    await expect(page.get_by_role("alert")).to_have_text(
        "That was quicker than anybody reads. Look at the call, then decide."
    )
    assert await is_open(still_house, ask.id)
    clock.advance(0.5)
    await button(page, "Allow once").click()
    assert await outcome(still_house, ask.id) == Allowed()
    await expect(page.locator(".ended")).to_contain_text("allowed by ana on page")


async def test_a_long_call_is_opened_first_and_can_then_be_allowed(still_house: House, clock: FakeClock) -> None:
    ask = await still_house.desk.post(LONG)
    page = await person(still_house, f"/asks/{ask.id}")
    await expect(button(page, "Allow once")).to_be_disabled()
    await expect(button(page, "Deny")).to_be_enabled()
    await expect(page.locator(".call")).not_to_contain_text("echo 100")

    await page.get_by_role("button", name="Show what is hidden here").click()

    await expect(page.locator(".call")).to_contain_text("echo 100")
    assert page.url == f"{still_house.server.url}/asks/{ask.id}?all=1"
    clock.advance(0.5)
    await button(page, "Allow once").click()
    assert await outcome(still_house, ask.id) == Allowed()


async def test_a_call_is_changed_checked_shown_and_run(still_house: House, clock: FakeClock) -> None:
    ask = await still_house.desk.post(Permission("Bash", {"command": "rm -rf build"}))
    page = await person(still_house, f"/asks/{ask.id}")
    await page.get_by_text("Allow with changes").click()
    field = page.get_by_label("The input, as JSON")

    await field.fill('{"command":\n  }')
    await button(page, "See what would run").click()
    await expect(page.get_by_role("alert")).to_contain_text(re.compile("line 2,? column 3"))
    await expect(field).to_have_value('{"command":\n  }')
    await field.fill('{"command": "ls"}')
    await button(page, "See what would run").click()

    await expect(page.get_by_role("heading", name="This would run instead")).to_be_visible()
    removed, added = (await page.locator(".call pre").inner_text()).split("\n")
    assert (removed[:3], removed[-14:], added[:3], added[-4:]) == ("│ -", '"rm -rf build"', "│ +", '"ls"')
    await pressed(page, "Allow the changed call, once")
    await expect(page.get_by_role("alert")).to_contain_text("quicker than anybody reads")
    await expect(field).to_have_value('{"command": "ls"}')
    await button(page, "See what would run").click()
    await expect(page.get_by_role("heading", name="This would run instead")).to_be_visible()
    clock.advance(0.5)
    await button(page, "Allow the changed call, once").click()
    assert await outcome(still_house, ask.id) == Allowed('{"command": "ls"}')
    await expect(page.get_by_role("heading", name="What ran instead")).to_be_visible()


async def test_a_rule_is_ticked_and_remembered(still_house: House, clock: FakeClock) -> None:
    permission = Permission("Bash", {"command": "make"}, suggestions=[MAKE])
    ask = await still_house.desk.post(permission)
    page = await person(still_house, f"/asks/{ask.id}")
    await page.get_by_text("Allow, and always from now on").click()
    await page.get_by_role("checkbox", name="Allow without asking, in this project").check()
    clock.advance(0.5)

    await button(page, "Allow, and remember what is ticked").click()

    assert await outcome(still_house, ask.id) == Allowed(remember=permission.suggestions)


DENIALS = {
    "Deny": ("", Denied()),
    "Deny and say why": ("Why not? The agent reads this.", Denied("so\nthere")),
    "Suggest another way": ("What other way do you suggest?", Denied("Another way: so\nthere")),
    "Deny and give this instruction": ("What should the agent do instead?", Denied(redirect="so\nthere")),
    "Deny and stop the agent": ("Why should the agent stop? (may stay empty)", Denied("so\nthere", stop=True)),
}


async def test_a_call_is_denied_in_each_way_and_at_once(house: House) -> None:
    asks = {name: await house.desk.post(SIMPLE) for name in DENIALS}
    page = await person(house, "/")

    for name, (field, denied) in DENIALS.items():
        await page.goto(f"/asks/{asks[name].id}")
        if field:
            await page.get_by_text("Deny, and say something").click()
            await page.get_by_label(field).fill("so\nthere")
        await button(page, name).click()
        assert await outcome(house, asks[name].id) == denied


async def test_who_comes_second_reads_who_was_first_and_keeps_what_they_typed(house: House) -> None:
    ask = await house.desk.post([DATABASE, PARTS])
    page = await person(house, f"/asks/{ask.id}")
    await question(page, 0).get_by_label("Your own words").fill("MariaDB, for\nonce")
    await question(page, 1).get_by_role("checkbox", name="Stores").check()
    await house.desk.settle(ask.id, Answered([Answer(["Postgres"]), None]), by="bo", surface="terminal")

    answer = await pressed(page, "Send")

    assert answer.status == 409
    await expect(page.locator(".ended")).to_contain_text("answered by bo on terminal")
    await expect(page.locator(".chosen bdi")).to_have_text("Postgres")
    await expect(page.locator(".typed")).to_contain_text("Typed by ana")
    await expect(page.locator(".typed")).to_contain_text("MariaDB")
    await expect(page.locator(".typed")).to_contain_text("Stores")
    [(_, typed)] = await draft.all_kept(house.desk.shelf, ask)
    assert isinstance(typed, Draft)
    assert (typed.given[0].own, typed.given[1].picked) == ("MariaDB, for\nonce", (0,))


async def test_words_of_a_decision_that_came_second_are_kept(house: House) -> None:
    ask = await house.desk.post(SIMPLE)
    page = await person(house, f"/asks/{ask.id}")
    await page.get_by_text("Deny, and say something").click()
    await page.get_by_label("Why not? The agent reads this.").fill("because")
    await house.desk.settle(ask.id, Allowed(), by="bo", surface="terminal", digest=SIMPLE.digest)

    assert (await pressed(page, "Deny and say why")).status == 409

    await expect(page.locator(".ended")).to_contain_text("allowed by bo on terminal")
    await expect(page.locator(".typed .said")).to_have_text("because")


async def test_the_list_is_ordered_and_filtered_with_a_button(house: House) -> None:
    await house.desk.post(DATABASE, asker=Asker("builder", project="/srv/shop"))
    await house.desk.post(SIMPLE, asker=Asker("cleaner", project="/srv/web"))
    await house.desk.post(NAME, asker=Asker("builder", project="/srv/web"))
    page = await person(house, "/")
    subjects = page.locator("#list .subject bdi")
    await expect(subjects).to_have_text([DATABASE.text, "Bash: rm -rf build && make", NAME.text])

    await page.get_by_label("First").select_option("newest")
    await page.get_by_label("Agent").select_option("builder")
    await button(page, "Show").click()
    await expect(subjects).to_have_text([NAME.text, DATABASE.text])
    await page.get_by_label("Project").select_option("/srv/shop")
    await button(page, "Show").click()
    await expect(subjects).to_have_text([DATABASE.text])

    await page.locator("#list li a").click()
    await expect(page.locator("legend")).to_contain_text(DATABASE.text)
    await expect(subjects).to_have_text([DATABASE.text])  # the filter goes along


async def test_what_was_settled_is_searched(house: House) -> None:
    first = await house.desk.post(DATABASE)
    await house.desk.settle(first.id, Answered([Answer(["Postgres"])]), by="bo", surface="terminal")
    second = await house.desk.post(SIMPLE)
    await house.desk.settle(second.id, Denied("no"), by="ana", surface="terminal")
    page = await person(house, "/")
    await page.get_by_role("link", name="Settled").click()
    subjects = page.locator(".history .subject bdi")
    await expect(subjects).to_have_text(["Bash: rm -rf build && make", DATABASE.text])

    await page.get_by_label("Search").fill("database")
    await page.get_by_label("Search").press("Enter")
    await expect(subjects).to_have_text([DATABASE.text])
    await page.get_by_label("Search").fill("")
    await page.get_by_label("Outcome").select_option("denied")
    await button(page, "Find").click()
    await expect(subjects).to_have_text(["Bash: rm -rf build && make"])


async def test_the_language_is_changed_and_changed_back_where_one_is(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await person(house, f"/asks/{ask.id}")

    await button(page, "Español").click()
    await expect(button(page, "Enviar")).to_be_visible()
    await expect(page.locator("html")).to_have_attribute("lang", "es")
    assert page.url == f"{house.server.url}/asks/{ask.id}"
    await button(page, "English").click()
    await expect(button(page, "Send")).to_be_visible()


async def test_help_is_a_page_and_signing_out_is_a_button(house: House) -> None:
    page = await person(house, "/")
    await page.get_by_role("link", name="Keys").click()
    await expect(page.get_by_text("No key sends anything: only the buttons do.")).to_be_visible()
    await expect(page.get_by_role("checkbox")).to_have_count(0)  # what turns keys on and off needs the script

    await button(page, "Sign out").click()

    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    await page.goto("/")
    await expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
