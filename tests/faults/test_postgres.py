"""The short form of `scripts/faults postgres`."""

import random
from pathlib import Path

from tests.faults.books import Books
from tests.faults.house import NOT_LOOKED_AT, house, house_of_two
from tests.faults.pair import Loss
from tests.faults.postgres import backends, partitions, promotions, restarts

ROOMY = 15.0  # seconds for what the long form wants in two: other tests run beside this one


def assert_right(books: Books, integrity: str) -> None:
    assert (books.acknowledged > 0, books.wrong) == (True, 0), str(books)
    assert max((books.slowest, *books.went_on)) < ROOMY, str(books)
    assert integrity in ("ok", NOT_LOOKED_AT)


def test_where_a_database_is_killed_or_cut_off_nothing_is_lost_and_nobody_is_stuck(tmp_path: Path) -> None:
    with house(tmp_path, random.Random(1)) as here:  # noqa: S311 - no secret
        restarts(here, 2)
        backends(here, 3)
        partitions(here, 2, 3)
        books, integrity = here.closed()
        assert_right(books, integrity)
        assert books.woken, str(books)


def test_where_a_machine_is_gone_and_its_standby_promoted_nothing_is_lost_and_all_go_on(tmp_path: Path) -> None:
    with house_of_two(tmp_path, random.Random(1), servers=False) as (here, pair):  # noqa: S311 - no secret
        promotions(here, pair, [Loss.WITH_ITS_MACHINE])
        assert_right(*here.closed())
