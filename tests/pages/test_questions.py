"""Questions of every kind, answered on the page: choosing is never sending, and nothing typed is lost."""

from typing import Any

import pytest
from playwright.async_api import Page, expect
from tests.pages.house import COUNT, DATABASE, NAME, PARTS, PHONE, House, button, follow, press

from askdesk.core.model import Answer, Answered, Asker, Declined, Outcome, Question
from askdesk.surfaces import draft
from askdesk.surfaces.draft import Draft
from askdesk.surfaces.form import Given

pytestmark = pytest.mark.anyio

ALL = (DATABASE, PARTS, NAME, COUNT)
TYPED = "".join(f"line {n}: «own words», \U0001f600 & <b>\n" for n in range(80))  # two kilobytes


def question(page: Page, number: int) -> Any:
    return page.locator(f"#q{number}")


async def outcome(house: House, ask_id: str) -> Outcome:
    settlement = await house.desk.wait(ask_id, timeout=30)
    assert settlement is not None
    assert (settlement.by, settlement.surface) == ("ana", "page")
    return settlement.outcome


async def kept(house: House, ask_id: str, by: str = "ana") -> Draft | None:
    return await draft.kept(house.desk.shelf, (await house.desk.get(ask_id)).ask, by)


async def test_one_question_is_answered_with_a_choice_and_a_note(house: House) -> None:
    ask = await house.desk.post(DATABASE, asker=Asker("builder", project="/srv/shop"))
    page = await house.person("ana", f"/asks/{ask.id}")
    await expect(page.locator("#ask header")).to_contain_text("builder asks in /srv/shop · ")
    await expect(page.locator(".card")).to_have_text(
        ["1 SQLite agent recommends One file, nothing to run.", "2 Postgres A server of its own.", "Other"]
    )

    await page.get_by_role("radio", name="Postgres").check()
    await page.get_by_text("Add a note").click()
    await page.get_by_label("Note for question 1").fill("we know it")
    await press(page, "Send")

    assert await outcome(house, ask.id) == Answered([Answer(["Postgres"], note="we know it")])
    await expect(page.locator(".ended")).to_contain_text("answered by ana on page")
    assert page.url == f"{house.server.url}/asks/{ask.id}"
    assert await kept(house, ask.id) is None


async def test_every_kind_of_question_stands_on_one_page_and_is_answered_there(house: House) -> None:
    ask = await house.desk.post(ALL)
    page = await house.person("ana", f"/asks/{ask.id}")
    await expect(page.locator("fieldset:visible")).to_have_count(4)

    await question(page, 0).get_by_label("Your own words").fill("MariaDB")
    await expect(question(page, 0).get_by_role("radio", name="Other")).to_be_checked()
    await question(page, 1).get_by_role("checkbox", name="Adapters").check()
    await question(page, 1).get_by_role("checkbox", name="Stores").check()
    await question(page, 1).get_by_label("Other").fill("the docs")
    await question(page, 2).get_by_role("radio", name="The agent suggests: askdesk").check()
    await question(page, 3).get_by_label("Your number. A number from 1 to 8.").fill(" 4 ")
    await press(page, "Send")

    assert await outcome(house, ask.id) == Answered(
        [
            Answer(other="MariaDB"),
            Answer(["Stores", "Adapters"], other="the docs", multi_select=True),
            Answer(other="askdesk"),
            Answer(other="4"),
        ]
    )


