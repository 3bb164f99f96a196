"""A server is tried as a host would try it: within a bound, and with an answer to what it does wrong."""

from __future__ import annotations

import sys

import pytest

from askdesk.cli.mcp_trial import Trial, of_command, surroundings


def python(code: str) -> tuple[str, ...]:
    return sys.executable, "-c", code


@pytest.mark.parametrize(
    ("command", "trouble"),
    [
        (("/gone/python",), "the server cannot be started: [Errno 2] No such file or directory: '/gone/python'"),
        (python("import sys; sys.exit('no desk here')"), "the server ended with 1: no desk here"),
        (python("input(); print('hello')"), "the server said something else than it should: 'hello' with 0"),
        (
            python('input(); print(\'{"id":1,"error":{"code":1}}\')'),
            'the server refused: {"code": 1} with 0',
        ),
        (
            python(
                'input(); print(\'{"id":1,"result":{}}\'); input(); input(); print(\'{"id":2,"result":{"tools":[]}}\')'
            ),
            "the server has no tools with 0",
        ),
    ],
    ids=["not there", "ends", "says something else", "refuses", "has no tools"],
)
def test_what_a_server_does_wrong_is_told(command: tuple[str, ...], trouble: str) -> None:
    assert of_command(command, surroundings()) == Trial(trouble=trouble)


def test_a_server_that_is_silent_is_not_waited_for_for_ever() -> None:
    silent = python("import sys; sys.stdin.read()")
    assert of_command(silent, surroundings(), seconds=0.2) == Trial(
        trouble="the server ended: it did not answer within 0.2 seconds"
    )


def test_a_server_is_not_given_the_path_of_our_shell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASKDESK_TOKEN", "sesame")
    monkeypatch.setenv("PATH", "/ours")
    assert "ASKDESK_TOKEN" not in surroundings()
    assert surroundings(("ASKDESK_TOKEN", "NOT_SET")).items() >= {("ASKDESK_TOKEN", "sesame")}
    assert "/ours" not in surroundings()["PATH"]
