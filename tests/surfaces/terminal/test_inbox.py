"""What each key does to the inbox: no terminal, no desk."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Entry,
    Expired,
    Outcome,
    Permission,
    Question,
    Questions,
    Reply,
    Settlement,
)
from askdesk.core.text import Shown
from askdesk.surfaces.recommended import recommended
from askdesk.surfaces.snooze import end_of
from askdesk.surfaces.terminal.field import Edit
from askdesk.surfaces.terminal.inbox import Inbox, Open, Read, Settle, Snoozed, Wish
from askdesk.surfaces.terminal.inbox_view import picture
from askdesk.surfaces.terminal.started import started
from askdesk.surfaces.terminal.view import Size
from askdesk.surfaces.texts import say
from askdesk.testing.clock import NOON


def question(number: int, *options: str) -> Entry:
    questions = Questions([Question(f"Question {number}?", options or ("Yes (Recommended)", "No"))])
    return Entry(Ask(f"a{number}", questions, Asker("builder"), NOON + timedelta(seconds=number)))


def permission(number: int) -> Entry:
    return Entry(Ask(f"a{number}", Permission("Bash", {"command": "ls"}), Asker("builder"), NOON))


def settled(entry: Entry, outcome: Outcome | None = None, by: str = "ana") -> Entry:
    return Entry(entry.ask, Settlement(outcome or Declined(), NOON, "s1", by, "web" if by else ""))


USUAL = Size(80, 24)
ONE, TWO, THREE = question(1), question(2), question(3)
BASH = permission(4)


def inbox(*entries: Entry, size: Size = USUAL) -> Inbox:
    return Inbox(NOON, size).entered(entries)


def looked(here: Inbox) -> Inbox:
    """The inbox after it was on the screen."""
    return here.looked(picture(here))


def pressed(start: Inbox, *keys: str) -> Inbox | Wish | None:
    """What has come of the inbox after these keys, each of them pressed on what was seen."""
    step: Inbox | Wish | None = start
    for key in keys:
        assert isinstance(step, Inbox), f"it ended before {key!r}, with {step}"
        step = step.press(key)
        if isinstance(step, Inbox):
            step = looked(step)
    return step


def going_on(start: Inbox, *keys: str) -> Inbox:
    step = pressed(start, *keys)
    assert isinstance(step, Inbox), step
    return step


def opened(start: Inbox, entry: Entry) -> Inbox:
    return looked(start.opened(started(entry.ask, start.size, None)))


def ids(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.ask.id for entry in entries]


def test_open_asks_stand_in_the_order_they_came_and_the_first_has_the_focus() -> None:
    start = inbox(THREE, ONE, TWO)

    assert ids(start.visible) == ["a1", "a2", "a3"]
    assert (start.at, start.focused) == ("a1", ONE)


def test_an_empty_inbox_does_nothing_but_leave() -> None:
    start = inbox()

    for key in ("enter", "up", "down", "end", " ", "r", "d", "s", "z", "a", "pagedown", "ctrl+n"):
        assert going_on(start, key).focused is None
        assert going_on(start, key).mode == "list"
    assert pressed(start, "q") is None
    assert pressed(start, "escape") is None


@pytest.mark.parametrize(
    ("keys", "at"),
    [
        (["down"], "a2"),
        (["j", "j"], "a3"),
        (["down"] * 9, "a3"),
        (["end", "up"], "a2"),
        (["end", "k", "home"], "a1"),
        (["up"], "a1"),
        (["pagedown"], "a3"),
        (["end", "pageup"], "a1"),
        (["wheel:down"], "a3"),
        (["end", "wheel:up"], "a1"),
        (["row:a3"], "a3"),
    ],
)
def test_keys_move_the_focus_and_stop_at_the_ends(keys: list[str], at: str) -> None:
    assert going_on(inbox(ONE, TWO, THREE), *keys).at == at


def test_enter_or_a_second_click_opens_an_ask() -> None:
    start = inbox(ONE, TWO)

    assert pressed(start, "down", "enter") == Open(TWO.ask)
    assert pressed(start, "row:a2", "row:a2") == Open(TWO.ask)


def test_a_new_ask_comes_last_and_moves_nothing() -> None:
    start = going_on(inbox(ONE, THREE), "end")
    after = start.entered([TWO])

    assert (ids(after.visible), after.at) == (["a1", "a3", "a2"], "a3")


def test_where_the_ask_with_the_focus_was_settled_elsewhere_its_place_keeps_the_focus() -> None:
    start = going_on(inbox(ONE, TWO, THREE), "down")

    assert start.entered([settled(TWO)]).at == "a3"
    assert going_on(start, "end").entered([settled(THREE)]).at == "a2"
    assert inbox(ONE).entered([settled(ONE)]).at == ""


def test_an_ask_told_of_twice_is_there_once() -> None:
    assert inbox(ONE, ONE).entered([ONE]).open == (ONE,)


def test_an_ask_that_was_settled_before_it_was_known_is_not_open() -> None:
    assert inbox(settled(ONE), TWO).open == (TWO,)


def test_marks_are_set_and_taken_away_and_go_with_the_ask() -> None:
    start = going_on(inbox(ONE, TWO, THREE), " ", " ")
    assert (start.marked, start.at) == (frozenset({"a1", "a2"}), "a3")

    assert going_on(start, "home", " ").marked == {"a2"}
    assert going_on(start, "a").marked == {"a1", "a2", "a3"}
    assert going_on(start, "a", "a").marked == frozenset()
    assert start.entered([settled(ONE)]).marked == {"a2"}


def test_declining_takes_a_reason_and_denies_permissions() -> None:
    start = going_on(inbox(ONE, BASH, TWO), "a", "d")
    assert start.mode == "decline"

    wish = pressed(start.paste("not now "), "enter")
    assert wish == Settle(
        ((BASH.ask, Denied("not now")), (ONE.ask, Declined("not now")), (TWO.ask, Declined("not now")))
    )


def test_declining_without_a_mark_means_the_ask_with_the_focus() -> None:
    assert pressed(inbox(ONE, TWO), "down", "d", "n", "o", "enter") == Settle(((TWO.ask, Declined("no")),))
    assert pressed(inbox(ONE), "d", "enter") == Settle(((ONE.ask, Declined()),))


@pytest.mark.parametrize("keys", [["d"], [" ", "home", "d"]])
def test_what_is_declined_is_what_the_person_chose_although_it_is_settled_meanwhile(keys: list[str]) -> None:
    declining = going_on(inbox(ONE, TWO), *keys, "n", "o").entered([settled(ONE)])
    step = pressed(declining, "enter")

    assert isinstance(step, Inbox) or step == Settle(((ONE.ask, Declined("no")),))


def test_in_the_reason_letters_are_letters_and_escape_declines_nothing() -> None:
    start = going_on(inbox(ONE), "d", *"d s q r?", "ctrl+j", "x")

    assert start.field.text == "d s q r?\nx"
    assert going_on(start, "escape").mode == "list"


def test_the_reason_for_declining_comes_back_after_escape() -> None:
    assert going_on(inbox(ONE), "d", *"because", "escape", "d").field.text == "because"


@pytest.mark.parametrize(
    ("keys", "until"),
    [
        ([], NOON + timedelta(minutes=10)),
        (["down"], NOON + timedelta(hours=1)),
        (["3"], NOON + timedelta(hours=4)),
        (["up", "up"], end_of("tomorrow", NOON)),
        (["5"], None),
        (["row:4h"], NOON + timedelta(hours=4)),
    ],
)
def test_a_snooze_lasts_as_long_as_its_row_says(keys: list[str], until: object) -> None:
    assert pressed(inbox(ONE, TWO), "s", *keys, "enter") == Snoozed(("a1",), until)  # type: ignore[arg-type]


def test_a_second_click_on_a_snooze_takes_it_and_escape_takes_none() -> None:
    assert pressed(inbox(ONE), "s", "row:1h", "row:1h") == Snoozed(("a1",), NOON + timedelta(hours=1))
    assert going_on(inbox(ONE), "s", "escape").mode == "list"


def test_what_is_snoozed_is_out_of_sight_until_its_time_has_come() -> None:
    start = inbox(ONE, TWO, THREE)
    after = start.snoozed(Snoozed(("a1", "a3"), NOON + timedelta(minutes=10)))

    assert (ids(after.visible), after.hidden, after.at, after.mode) == (["a2"], 2, "a2", "list")
    assert ids(going_on(after, "z").visible) == ["a1", "a2", "a3"]
    assert ids(after.ticked(NOON + timedelta(minutes=10)).visible) == ["a1", "a2", "a3"]
    assert ids(after.snoozed(Snoozed(("a1",), None)).visible) == ["a1", "a2"]


def test_tomorrow_begins_at_nine_on_this_machine() -> None:
    local = end_of("tomorrow", NOON).astimezone()

    assert (local.hour, local.minute, local.second) == (9, 0, 0)
    assert local.date() == (NOON.astimezone() + timedelta(days=1)).date()


def test_recommendations_are_followed_only_from_the_row_that_says_so_after_the_list_was_seen() -> None:
    start = going_on(inbox(ONE, TWO, BASH), "r")
    yes = Answered([Answer(["Yes (Recommended)"])])
    assert (start.mode, start.row) == ("recommended", "")
    assert start.proposed == ((BASH.ask, None), (ONE.ask, yes), (TWO.ask, yes))

    assert going_on(start, "enter").said == say("inbox.choose_first")
    for key in (" ", "y", "1", "r", "s", "d", "a", "q", "z"):
        assert going_on(start, key).mode == "recommended"
    assert pressed(start, "tab", "enter") == Settle(((ONE.ask, yes), (TWO.ask, yes)))
    assert pressed(start, "row:send", "row:send") == Settle(((ONE.ask, yes), (TWO.ask, yes)))


def test_a_list_of_recommendations_that_was_not_seen_is_not_sent() -> None:
    step = inbox(*map(question, range(1, 100))).press("r")
    assert isinstance(step, Inbox)
    step = step.press("tab")
    assert isinstance(step, Inbox)

    assert step.press("enter") == step.told(say("inbox.unseen", count=99))


def test_a_long_list_of_recommendations_is_sent_after_it_was_read_to_its_end() -> None:
    start = going_on(inbox(*map(question, range(1, 100))), "r", "tab")
    refused = going_on(start, "enter")
    assert refused.said == say("inbox.unseen", count=refused.passage.unseen)

    reading = refused
    while not reading.passage.is_seen:
        reading = going_on(reading, "pagedown")
    wish = pressed(reading, "enter")
    assert isinstance(wish, Settle)
    assert len(wish.replies) == 99


def test_leaving_the_list_of_recommendations_sends_nothing() -> None:
    start = going_on(inbox(ONE), "r")

    for keys in (["escape"], ["tab", "tab", "enter"], ["row:back", "row:back"]):
        assert going_on(start, *keys).mode == "list"


def test_with_marks_only_what_is_marked_is_recommended() -> None:
    start = going_on(inbox(ONE, TWO, THREE), "down", " ", "r")

    assert [ask.id for ask, _ in start.proposed] == ["a2"]


def test_what_comes_while_the_recommendations_are_listed_is_not_sent_with_them() -> None:
    yes = Answered([Answer(["Yes (Recommended)"])])
    listed = going_on(inbox(ONE, TWO).snoozed(Snoozed(("a1",), NOON + timedelta(minutes=10))), "r")
    after = listed.entered([THREE]).ticked(NOON + timedelta(hours=1))

    assert pressed(after, "tab", "enter") == Settle(((TWO.ask, yes),))


def test_when_the_marked_asks_are_settled_elsewhere_their_recommendations_do_not_become_those_of_all() -> None:
    listed = going_on(inbox(ONE, TWO, THREE), " ", "r")
    step = pressed(listed.entered([settled(ONE)]), "tab", "enter")

    assert not isinstance(step, Settle) or [ask.id for ask, _ in step.replies] == ["a1"]


def test_where_nothing_is_recommended_nothing_is_sent() -> None:
    start = going_on(inbox(question(1, "A", "B"), BASH), "r", "tab")

    assert going_on(start, "enter") == start.told(say("inbox.none_recommended"))


SEVERAL = Question("Parts?", ["A (Recommended)", "B", "C (recommended)"], multi_select=True)
UNDECIDED = Question("One?", ["A (Recommended)", "B (Recommended)"])
PLAIN = Question("Which?", ["A", "B"])
TEXT = Question("Name?", kind="text", default="x")


@pytest.mark.parametrize(
    ("questions", "reply"),
    [
        ([SEVERAL], Answered([Answer(["A (Recommended)", "C (recommended)"], multi_select=True)])),
        ([UNDECIDED], None),
        ([PLAIN], None),
        ([TEXT], None),
        ([SEVERAL, PLAIN], None),
    ],
)
def test_a_recommendation_is_there_only_where_it_answers_everything(
    questions: list[Question], reply: Answered | None
) -> None:
    assert recommended(Ask("a1", Questions(questions), Asker(), NOON)) == reply


def test_a_permission_is_never_answered_by_a_recommendation() -> None:
    assert recommended(BASH.ask) is None


def test_an_open_ask_takes_the_keys_and_its_reply_is_sent() -> None:
    start = opened(inbox(ONE, TWO), ONE)

    assert (start.mode, start.subject) == ("ask", "a1")
    assert pressed(start, "2") == Settle(((ONE.ask, Answered([Answer(["No"])])),))
    assert pressed(opened(inbox(BASH), BASH), "d", "enter") == Settle(((BASH.ask, Denied()),))
    assert pressed(opened(inbox(BASH), BASH), "y", "enter") == Settle(((BASH.ask, Allowed()),))


def test_an_ask_in_which_nothing_was_touched_is_left_at_once_and_another_only_after_it_was_asked() -> None:
    start = opened(inbox(ONE), ONE)
    assert going_on(start, "escape") == inbox(ONE)

    touched = going_on(start, " ")
    asking = going_on(touched, "escape")
    assert asking.mode == "ask"
    left = going_on(asking, "2", "enter")
    assert (left.mode, left.dialog, left.open) == ("list", None, (ONE,))


def test_the_next_ask_can_be_opened_without_answering_this_one() -> None:
    start = inbox(ONE, TWO, THREE)

    assert pressed(opened(start, ONE), "ctrl+n") == Open(TWO.ask)
    assert pressed(opened(start, ONE), "ctrl+p") == Open(THREE.ask)
    alone = opened(inbox(ONE), ONE)
    assert going_on(alone, "ctrl+n") == alone.told(say("inbox.only_one"))


def test_an_open_ask_that_somebody_else_settles_closes_and_says_who_and_where() -> None:
    start = going_on(opened(inbox(ONE, TWO), ONE), "down", "down", *"my words")
    after = start.entered([settled(ONE)])

    assert (after.mode, after.dialog, after.at, after.subject) == ("list", None, "a2", "")
    assert after.said == "Closed: declined by ana on web. What you typed is kept."
    expired = start.entered([settled(ONE, Expired(), by="")])
    assert expired.said == "Closed: expired. What you typed is kept."


def test_an_open_ask_stays_when_another_one_is_settled() -> None:
    start = going_on(opened(inbox(ONE, TWO), ONE), " ")

    assert start.entered([settled(TWO)]).dialog == start.dialog


def test_a_wish_for_the_editor_is_passed_on() -> None:
    start = going_on(opened(inbox(BASH), BASH), "row:message", "enter", *"no")

    assert pressed(start, "ctrl+g") == Edit("no")


def test_settled_asks_are_read_and_nothing_can_be_done_to_them() -> None:
    done = settled(ONE)
    start = going_on(inbox(TWO), "tab").back([done])

    assert (start.visible, start.at, start.look_back) == ((done,), "a1", True)
    assert pressed(start, "enter") == Read(done)
    for key in ("d", "s", "r", " ", "a", "z"):
        assert going_on(start, key) == start
    assert going_on(start, "tab").visible == (TWO,)


def test_what_is_read_scrolls_and_is_left() -> None:
    start = inbox(ONE).reading(Shown(f"line {number}") for number in range(100))

    assert (start.mode, going_on(start, "end").passage.bottom) == ("read", 100)
    for key in ("escape", "enter", "q"):
        assert going_on(start, key).mode == "list"
    assert going_on(start, "x", "d").mode == "read"


def test_more_settled_asks_are_wanted_near_the_end_of_those_that_are_known() -> None:
    known = [settled(question(number)) for number in range(100)]
    start = going_on(inbox(ONE), "tab")
    assert start.wants_more

    start = start.back(known)
    assert not start.wants_more
    assert going_on(start, "end").wants_more
    assert not going_on(start, "end").back([settled(question(number)) for number in range(90, 200)]).wants_more
    assert len(start.back(known).settled) == 100


def test_what_is_settled_while_one_looks_back_comes_first() -> None:
    start = going_on(inbox(ONE, TWO), "tab").back([settled(THREE)])

    assert ids(start.entered([settled(ONE)]).visible) == ["a1", "a3"]


def test_help_is_left_with_any_key() -> None:
    assert going_on(inbox(ONE), "?").mode == "help"
    assert going_on(inbox(ONE), "?", "d") == inbox(ONE)


def test_what_was_sent_here_is_counted_and_said() -> None:
    after = going_on(inbox(ONE, TWO), "a").settled_here(2, Shown("2 sent."), set())

    assert (after.sent, after.said, after.marked, after.mode) == (2, "2 sent.", frozenset(), "list")


def test_resizing_keeps_everything() -> None:
    start = going_on(opened(inbox(ONE, TWO), TWO), "down", "down", *"words").resized(Size(80, 24))

    assert start.resized(Size(40, 12)).resized(Size(80, 24)) == start


def test_the_subject_changes_with_what_the_person_looks_at_so_that_keys_meant_for_one_do_not_reach_another() -> None:
    start = inbox(ONE, TWO)

    assert start.subject == going_on(start, "down").subject == ""
    assert opened(start, ONE).subject == "a1"
    assert going_on(start, "r").subject == "recommended"


def test_a_thousand_asks_are_moved_through() -> None:
    start = inbox(*map(question, range(1, 1001)))

    assert going_on(start, *["down"] * 200, *["pagedown"] * 10).at == "a381"


KEYS = [
    "up",
    "down",
    "end",
    "home",
    "enter",
    "escape",
    "tab",
    " ",
    "a",
    "r",
    "d",
    "s",
    "z",
    "q",
    "?",
    "x",
    "1",
    "2",
    "5",
]
KEYS += ["ctrl+n", "ctrl+g", "ctrl+j", "backspace", "pagedown", "wheel:up"]
CLICKS = st.integers(0, 9)  # which of what can be clicked
EVENTS = st.one_of(
    st.sampled_from(KEYS),
    CLICKS,
    st.sampled_from([question(5), BASH, settled(ONE), settled(TWO), settled(BASH), THREE]),
    st.builds(Size, st.integers(24, 200), st.integers(10, 50)),
)


@given(st.lists(EVENTS, max_size=60))
@settings(max_examples=400, deadline=None)
def test_no_sequence_of_keys_and_changes_breaks_it_and_nothing_is_sent_without_enter_or_a_click(
    events: list[str | int | Entry | Size],
) -> None:
    here = inbox(ONE, TWO, BASH)
    for event in events:
        match event:
            case Size():
                here = here.resized(event)
            case Entry():
                here = here.entered([event])
            case int():
                keys = sorted({span.key for line in picture(here).lines for span in line if span.key})
                here = stepped(here, keys[event % len(keys)]) if keys else here
            case _:
                here = stepped(here, event)
        assert here.at in ids(here.visible) if here.visible else here.at == ""


def stepped(here: Inbox, key: str) -> Inbox:
    match step := here.press(key):
        case Inbox():
            return looked(step)
        case Settle(replies):
            assert key == "enter" or key.startswith("row:") or (here.mode == "ask" and key in "125")
            assert replies
            assert_fitting(replies)
            return here.settled_here(len(replies), Shown("sent"), {ask.id for ask, _ in replies}).entered(
                [settled(Entry(ask)) for ask, _ in replies]
            )
        case Open(ask):
            return opened(here, Entry(ask))
        case Read(entry):
            return here.reading([Shown(entry.ask.id)])
        case Snoozed():
            return here.snoozed(step)
        case _:
            return here


def assert_fitting(replies: tuple[tuple[Ask, Reply], ...]) -> None:
    for ask, reply in replies:
        ask.fit(reply, ask.permission.digest if ask.permission else None)
