"""The way to a database, cut in every manner."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from tests.faults.proxy import Cut, Proxy


class Both:
    """A client and a database, each with its end of one connection."""

    def __init__(self, proxy: Proxy, listening: socket.socket) -> None:
        self.proxy, self.listening = proxy, listening
        self.ends: list[socket.socket] = []
        self.client = self.connected()
        self.database = self.let_in()

    def connected(self) -> socket.socket:
        self.ends.append(socket.create_connection(("127.0.0.1", self.proxy.port), timeout=10))
        return self.ends[-1]

    def let_in(self) -> socket.socket:
        self.ends.append(self.listening.accept()[0])
        self.ends[-1].settimeout(10)
        return self.ends[-1]


@pytest.fixture
def both() -> Iterator[Both]:
    with socket.create_server(("127.0.0.1", 0)) as listening, Proxy(listening.getsockname()[1]) as proxy:
        listening.settimeout(10)
        both = Both(proxy, listening)
        yield both
        for end in both.ends:
            end.close()


def hears(end: socket.socket) -> bytes | str:
    """What comes, or what happens instead."""
    try:
        return end.recv(100) or "the end"
    except ConnectionResetError:
        return "a reset"


def hears_nothing(end: socket.socket) -> bool:
    end.settimeout(0.05)
    try:
        return not end.recv(100)
    except TimeoutError:
        return True
    finally:
        end.settimeout(10)


def speak(both: Both) -> None:
    both.client.sendall(b"question")
    both.database.sendall(b"answer")


def test_an_open_way_carries_words_and_the_end(both: Both) -> None:
    both.client.sendall(b"question")
    assert hears(both.database) == b"question"
    both.database.sendall(b"answer")
    assert hears(both.client) == b"answer"
    both.client.close()
    assert hears(both.database) == "the end"


@pytest.mark.parametrize(
    ("cut", "is_heard_there", "is_heard_back"),
    [(Cut.HOLE, False, False), (Cut.DEAF, True, False), (Cut.MUTE, False, True), (Cut.LATE, False, False)],
)
def test_a_way_is_cut_in_one_direction_or_both(both: Both, cut: Cut, is_heard_there: bool, is_heard_back: bool) -> None:
    both.proxy.cut(cut)
    speak(both)
    assert hears(both.database) == b"question" if is_heard_there else hears_nothing(both.database)
    assert hears(both.client) == b"answer" if is_heard_back else hears_nothing(both.client)


def test_a_reset_is_heard_at_both_ends_and_by_who_comes_next(both: Both) -> None:
    speak(both)
    assert [hears(both.database), hears(both.client)] == [b"question", b"answer"]
    both.proxy.cut(Cut.RESET)
    assert [hears(both.database), hears(both.client)] == ["a reset", "a reset"]
    with pytest.raises(ConnectionResetError):
        both.connected().recv(100)


def test_what_was_held_back_arrives_once_the_way_is_healed(both: Both) -> None:
    both.proxy.cut(Cut.LATE)
    speak(both)
    both.proxy.heal()
    assert [hears(both.database), hears(both.client)] == [b"question", b"answer"]


def test_a_connection_that_lost_something_stays_cut_and_new_ones_are_whole(both: Both) -> None:
    both.proxy.cut(Cut.HOLE)
    in_the_hole = both.connected()
    both.proxy.cut(Cut.HOLE)  # once this is done, that one is let in
    speak(both)
    both.proxy.heal()
    speak(both)
    in_the_hole.sendall(b"anybody?")
    assert all(hears_nothing(end) for end in (both.database, both.client, in_the_hole))
    both.client, both.database = both.connected(), both.let_in()
    both.client.sendall(b"again")
    assert hears(both.database) == b"again"