async def test_own_words_stay_when_something_else_is_chosen(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")

    await page.get_by_label("Your own words").fill("MariaDB")
    await page.get_by_role("radio", name="SQLite").check()
    await expect(page.get_by_label("Your own words")).to_have_value("MariaDB")
    await expect(page.locator("[data-kept]")).to_have_text("Draft kept")
    await press(page, "Send")

    assert await outcome(house, ask.id) == Answered([Answer(["SQLite (Recommended)"])])


async def test_a_number_that_does_not_fit_is_explained_beside_it_and_everything_stays(house: House) -> None:
    ask = await house.desk.post([NAME, COUNT])
    page = await house.person("ana", f"/asks/{ask.id}", locale="es")
    await question(page, 0).get_by_label("Tus propias palabras").fill("mesa")
    number = page.get_by_label("Tu número. Un número de 1 a 8.")

    await number.fill("nine")
    await press(page, "Enviar")

    said = "«nine» no encaja aquí. Un número de 1 a 8."
    await expect(page.get_by_role("alert")).to_have_text(said)
    await expect(number).to_have_value("nine")
    await expect(number).to_have_attribute("aria-invalid", "true")
    await expect(number).to_have_accessible_description(said)
    await expect(question(page, 0).get_by_label("Tus propias palabras")).to_have_value("mesa")
    await number.fill("8")
    await press(page, "Enviar")
    assert await outcome(house, ask.id) == Answered([Answer(other="mesa"), Answer(other="8")])


async def test_blanks_are_named_before_anything_is_sent(house: House) -> None:
    ask = await house.desk.post(ALL)
    page = await house.person("ana", f"/asks/{ask.id}")
    await question(page, 0).get_by_role("radio", name="Postgres").check()
    await question(page, 2).get_by_role("radio", name="My own answer").check()  # and no words

    await press(page, "Send")

    await expect(page.get_by_role("alert").locator("p, li")).to_have_text(
        [
            "Blank: 3 of 4. They are sent as blanks.",
            *("Which parts should be tested?", "What should it be called?", "How many workers?"),
        ]
    )
    assert (await house.desk.get(ask.id)).settlement is None
    await press(page, "Change my answers")
    await question(page, 3).get_by_label("Your number").fill("2")
    await press(page, "Review")
    await expect(page.locator(".answers dd")).to_have_text(["Postgres", "(blank)", "(blank)", '"2"'])
    await press(page, "Send, leaving 2 blank")
    assert await outcome(house, ask.id) == Answered([Answer(["Postgres"]), None, None, Answer(other="2")])


async def test_blank_everywhere_is_not_an_answer(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")

    await press(page, "Send")

    await expect(page.get_by_role("alert")).to_have_text(
        "Every question is still blank. Answer at least one, or decline."
    )
    assert (await house.desk.get(ask.id)).settlement is None


async def test_on_a_phone_questions_come_one_after_the_other_and_then_the_review(house: House) -> None:
    ask = await house.desk.post(ALL)
    page = await house.person("ana", f"/asks/{ask.id}", **PHONE)
    await expect(page.locator("fieldset:visible legend")).to_contain_text("Question 1 of 4")
    await expect(button(page, "Send")).to_be_hidden()

    await page.get_by_role("radio", name="Postgres").check()
    await button(page, "Next").click()
    await page.get_by_role("checkbox", name="Surfaces").check()
    await button(page, "Next").click()
    await expect(page.locator("fieldset:visible legend")).to_contain_text("Question 3 of 4")
    await button(page, "Back").click()
    await expect(page.get_by_role("checkbox", name="Surfaces")).to_be_checked()
    await button(page, "Next").click()
    await button(page, "Next").click()
    await expect(button(page, "Next")).to_be_hidden()
    await page.get_by_label("Your number").fill("9")
    await press(page, "Review")
    await expect(page.locator("fieldset:visible .flaw")).to_have_text("“9” does not fit here. A number from 1 to 8.")
    await page.get_by_label("Your number").fill("3")
    await press(page, "Review")
    await press(page, "Send, leaving 1 blank")

    assert await outcome(house, ask.id) == Answered(
        [Answer(["Postgres"]), Answer(["Surfaces"], multi_select=True), None, Answer(other="3")]
    )


@pytest.mark.parametrize(("name", "stop"), [("Decline to answer", False), ("Decline, and stop the agent", True)])
async def test_to_decline_is_to_say_something_instead_and_what_was_chosen_goes_along(
    house: House, name: str, stop: bool
) -> None:
    ask = await house.desk.post([DATABASE, PARTS])
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_role("checkbox", name="Stores").check()

    await page.get_by_text("Decline, or say something instead").click()
    await page.get_by_label("What you would rather say").fill("Ask me\ntomorrow")
    await press(page, name)

    so_far = (None, Answer(["Stores"], multi_select=True))
    assert await outcome(house, ask.id) == Declined("Ask me\ntomorrow", so_far, stop)
    await expect(page.locator(".ended")).to_contain_text("declined by ana on page")


async def test_a_draft_begun_on_the_phone_is_finished_at_the_desk(house: House) -> None:
    ask = await house.desk.post([DATABASE, PARTS])
    phone = await house.person("ana", f"/asks/{ask.id}", **PHONE)
    await phone.get_by_label("Your own words").fill(TYPED)
    await expect(phone.locator("[data-kept]")).to_have_text("Draft kept")
    await button(phone, "Next").click()
    await phone.get_by_role("checkbox", name="Adapters").check()
    await phone.get_by_text("Decline, or say something instead").click()
    await phone.get_by_label("What you would rather say").fill("or else")
    await phone.get_by_text("Add a note").locator("visible=true").click()
    await phone.get_by_label("Note for question 2").fill("hm")
    await phone.goto("/")  # at once: leaving keeps it

    desk = await house.person("ana", f"/asks/{ask.id}")
    await expect(desk.locator(".notice")).to_have_text("Your draft is back.")
    assert await kept(house, ask.id) == Draft(
        v=1, given=(Given((), TYPED, True), Given((2,), note="hm")), message="or else"
    )
    await expect(desk.get_by_label("Your own words")).to_have_value(TYPED)
    await expect(desk.get_by_role("checkbox", name="Adapters")).to_be_checked()
    await expect(desk.get_by_label("Note for question 2")).to_have_value("hm")
    await press(desk, "Send")
    assert await outcome(house, ask.id) == Answered(
        [Answer(other=TYPED), Answer(["Adapters"], note="hm", multi_select=True)]
    )


async def test_a_draft_of_another_surface_is_on_the_page_and_nobody_else_sees_it(house: House) -> None:
    ask = await house.desk.post([DATABASE, NAME])
    typed = Draft(v=1, given=(Given((1,), "not this", note="why"), Given(taken=True, own="nor this")))
    await draft.keep(house.desk.shelf, ask, "ana", typed)

    page = await house.person("ana", f"/asks/{ask.id}")
    await expect(page.get_by_role("radio", name="Postgres")).to_be_checked()
    await expect(page.get_by_role("radio", name="The agent suggests: askdesk")).to_be_checked()
    await expect(question(page, 0).get_by_label("Your own words")).to_have_value("not this")
    await expect(page.get_by_label("Note for question 1")).to_have_value("why")
    other = await house.person("bo", f"/asks/{ask.id}")
    await expect(other.locator("input:checked")).to_have_count(0)
    await press(page, "Send")

    assert await outcome(house, ask.id) == Answered([Answer(["Postgres"], note="why"), Answer(other="askdesk")])


async def test_what_was_typed_survives_escape_another_choice_and_a_reload(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")
    words = page.get_by_label("Your own words")

    await words.fill(TYPED)
    await page.keyboard.press("Escape")
    await page.get_by_role("radio", name="SQLite").check()
    await page.reload()

    await expect(words).to_have_value(TYPED)
    await expect(page.get_by_role("radio", name="SQLite")).to_be_checked()
    await follow(page, "Español")
    await expect(page.get_by_label("Tus propias palabras")).to_have_value(TYPED)


KEYS = [
    "Enter",
    "Space",
    "1",
    "Enter",
    "y",
    "a",
    "d",
    "ArrowDown",
    "Enter",
    "Space",
    "j",
    "k",
    "n",
    "Escape",
    "?",
    "Escape",
    "s",
    "Backspace",
    "2",
    "Enter",
]


async def test_two_hundred_keys_before_and_after_the_page_is_there_send_nothing(house: House) -> None:
    ask = await house.desk.post([DATABASE, COUNT])
    page = await house.person()

    await page.goto(f"/asks/{ask.id}", wait_until="commit")
    for key in KEYS * 10:
        await page.keyboard.press(key)

    assert (await house.desk.get(ask.id)).settlement is None


async def test_enter_on_a_choice_or_in_a_number_sends_nothing(house: House) -> None:
    ask = await house.desk.post([DATABASE, COUNT])
    page = await house.person("ana", f"/asks/{ask.id}")
    await expect(button(page, "Send")).to_be_enabled()
    seen: list[str] = []
    page.on("request", lambda request: seen.append(request.method) if request.is_navigation_request() else None)

    await page.keyboard.press("1")
    await page.keyboard.press("Enter")
    await page.get_by_label("Your number").fill("3")
    await page.keyboard.press("Enter")
    await expect(page.locator("[data-kept]")).to_have_text("Draft kept")

    assert (await house.desk.get(ask.id)).settlement is None
    assert seen == []


async def test_nothing_can_be_sent_before_half_a_second_has_passed(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person()
    await page.add_init_script(
        """addEventListener("DOMContentLoaded", () => {
             const buttons = [...document.querySelectorAll("#answer button:not([hidden], [type=button])")];
             window.early = buttons.map(button => button.disabled);
             document.querySelector("#answer [value=decline]")?.click();
           })"""
    )

    await page.goto(f"/asks/{ask.id}")

    assert await page.evaluate("window.early") == [True] * 4
    await expect(button(page, "Send")).to_be_enabled()
    assert (await house.desk.get(ask.id)).settlement is None


async def test_a_double_click_sends_once_and_back_shows_how_it_ended(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    await page.get_by_role("radio", name="Postgres").check()
    await expect(page.locator("[data-kept]")).to_have_text("Draft kept")
    sent.clear()

    await button(page, "Send").dblclick()

    await expect(page.locator(".ended")).to_contain_text("answered by ana on page")
    assert sent == [f"{house.server.url}/asks/{ask.id}"]
    await page.goto("/")
    await page.go_back()
    await expect(page.locator(".ended")).to_contain_text("answered by ana on page")
    assert await outcome(house, ask.id) == Answered([Answer(["Postgres"])])


async def test_what_is_sent_changes_the_ask_and_nothing_around_it(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.evaluate("window.isTheSame = true")
    await page.get_by_role("radio", name="Postgres").check()
    await press(page, "Send")
    await expect(page.locator(".ended")).to_contain_text("answered by ana on page")
    await expect(page.locator(".count")).to_have_text("0")
    assert (page.url, await page.evaluate("window.isTheSame")) == (f"{house.server.url}/asks/{ask.id}", True)


async def test_what_is_sent_into_the_void_stays_on_the_page_and_can_be_sent_again(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_role("radio", name="Postgres").check()
    await page.route(f"**/asks/{ask.id}", lambda route: route.abort())
    await button(page, "Send").click()
    await expect(page.locator("#told")).to_have_text(
        "Not sent: the desk is out of reach. What you filled in is still here."
    )
    await expect(page.get_by_role("radio", name="Postgres")).to_be_checked()
    await page.unroute(f"**/asks/{ask.id}")
    await press(page, "Send")
    assert await outcome(house, ask.id) == Answered([Answer(["Postgres"])])


async def test_of_two_tabs_that_send_one_settles_and_the_other_says_so(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    first = await house.person("ana", f"/asks/{ask.id}")
    second = await first.context.new_page()
    await second.goto(f"/asks/{ask.id}")
    await second.route("**/events", lambda route: route.abort())  # it hears of nothing
    await second.route("**/fragments/**", lambda route: route.abort())
    await second.reload()
    await first.get_by_role("radio", name="Postgres").check()
    await second.get_by_label("Your own words").fill("neither")

    await press(first, "Send")
    await second.bring_to_front()
    await expect(first.locator(".ended")).to_contain_text("answered by ana on page")
    await press(second, "Send")

    await expect(second.locator(".ended")).to_contain_text("answered by ana on page")
    await expect(second.locator(".typed")).to_have_text(
        'Typed by ana, not sent Which database should it use?: "neither"'
    )
    assert await outcome(house, ask.id) == Answered([Answer(["Postgres"])])


async def test_the_very_same_form_sent_twice_is_one_answer(house: House) -> None:
    ask = await house.desk.post(DATABASE)
    page = await house.person("ana", f"/asks/{ask.id}")
    await page.get_by_role("radio", name="Postgres").check()

    statuses = await page.evaluate(
        """async () => {
             const form = document.querySelector("#answer"), body = new URLSearchParams(new FormData(form));
             body.set("action", "send");
             const send = () => fetch(location.href, { method: "POST", body });
             const answers = await Promise.all([send(), send(), send()]);
             return answers.map(answer => [answer.status, answer.redirected]);
           }"""
    )

    assert statuses == [[200, True]] * 3
    assert await outcome(house, ask.id) == Answered([Answer(["Postgres"])])


async def test_digits_choose_for_the_first_question_that_is_blank_and_where_the_focus_is(house: House) -> None:
    several = Question("Which of these?", ["one", "two", "three"], multi_select=True)
    ask = await house.desk.post([DATABASE, several])
    page = await house.person("ana", f"/asks/{ask.id}")

    for key in "213":
        await page.keyboard.press(key)
    await expect(page.locator("input:checked")).to_have_count(1)
    await expect(page.get_by_role("radio", name="SQLite")).to_be_checked()  # 3 is no option of it
    await page.get_by_role("checkbox", name="two").focus()
    for key in "3213":
        await page.keyboard.press(key)

    await expect(page.locator("#q1 input:checked")).to_have_count(2)
    await press(page, "Send")
    assert await outcome(house, ask.id) == Answered(
        [Answer(["SQLite (Recommended)"]), Answer(["one", "two"], multi_select=True)]
    )
