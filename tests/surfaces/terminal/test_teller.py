"""Telling an agent something from the inbox: what each key does, and what it looks like. No terminal, no desk."""

from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.hostile import PAYLOADS

from askdesk.core.model import Ask, Asker, Entry, Question, Questions
from askdesk.core.text import shown
from askdesk.core.work import Working
from askdesk.surfaces.spans import text_of
from askdesk.surfaces.terminal.inbox import Inbox, Wish
from askdesk.surfaces.terminal.inbox_view import picture
from askdesk.surfaces.terminal.teller import Tell
from askdesk.surfaces.terminal.view import Size, cells
from askdesk.surfaces.texts import say, speak
from askdesk.testing.clock import NOON

CLAUDE, BUILDER = Asker("claude", "s-1", "/srv/site"), Asker("builder", "s-2")
SITE = Working(asker=CLAUDE, since=NOON - timedelta(minutes=12), seen=NOON)
OTHER = Working(asker=BUILDER, since=NOON, seen=NOON)


USUAL = Size(80, 14)


def an_ask(asker: Asker) -> Entry:
    return Entry(Ask("a1", Questions([Question("Which?", ["a", "b"])]), asker, NOON))


def inbox(*agents: Working, asks: tuple[Entry, ...] = (), size: Size = USUAL) -> Inbox:
    return replace(Inbox(NOON, size), working=agents).entered(asks)


def pressed(start: Inbox, *keys: str) -> Inbox | Wish | None:
    step: Inbox | Wish | None = start
    for key in keys:
        assert isinstance(step, Inbox), f"it ended before {key!r}, with {step}"
        step = step.press(key)
    return step


def going_on(start: Inbox, *keys: str) -> Inbox:
    step = pressed(start, *keys)
    assert isinstance(step, Inbox), step
    return step


def rows(start: Inbox) -> list[str]:
    return [text_of(spans).rstrip() for spans in picture(start).lines]


def test_the_asker_of_the_ask_with_the_focus_is_told_what_was_typed() -> None:
    start = inbox(OTHER, SITE, asks=(an_ask(CLAUDE),))
    assert pressed(start, "t", *"use tabs", "enter") == Tell(SITE, "use tabs")


def test_without_an_ask_a_lone_agent_is_meant() -> None:
    assert pressed(inbox(SITE), "t", "x", "enter") == Tell(SITE, "x")


def test_without_an_ask_one_of_several_agents_is_chosen_first() -> None:
    start = inbox(SITE, OTHER)
    assert pressed(start, "t", "down", "enter", "x", "enter") == Tell(OTHER, "x")
    assert pressed(start, "t", "down", "up", "up", "tab", "x", "enter") == Tell(SITE, "x")
    assert pressed(start, "t", f"row:{OTHER.address}", f"row:{OTHER.address}", "x", "enter") == Tell(OTHER, "x")


def test_where_the_asker_is_not_at_work_those_who_are_stand_in_a_list() -> None:
    here = going_on(inbox(SITE, asks=(an_ask(BUILDER),)), "t")
    assert rows(here) == [
        "Whom do you want to tell something?",
        "",
        "❯ claude in site · at work for 12m",
        "",
        "builder is not at work now; these are.",
        "↑↓ move  Enter take it  Esc back",
    ]


def test_where_nobody_works_it_says_so() -> None:
    here = going_on(inbox(asks=(an_ask(CLAUDE),)), "t")
    assert (here.mode, here.said) == ("list", say("tell.none"))


def test_the_box_says_whom_it_is_for_and_what_its_keys_do() -> None:
    assert rows(going_on(inbox(SITE, OTHER, asks=(an_ask(CLAUDE),)), "t")) == [
        "Tell claude in site something",
        "at work for 12m",
        "",
        "❯  It is kept, and given to the agent once, as soon as it can take it.",
        "",
        "Enter tell  Esc back  Ctrl+J new line  Ctrl+X stop it  Tab another agent",
    ]


def test_what_was_typed_goes_along_to_another_agent() -> None:
    start = inbox(SITE, OTHER, asks=(an_ask(CLAUDE),))
    assert pressed(start, "t", *"stay", "tab", "enter", "!", "enter") == Tell(OTHER, "stay!")


