"""`askdesk inbox` on a real terminal, and in lines."""

import sys
import time

import pytest
from tests.cli.agent import at_work, said, takes_all
from tests.cli.command import CALL, DATABASE, askdesk, kept, posted, settled, until
from tests.terminal import Terminal

from askdesk.core.model import Allowed, Answer, Answered, Asker, Declined, Permission
from askdesk.wire import tool

WHICH = tool.parse(DATABASE)
ANA = {"ASKDESK_BY": "ana"}
ABOVE = ("a line of an earlier command",)


def inbox(*options: str, **how: object) -> Terminal:
    return Terminal("inbox", *options, env=ANA, **how)  # type: ignore[arg-type]


def counts() -> None:
    """Wait until keys count: for the first 400 ms after an ask is shown none does."""
    opens = time.monotonic() + 0.45
    until(lambda: time.monotonic() > opens)


def test_asks_of_all_agents_are_listed_answered_one_after_the_other_and_one_line_stays() -> None:
    first = posted(WHICH, asker=Asker("builder", project="/srv/shop"))
    second = posted(Permission("Bash", CALL), asker=Asker("deployer", project="/srv/billing"))
    with inbox(before=ABOVE) as person:
        person.shows(
            "Open 2", "builder", "shop", "Which database?", "deployer", "billing", "permission: Bash rm -r build"
        )
        counts()
        person.press("enter")
        person.shows("❯ 1. ○ SQLite")
        counts()
        person.press("2")
        person.shows("rm -r build", "1. Allow this call, once", "✔ Which database? → Postgres")
        counts()
        person.press("y", "enter")
        person.shows("No agent waits for an answer.")
        counts()
        person.press("q")
        ran = person.leaves()
        assert [row for row in person.history if row] == [*ABOVE, "askdesk: Inbox: 2 settled, 0 still open."]

    assert ran.code == 0
    assert [kept(ask.id).settlement.outcome for ask in (first, second) if kept(ask.id).settlement] == [  # type: ignore[union-attr]
        Answered([Answer(["Postgres"])]),
        Allowed(),
    ]


@pytest.mark.parametrize(
    ("tell", "sent"), [("bell", b"\a"), ("note", b"\x1b]9;askdesk: new\\x1bone asks\a"), ("none", b"")]
)
def test_a_new_ask_is_there_at_once_and_told_of(tell: str, sent: bytes) -> None:
    posted(WHICH, asker=Asker("first"))
    with inbox("--tell", tell) as person:
        person.shows("Open 1", "first")
        before = len(person.raw)
        posted(WHICH, asker=Asker("new\x1bone"))
        person.shows("Open 2", "new\\x1bone")
        person.settles()
        after = bytes(person.raw)[before:]

    assert (b"\a" in after, b"\x1b]9;" in after, sent in after) == (tell != "none", tell == "note", True)


def test_an_ask_that_somebody_else_settles_leaves_the_list_and_closes_its_form() -> None:
    ask = posted(WHICH, asker=Asker("builder"))
    posted(WHICH, asker=Asker("other"))
    with inbox() as person:
        person.shows("Open 2")
        counts()
        person.press("enter")
        person.shows("❯ 1. ○ SQLite")
        settled(ask, Declined("later"), by="ben", surface="web")
        before = time.monotonic()
        person.shows("Closed: declined by ben on web.", "Open 1", "other")

        assert time.monotonic() - before < 0.25 + 0.5  # across processes, with slack for a busy machine


def test_a_thousand_open_asks_are_scrolled_through() -> None:
    code = """
import asyncio
from askdesk import Asker, Question, open_desk
async def main():
    async with open_desk() as desk:
        for at in range(0, 1000, 100):
            await asyncio.gather(*(
                desk.post(Question(f"Question {n}?", ["Yes", "No"]), asker=Asker("a")) for n in range(at, at + 100)
            ))
asyncio.run(main())
"""
    with Terminal("-c", code, command=(sys.executable,)) as person:
        person.leaves()
    with inbox() as person:
        person.shows("Open 1000", "1 of 1000")
        counts()
        for _ in range(50):
            person.press("pagedown")
        person.press("down")
        person.shows("of 1000")
        person.press("end")
        person.shows("1000 of 1000")
        person.press("home")
        person.shows("1 of 1000")
        person.press("q")
        assert person.leaves().err.strip() == "askdesk: Inbox: 0 settled, 1000 still open."


def test_in_an_agents_shell_the_inbox_is_for_nobody() -> None:
    ran = askdesk("inbox", env={"CLAUDECODE": "1"})

    assert ran == (
        2,
        "",
        "askdesk: this is an agent's shell (CLAUDECODE is set); a person should answer, or use --force\n",
    )


def test_in_lines_a_number_opens_an_ask() -> None:
    ask = posted(WHICH, asker=Asker("builder", project="/srv/shop"))
    ran = askdesk("inbox", "--plain", typed="1\n2\nq\n", env=ANA)

    assert ran.code == 0
    assert "  1. Which database? (builder, shop, " in ran.err
    assert ran.err.endswith("askdesk: Inbox: 1 settled, 0 still open.\n")
    settlement = kept(ask.id).settlement
    assert settlement is not None
    assert (settlement.outcome, settlement.by) == (Answered([Answer(["Postgres"])]), "ana")


def test_settled_asks_are_looked_back_at() -> None:
    settled(posted(WHICH), Answered([Answer(["SQLite"])]), by="ben", surface="web")
    with inbox() as person:
        person.shows("Open 0")
        counts()
        person.press("tab")
        person.shows("answered by ben on web: Which database?")
        person.press("enter")
        person.shows("Answered by ben on web", "SQLite", "Lines 1 to")
        person.press("escape")
        person.shows("Settled", "Enter open")
        person.press("q")
        assert person.leaves().code == 0


def test_an_agent_at_work_is_told_something_and_stopped() -> None:
    claude, builder = at_work("claude", "/srv/site"), at_work("builder", "/srv/shop")
    posted(WHICH, asker=claude)
    with inbox() as person:
        person.shows("Open 1", "2 at work", "t tell an agent")
        counts()
        person.press("t")
        person.shows("Tell claude in site something")
        person.types("use tabs")
        person.press("ctrl+j")
        person.types("please")
        person.press("enter")
        person.shows("Open 1", "Kept for claude, who gets it as soon as it can take it.")
        takes_all(claude)
        person.shows("it reached claude: use tabs please")
        person.press("t", "tab", "enter", "ctrl+x")
        person.shows("Stop builder in shop?", "❯ No, go back")
        person.press("down", "enter")
        person.shows("Kept: builder is to stop as soon as it can take it.")
        person.press("q")
        assert person.leaves().code == 0
    assert said(claude) == [("use tabs\nplease", False, "ana", "inbox")]
    assert said(builder) == [("", True, "ana", "inbox")]


def test_in_lines_an_agent_is_told_something() -> None:
    claude = at_work("claude", "/srv/site")
    ran = askdesk("inbox", "--plain", typed="agents\ntell 1 use tabs\nq\n", env=ANA)

    assert "  1. claude in site (" in ran.err
    assert said(claude) == [("use tabs", False, "ana", "plain")]
