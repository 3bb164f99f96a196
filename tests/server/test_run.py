"""Where the server listens, and where it refuses to."""

# ruff: noqa: S104 - named here, and listened on nowhere

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from askdesk.core.errors import InvalidSettings, Problem
from askdesk.server.run import Address

IN_THE_CLEAR = (
    "others could read every token on the way: give --tls-cert and --tls-key, or --behind-proxy URL "
    "where something in front of it speaks TLS"
)


def problems(address: Address) -> list[Problem]:
    try:
        address.check()
    except InvalidSettings as error:
        return list(error.problems)
    return []


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "::1", "localhost"])
def test_this_machine_alone_may_reach_it_in_the_clear(host: str) -> None:
    assert problems(Address(host)) == []


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "192.168.0.7", "desk.example", "localhost.evil", "2130706433"])
def test_others_may_not_reach_it_in_the_clear(host: str) -> None:
    assert problems(Address(host)) == [Problem(f"--host {host}", IN_THE_CLEAR)]


def test_others_may_reach_it_over_tls_or_behind_a_proxy(tmp_path: Path) -> None:
    certificate = tmp_path / "certificate"
    certificate.touch()
    assert problems(Address("0.0.0.0", certificate=certificate, key=certificate)) == []
    assert problems(Address("0.0.0.0", public_url="https://desk.example")) == []


def test_a_certificate_and_its_key_go_together_and_exist(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    assert problems(Address(certificate=missing)) == [
        Problem("--tls-cert, --tls-key", "go together"),
        Problem(str(missing), "there is no such file"),
    ]


@pytest.mark.parametrize("url", ["https://desk.example", "https://desk.example:8443/", "https://[::1]:1", "https://a"])
def test_a_proxy_has_an_address_of_its_own(url: str) -> None:
    assert problems(Address(public_url=url)) == []


@pytest.mark.parametrize(
    "url",
    [
        "http://desk.example",
        "desk.example",
        "https://",
        "https://desk.example/desk",
        "https://desk.example?x",
        "https://desk.example#x",
        "https://ana@desk.example",
        "https://desk example",
        "https://desk.example\n",
    ],
)
def test_any_other_address_of_a_proxy_is_refused(url: str) -> None:
    rule = f"must be the https:// URL of the desk, is {url}"
    assert problems(Address(public_url=url)) == [Problem("--behind-proxy", rule)]


def test_a_port_that_is_taken_is_told_in_words() -> None:
    with Address(port=0).listen() as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InvalidSettings) as caught:
            Address(port=port).listen()
    why = "cannot be listened on: Address already in use; --port names another"
    assert list(caught.value.problems) == [Problem(f"127.0.0.1:{port}", why)]


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_there_is_not_is_told_in_words(port: int) -> None:
    assert problems(Address(port=port)) == [Problem("--port", f"must be a number from 0 to 65535, is {port}")]


def test_a_host_that_there_is_not_is_told_in_words() -> None:
    with pytest.raises(InvalidSettings, match="no such host:0: cannot be listened on: "):
        Address("no such host", 0).listen()


def test_every_address_has_a_url() -> None:
    path = Path("x")
    assert [
        Address().url(8700),
        Address("::1").url(8700),
        Address("0.0.0.0", certificate=path, key=path).url(443),
        Address("::", certificate=path, key=path).url(443),
        Address(public_url="https://desk.example/").url(8700),
    ] == [
        "http://127.0.0.1:8700",
        "http://[::1]:8700",
        f"https://{socket.gethostname()}:443",
        f"https://{socket.gethostname()}:443",
        "https://desk.example",
    ]
