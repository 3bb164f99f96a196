"""The command line itself: help, version, what is no command."""

import pytest
from tests.cli.command import Ran, askdesk, in_shell, unread

from askdesk import __version__
from askdesk.cli.main import COMMANDS, EXIT_CODES, USAGE, main


def test_help_lists_every_command_and_exit_code() -> None:
    assert askdesk() == askdesk("--help") == Ran(0, USAGE, "")
    assert all(f"  {name}" in USAGE and meaning in USAGE for name, meaning in COMMANDS.items())
    assert EXIT_CODES in USAGE
    assert all(f"  {code}  " in EXIT_CODES for code in range(9))


def test_every_spelling_of_help_and_version_works(capsys: pytest.CaptureFixture[str]) -> None:
    assert [main(["-h"]), main(["help"]), main(["--help"])] == [0, 0, 0]
    assert capsys.readouterr().out == USAGE * 3
    assert [main(["-V"]), main(["--version"])] == [0, 0]
    assert capsys.readouterr().out == f"askdesk {__version__}\n" * 2


def test_what_is_no_command_is_named() -> None:
    assert askdesk("aks") == Ran(2, "", "askdesk: there is no command 'aks'; askdesk --help lists them\n")
    assert askdesk("\x1b[2J").err == "askdesk: there is no command '\\x1b[2J'; askdesk --help lists them\n"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_also_without_unicode(name: str) -> None:
    ran = askdesk(name, "--help", env={"PYTHONIOENCODING": "ascii"})

    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"usage: askdesk {name}")
    assert ran.out.endswith(f"{EXIT_CODES}\n")
    assert ("--store URL" in ran.out) == (name != "uninstall")  # which changes another program's settings alone


@pytest.mark.parametrize("arguments", [("--help",), ("list", "--help"), ("--version",), ("demo",)])
def test_a_reader_that_goes_away_is_no_crash(arguments: tuple[str, ...]) -> None:
    assert unread(*arguments).err == ""


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full"])
def test_closed_or_full_streams_are_no_crash(redirection: str) -> None:
    for arguments in (("list",), ("list", "--json"), ("--help",)):
        assert in_shell(redirection, *arguments).code in (0, 1)


def test_a_store_that_does_not_work_is_a_failure_of_ours() -> None:
    ran = askdesk("list", "--store", "/")

    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("askdesk: ")


def test_a_store_that_cannot_be_named_is_invalid() -> None:
    message = 'askdesk: store: takes sqlite:///path, a path, postgresql://…, https://… or memory:, got "ftp://x/y"\n'

    assert askdesk("list", "--store", "ftp://x/y") == Ran(2, "", message)


def test_wrong_settings_are_told_before_anything_is_done() -> None:
    ran = askdesk("list", env={"ASKDESK_MAX_BYTES": "many", "ASKDESK_BUSY_SECONDS": "0"})

    assert ran == Ran(
        2,
        "",
        'askdesk: ASKDESK_MAX_BYTES: must be a number above 0, is "many"\n'
        'askdesk: ASKDESK_BUSY_SECONDS: must be a number above 0, is "0"\n',
    )
