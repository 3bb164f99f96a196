"""askdesk withdraw: the asker takes an ask back."""

from tests.cli.command import Ran, askdesk, kept, posted, settled

from askdesk.core.model import Answer, Answered, Question, Withdrawn

WHICH = Question("Which database?", ["SQLite", "Postgres"])


def test_an_ask_is_taken_back_once_however_often_it_is_said() -> None:
    ask = posted(WHICH)
    first = askdesk("withdraw", ask.id, "--reason", "found it myself")
    again = askdesk("withdraw", ask.id[:8])
    answered = askdesk("answer", ask.id, "--decline")
    settlement = kept(ask.id).settlement

    assert [first, again] == [Ran(0, "", f"askdesk: ask {ask.id} is withdrawn\n")] * 2
    assert answered == Ran(8, "", f"askdesk: ask {ask.id} is already settled: withdrawn\n")
    assert settlement is not None
    assert settlement.outcome == Withdrawn("found it myself")


def test_what_was_answered_cannot_be_taken_back() -> None:
    ask = posted(WHICH)
    standing = settled(ask, Answered([Answer(["SQLite"])]))
    ran = askdesk("withdraw", ask.id)

    assert ran == Ran(8, "", f"askdesk: ask {ask.id} is already settled: answered by ana on elsewhere\n")
    assert kept(ask.id).settlement == standing


def test_an_ask_that_is_not_there_is_named() -> None:
    posted(WHICH)
    assert askdesk("withdraw", "0123abcd") == Ran(2, "", 'askdesk: there is no ask "0123abcd"\n')
