"""askdesk demo, without a terminal."""

import os
import tempfile
from pathlib import Path

from tests.cli.command import askdesk, in_shell, kept_asks

from askdesk.cli.demo import PERMISSION, QUESTIONS
from askdesk.core.model import Allowed, Answer, Answered


def test_the_whole_exchange_is_printed_question_options_answer_and_what_the_agent_reads(tmp_path: Path) -> None:
    ran = askdesk("demo", env={"TMPDIR": str(tmp_path)})
    lines = ran.out.splitlines()

    assert (ran.code, ran.err) == (0, "")
    assert lines[:10] == [
        "A scripted agent asks. Its questions are on disk before you see them.",
        "",
        "The agent builder in new service asks:",
        "",
        "Question 1 of 3. [Database]",
        "  Which database should the new service use?",
        "  1. SQLite (recommended by the agent)",
        "     One file, nothing to run. Enough for one machine.",
        "  2. PostgreSQL",
        "     A server of its own. For many machines.",
    ]
    start = lines.index("What the agent reads:")
    assert lines[start + 1 : start + 5] == [
        "  ANSWERED WITH OWN WORDS: read what the person wrote with care. It may ask you to explain, to change course "
        "or to stop; follow what it says.",
        '  - "Which database should the new service use?" = "SQLite (Recommended)"',
        '  - "Which parts should I set up first?" = "Sign-in" + "Metrics"; note: "metrics can wait if time is short"',
        '  - "Which layout should the start page have?" = "Top bar"',
    ]
    assert "  ALLOWED: the person allowed this call as it is." in lines
    assert [line[20:] for line in lines[lines.index("What the desk keeps:") + 2 :][:2]] == [
        "builder         new service           allowed by a scripted person on plain: permission for Bash",
        "builder         new service           answered by a scripted person on plain: "
        "Which database should the new service use? (+2 more)",
    ]


def test_the_demo_keeps_nothing_and_needs_nothing(tmp_path: Path) -> None:
    ran = askdesk("demo", "--script", env={"TMPDIR": str(tmp_path), "PYTHONIOENCODING": "ascii"})

    assert ran.code == 0
    assert list(tmp_path.iterdir()) == []
    assert not Path(os.environ["ASKDESK_STORE"]).exists()
    assert in_shell("<&-", "demo").code == 0
    assert Path(tempfile.gettempdir()).exists()


def test_the_demo_leaves_its_asks_in_a_store_that_was_named() -> None:
    ran = askdesk("demo", "--store", os.environ["ASKDESK_STORE"])
    entries = kept_asks()

    assert ran.code == 0
    assert [entry.ask.body for entry in entries] == [QUESTIONS, PERMISSION]
    assert [entry.settlement and entry.settlement.outcome for entry in entries] == [
        Answered(
            [
                Answer(["SQLite (Recommended)"]),
                Answer(["Sign-in", "Metrics"], note="metrics can wait if time is short", multi_select=True),
                Answer(["Top bar"]),
            ]
        ),
        Allowed(),
    ]
