"""Who hears what, and who no longer does."""

from __future__ import annotations

from askdesk.core.hints import Hints


def test_a_hint_reaches_those_who_listen_for_that_ask_and_those_who_listen_for_all() -> None:
    hints = Hints()
    one: list[str | None] = []
    other: list[str | None] = []
    every: list[str | None] = []
    hints.listen(one.append, "1")
    hints.listen(other.append, "2")
    hints.listen(every.append)
    hints.tell("1")
    hints.tell("3")
    assert (one, other, every) == (["1"], [], ["1", "3"])


def test_all_who_listen_for_one_ask_hear_of_it_in_the_order_they_came() -> None:
    hints = Hints()
    heard: list[str] = []
    for name in "abc":
        hints.listen(lambda _, name=name: heard.append(name), "1")  # type: ignore[misc]
    hints.tell("1")
    assert heard == ["a", "b", "c"]


def test_when_nobody_knows_what_changed_everybody_reads_again() -> None:
    hints = Hints()
    heard: list[str | None] = []
    for ask_id in ("1", "2", None):
        hints.listen(heard.append, ask_id)
    hints.tell_all()
    assert heard == [None, None, None]


def test_whoever_stops_hears_no_more_and_the_others_still_do() -> None:
    hints = Hints()
    gone: list[str | None] = []
    here: list[str | None] = []
    stop = hints.listen(gone.append, "1")
    hints.listen(here.append, "1")
    stop()
    stop()
    hints.tell("1")
    hints.tell_all()
    assert (gone, here) == ([], ["1", None])


def test_one_function_may_listen_twice_and_stops_one_at_a_time() -> None:
    hints = Hints()
    heard: list[str | None] = []
    stop, _ = hints.listen(heard.append, "1"), hints.listen(heard.append, "1")
    hints.tell("1")
    stop()
    hints.tell("1")
    assert heard == ["1", "1", "1"]


def test_when_all_have_stopped_nothing_is_kept() -> None:
    hints = Hints()
    assert not hints
    stops = [hints.listen(lambda _: None, ask_id) for ask_id in ("1", "1", "2", None)]
    assert hints
    for stop in stops:
        stop()
    assert not hints
    assert hints._listeners == {}


def test_an_old_stop_does_not_end_a_new_listener() -> None:
    hints = Hints()
    heard: list[str | None] = []
    stop = hints.listen(lambda _: None, "1")
    stop()
    hints.listen(heard.append, "1")
    stop()
    hints.tell("1")
    assert heard == ["1"]


def test_a_listener_may_stop_itself_and_begin_anew_while_it_is_told() -> None:
    hints = Hints()
    heard: list[str | None] = []

    def once(ask_id: str | None) -> None:
        stop()
        heard.append(ask_id)
        hints.listen(heard.append, "1")

    stop = hints.listen(once, "1")
    hints.tell("1")
    assert heard == ["1"]
    hints.tell("1")
    assert heard == ["1", "1"]


def test_whoever_is_stopped_by_another_listener_hears_no_more() -> None:
    hints = Hints()
    heard: list[str | None] = []
    hints.listen(lambda _: stop(), "1")
    stop = hints.listen(heard.append, "1")
    hints.tell("1")
    assert heard == []
