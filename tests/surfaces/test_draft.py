"""What was typed and not sent, kept on the shelf."""

import asyncio
import logging

import pytest
from tests.surfaces.terminal.sheets import COUNT, DATABASE, PARTS, ask, going_on

from askdesk.core.desk import Desk
from askdesk.core.errors import StoreBusy
from askdesk.core.model import Ask, Asker, Permission, Questions
from askdesk.core.store import Document, Shelf
from askdesk.surfaces import draft
from askdesk.surfaces.draft import Draft, Keeper, all_kept, keep, kept
from askdesk.surfaces.form import Given
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.terminal.started import draft_of, started
from askdesk.surfaces.terminal.view import Size
from askdesk.testing.clock import NOON

pytestmark = pytest.mark.anyio

USUAL = Size(80, 24)
ASK = Ask("one", Questions([DATABASE, PARTS, COUNT]), Asker(), NOON)
CALL = Ask("two", Permission("Bash", {"command": "ls"}), Asker(), NOON)
GIVEN = (Given((1,), "own", False, "why"), Given((0, 2), "more\nlines", True), Given((), "many", True))
TYPED = Draft(v=1, given=GIVEN, at=2, message="let us talk")


class CountingShelf:
    """A real shelf, and what was put on it."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self.written: list[str | None] = []
        self.wrote = asyncio.Event()

    async def get(self, name: str) -> Document | None:
        return await self._shelf.get(name)

    async def put(self, name: str, value: str | None, *, expect: int | None = None) -> Document | None:
        document = await self._shelf.put(name, value, expect=expect)
        self.written.append(value)
        self.wrote.set()
        return document

    async def list(self, prefix: str = "") -> tuple[Document, ...]:
        return await self._shelf.list(prefix)


async def test_a_draft_is_kept_and_given_back_as_it_was(desk: Desk) -> None:
    assert await kept(desk.shelf, ASK, "ana") is None

    await keep(desk.shelf, ASK, "ana", TYPED)
    assert await kept(desk.shelf, ASK, "ana") == TYPED


async def test_every_person_has_a_draft_of_their_own(desk: Desk) -> None:
    short = Draft(v=1, message="hm")
    await keep(desk.shelf, ASK, "bob", short)
    await keep(desk.shelf, ASK, "ana/b", TYPED)
    await keep(desk.shelf, CALL, "ana", Draft(v=1, input="{}"))

    assert await kept(desk.shelf, ASK, "ana") is None
    assert await all_kept(desk.shelf, ASK) == (("ana/b", TYPED), ("bob", short))


@pytest.mark.parametrize("empty", [None, Draft(v=1), Draft(v=1, given=(Given(),) * 3, at=2), Draft(v=1, words=())])
async def test_an_empty_draft_is_removed(desk: Desk, empty: Draft | None) -> None:
    await keep(desk.shelf, ASK, "ana", TYPED)
    await keep(desk.shelf, ASK, "ana", empty)

    assert await desk.shelf.list() == ()


@pytest.mark.parametrize(
    "value",
    [
        '{"v":2,"given":[{"own":"x","owned":true},{},{}]}',
        '{"given":[{},{},{}]}',
        '{"v":1}',
        '{"v":1,"given":[{"own":"x","owned":true}]}',
        '{"v":1,"given":[{"picked":[3]},{},{}]}',
        '{"v":1,"given":[{},{},{"picked":[0]}]}',
        '{"v":1,"given":[{"picked":["SQLite"]},{},{}]}',
        '{"v":1,"input":"{}"}',
        "[]",
    ],
)
async def test_a_draft_of_another_version_or_for_another_ask_is_none(desk: Desk, value: str) -> None:
    await desk.shelf.put("draft/one/ana", value)

    assert await kept(desk.shelf, ASK, "ana") is None
    assert await all_kept(desk.shelf, ASK) == ()


async def test_a_field_of_a_newer_version_is_passed_over(desk: Desk) -> None:
    await desk.shelf.put("draft/one/ana", '{"v":1,"message":"hm","mood":"good"}')

    assert await kept(desk.shelf, ASK, "ana") == Draft(v=1, message="hm")


async def test_a_permission_has_drafts_too(desk: Desk) -> None:
    typed = Draft(v=1, words=(("stop", "enough"),), input='{"command":')
    await keep(desk.shelf, CALL, "ana", typed)

    assert await kept(desk.shelf, CALL, "ana") == typed


async def test_a_shelf_that_fails_costs_the_draft_and_nothing_else(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await keep(desk.shelf, ASK, "ana\0", TYPED)

    assert [record.message for record in caplog.records] == ["the draft could not be kept: name: holds a NUL character"]


async def test_the_keeper_writes_the_latest_once_at_the_end(desk: Desk) -> None:
    shelf = CountingShelf(desk.shelf)
    keeper = Keeper(shelf, ASK, "ana")
    for message in ("l", "le", "let"):
        keeper.note(Draft(v=1, message=message))
    await keeper.done()
    await keeper.done()

    assert (len(shelf.written), await kept(shelf, ASK, "ana")) == (1, Draft(v=1, message="let"))


async def test_the_keeper_writes_once_after_a_pause(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft, "_PAUSE", 0)
    shelf = CountingShelf(desk.shelf)
    keeper = Keeper(shelf, ASK, "ana")
    for message in ("l", "le", "let"):
        keeper.note(Draft(v=1, message=message))
    await shelf.wrote.wait()
    assert await kept(shelf, ASK, "ana") == Draft(v=1, message="let")

    await keeper.done()
    assert len(shelf.written) == 1


async def test_the_keeper_removes_what_was_erased_again(desk: Desk) -> None:
    keeper = Keeper(desk.shelf, ASK, "ana")
    keeper.note(TYPED)
    await keeper.done()
    keeper.note(Draft(v=1))
    await keeper.done()

    assert await desk.shelf.list() == ()


async def test_the_keeper_writes_nothing_where_nothing_was_typed(desk: Desk) -> None:
    shelf = CountingShelf(desk.shelf)
    await Keeper(shelf, ASK, "ana").done()

    assert shelf.written == []


async def test_a_sheet_goes_on_from_its_draft(desk: Desk) -> None:
    keys = ("2", "n", *"why", "enter", "1", "4", *"more", "escape", "c", *"hm", "escape", "tab", *"65")
    left = going_on(Sheet.start(ASK, USUAL), *keys)
    await keep(desk.shelf, ASK, "ana", draft_of(left))
    back = started(ASK, USUAL, await kept(desk.shelf, ASK, "ana"))

    assert isinstance(back, Sheet)
    assert (back.form.given, back.form.at, back.message) == (left.form.given, 2, "hm")
    assert back.said == "Your draft is back. Ctrl+R starts anew."


async def test_an_untouched_sheet_has_an_empty_draft() -> None:
    assert draft_of(going_on(Sheet.start(ASK, USUAL), "tab", "down", "4", "x", "backspace")).is_empty


@pytest.mark.parametrize(
    "given",
    [
        Given((0, 1)),
        Given((-1,)),
        Given((), "a\0b", True),
        Given((), note="a\0b"),
    ],
)
def test_a_draft_that_could_not_have_been_typed_does_not_fit(given: Given) -> None:
    assert not Draft(v=1, given=(given, Given())).fits(ask(DATABASE, PARTS))


@pytest.mark.anyio
async def test_a_draft_of_a_newer_version_is_not_removed_by_looking_at_the_ask(desk: Desk) -> None:
    asked = ask(DATABASE)
    await desk.shelf.put(f"draft/{asked.id}/ana", '{"v":2}')
    keeper = Keeper(desk.shelf, asked, "ana")
    keeper.note(Draft(v=1))
    await keeper.done()

    assert len(await desk.shelf.list()) == 1


async def test_what_was_typed_where_a_race_was_lost_is_kept_beside_the_draft_of_the_same_person(desk: Desk) -> None:
    lost = Keeper(desk.shelf, ASK, "ana")
    lost.note(TYPED)
    await lost.keep_apart()
    await keep(desk.shelf, ASK, "ana", None)  # the window that won has sent its own

    assert await all_kept(desk.shelf, ASK) == (("ana", TYPED),)
    assert await kept(desk.shelf, ASK, "ana") is None


class BusyOnce:
    """A shelf that is busy the first time."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._busy = True

    async def get(self, name: str) -> Document | None:
        return await self._shelf.get(name)

    async def list(self, prefix: str = "") -> tuple[Document, ...]:
        return await self._shelf.list(prefix)

    async def put(self, name: str, value: str | None, *, expect: int | None = None) -> Document | None:
        if self._busy:
            self._busy = False
            raise StoreBusy("locked")
        return await self._shelf.put(name, value, expect=expect)


async def test_a_draft_that_could_not_be_written_is_written_the_next_time(desk: Desk) -> None:
    keeper = Keeper(BusyOnce(desk.shelf), ASK, "ana")
    keeper.note(TYPED)
    await keeper.done()
    assert (keeper.has_kept, await kept(desk.shelf, ASK, "ana")) == (False, None)

    await keeper.done()
    assert (keeper.has_kept, await kept(desk.shelf, ASK, "ana")) == (True, TYPED)
