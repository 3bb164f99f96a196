"""Addresses of others as a question: where they lead is seen first, and some are never asked about."""

from __future__ import annotations

import pytest

from askdesk.core.errors import InvalidAsk
from askdesk.core.model import Answer, Answered, Option, Question, Questions
from askdesk.wire.url_of_others import is_wanted, read


def test_the_host_and_the_whole_address_stand_before_what_the_server_says() -> None:
    url = "https://auth.example.com:8443/start?state=xyz"
    assert read("Please sign in.", url) == Questions(
        [
            Question(
                f"Open this page?\nHost: auth.example.com:8443\nAddress: {url}\n\nWho asks says: Please sign in.",
                [
                    Option("Open it", "you open it yourself, by the address above"),
                    Option("Do not open it"),
                ],
                header="Open a page",
            )
        ]
    )


def test_who_has_it_opened_is_told_so() -> None:
    (question,) = read("", "https://example.com/", opens=True).items
    assert question.text == "Open this page?\nHost: example.com\nAddress: https://example.com/"
    assert question.options[0] == Option("Open it", "opens example.com in a browser")


@pytest.mark.parametrize(
    ("url", "lines"),
    [
        (
            "https://аpple.com/",
            ["Host: аpple.com (xn--pple-43d.com)", "Careful: letters of the host may look like others."],
        ),
        (
            "https://evil.com\\.example.com/",
            [
                "Host: evil.com",
                "Careful: this address is written in a way that programs read differently.",
            ],
        ),
        ("http://localhost:3000/x", ["Host: localhost:3000"]),
        ("http://127.0.0.1:80/", ["Host: 127.0.0.1:80"]),
        ("http://[::1]/", ["Host: [::1]"]),
        ("HTTPS://Example.com/a@b?c=d@e", ["Host: example.com"]),
    ],
)
def test_doubts_are_labelled(url: str, lines: list[str]) -> None:
    (question,) = read("", url).items
    assert question.text.splitlines() == ["Open this page?", lines[0], f"Address: {url}", *lines[1:]]


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://example.com/", 'must be https outside this machine, is http to "example.com"'),
        ("http://localhost.example.com/", 'must be https outside this machine, is http to "localhost.example.com"'),
        ("javascript:alert(1)", "must say where it leads"),
        ("javascript://example.com/%0aalert(1)", 'must begin with https://, has the scheme "javascript"'),
        ("data:text/html,x", "must say where it leads"),
        ("file:///etc/passwd", "must say where it leads"),
        ("file://host/etc", 'must begin with https://, has the scheme "file"'),
        ("ssh://example.com", 'must begin with https://, has the scheme "ssh"'),
        ("https:example.com", 'must begin with https://, has the scheme "https"'),
        ("https://user@example.com/", 'must not have a name before its host "example.com"'),
        ("https://google.com:x@evil.com/", 'must not have a name before its host "evil.com"'),
        ("https://evil.com\\@google.com/", 'must not have a name before its host "evil.com"'),
        (" https://example.com/", "must not hold blanks or characters that nobody sees"),
        ("https://example.com/\n-a", "must not hold blanks or characters that nobody sees"),
        ("https://exam\u200bple.com/", "must not hold blanks or characters that nobody sees"),
        ("https://example.com/\u202egpj", "must not hold blanks or characters that nobody sees"),
        ("https://example.com/" + "a" * 8000, "must not be longer than 8000 characters, has 8020"),
        ("", "must say where it leads"),
        ("--help", "must say where it leads"),
    ],
)
def test_nobody_is_asked_to_open_what_nobody_should(url: str, rule: str) -> None:
    with pytest.raises(InvalidAsk) as refused:
        read("Please!", url)
    assert str(refused.value) == f"url: {rule}"


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (Answer(["Open it"]), True),
        (Answer(["Open it"], note="later"), True),
        (Answer(["Do not open it"]), False),
        (Answer(other="open it, but only if it is safe"), False),
        (Answer(note="Open it"), False),
    ],
)
def test_only_the_choice_to_open_it_opens_it(answer: Answer, wanted: bool) -> None:
    (question,) = read("", "https://example.com/").items
    assert is_wanted(Answered([question.fit(answer)])) is wanted