def test_lines_are_broken_and_pasted() -> None:
    here = going_on(inbox(SITE), "t", "a", "ctrl+j", "b").paste("\nc")
    assert pressed(here, "enter") == Tell(SITE, "a\nb\nc")


@pytest.mark.parametrize("typed", [(), (" ", " ")])
def test_nothing_is_told_by_an_empty_box(typed: tuple[str, ...]) -> None:
    here = going_on(inbox(SITE), "t", *typed, "enter")
    assert (here.mode, here.spoken) == ("tell", say("sheet.type_first"))


def test_what_was_typed_is_there_again_after_escape_and_only_for_that_agent() -> None:
    here = going_on(inbox(SITE, OTHER), "t", "enter", *"half", "escape")
    assert here.mode == "list"
    assert pressed(here, "t", "enter", "enter") == Tell(SITE, "half")
    assert pressed(here, "t", "down", "enter", "x", "enter") == Tell(OTHER, "x")


def test_what_was_typed_before_can_be_erased() -> None:
    here = going_on(inbox(SITE), "t", "x", "escape", "t", "backspace", "left")
    assert here.teller is not None
    assert here.teller.field.text == ""


def test_once_it_is_kept_the_box_is_empty_again() -> None:
    here = going_on(inbox(SITE), "t", "x", "escape", "t")
    here = here.told_agent(Tell(SITE, "x"), say("tell.none"))
    assert (here.mode, here.said, here.teller) == ("list", say("tell.none"), None)
    assert pressed(here, "t", "y", "enter") == Tell(SITE, "y")


def test_stopping_takes_a_key_a_row_and_enter() -> None:
    here = going_on(inbox(SITE), "t", *"no", "ctrl+x")
    assert rows(here) == [
        "Stop claude in site?",
        "",
        "It ends what it is doing. What you have written goes with it.",
        "",
        "❯ No, go back",
        "  Stop it now",
        "",
        "↑↓ move  Enter take it  Esc back",
    ]
    assert pressed(here, "down", "enter") == Tell(SITE, "no", stop=True)
    assert pressed(here, "row:stop", "row:stop") == Tell(SITE, "no", stop=True)


@pytest.mark.parametrize("keys", [("enter",), ("escape",), ("down", "up", "enter"), ("x", "y", "enter"), ("row:back",)])
def test_no_single_key_stops_an_agent(keys: tuple[str, ...]) -> None:
    here = going_on(inbox(SITE), "t", *"no", "ctrl+x", *keys)
    assert pressed(here, "enter") == Tell(SITE, "no")


def test_how_many_agents_are_at_work_stands_above_the_list() -> None:
    assert rows(inbox(SITE, OTHER))[0] == "askdesk  Open 0  Settled  2 at work"
    assert rows(inbox())[0] == "askdesk  Open 0  Settled"


@pytest.mark.parametrize("keys", [("t",), ("t", "enter"), ("t", "enter", "ctrl+x")])
def test_hostile_names_put_nothing_but_text_on_the_screen(keys: tuple[str, ...]) -> None:
    for payload in PAYLOADS[::7]:
        agent = Working(asker=Asker(f"x{payload}", project=f"/p/{payload}"), since=NOON, seen=NOON)
        drawn = picture(going_on(inbox(agent, OTHER), *keys))
        for spans in drawn.lines:
            assert shown(text_of(spans)).strip() == text_of(spans).strip(), payload
            assert cells(spans) <= 80


@pytest.mark.parametrize("size", [Size(24, 10), Size(40, 10), Size(200, 50)])
@pytest.mark.parametrize("keys", [("t",), ("t", "enter", *"some words here", "ctrl+j"), ("t", "enter", "ctrl+x")])
@pytest.mark.parametrize("language", ["en", "es"])
def test_it_fits_every_size(size: Size, keys: tuple[str, ...], language: str) -> None:
    speak(language)
    try:
        drawn = picture(going_on(inbox(SITE, OTHER, size=size), *keys))
    finally:
        speak("en")
    assert len(drawn.lines) <= size.lines
    assert all(cells(spans) <= size.columns for spans in drawn.lines)
