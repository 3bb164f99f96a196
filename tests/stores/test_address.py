"""The URL of a store, as people and logs may see it."""

import pytest

from askdesk.stores.address import has_password, without_password


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("postgresql://ana:s3cret@db.example:5432/desk", "postgresql://ana@db.example:5432/desk"),
        ("postgresql://ana:s3cret@one:5432,two:5433/desk", "postgresql://ana@one:5432,two:5433/desk"),
        ("postgresql://db.example/desk?user=ana&password=s3cret", "postgresql://db.example/desk"),
        ("postgresql://ana@db.example/desk?sslpassword=s3cret", "postgresql://ana@db.example/desk"),
        ("postgresql://:s3cret@/desk?host=/run/postgresql", "postgresql://@/desk"),
        # Signs that end a URL's part, as they are: nobody can tell where the password ends.
        ("postgresql://ana:s3/cret@db.example/desk", "postgresql:…"),
        ("postgresql://ana:5432/s3cret@db.example/desk", "postgresql:…"),
        ("postgresql://ana:s3?cret@db.example/desk", "postgresql:…"),
        ("postgresql://ana:s3#cret@db.example/desk", "postgresql:…"),
        ("postgresql://ana:s3@cret@db.example/desk", "postgresql:…"),
        ("postgresql://db.example/desk?password=s3@cret", "postgresql:…"),
        ("postgress:ana:s3cret@db.example/desk", "postgress:…"),
    ],
)
def test_of_a_url_with_a_password_the_rest_is_shown(url: str, seen: str) -> None:
    assert without_password(url) == seen
    assert has_password(url)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://db.example/desk",
        "postgresql://ana@db.example:5432/desk",
        "postgresql://[::1]:5432/desk",
        "postgresql://",
        "sqlite:///home/ana/my%20desk.db",
        "sqlite:///home/ana/me@work.db",
        "/home/ana/me@work: desk?.db",
        "me@work.db",
        "memory:",
    ],
)
def test_a_url_without_a_password_is_shown_as_it_is(url: str) -> None:
    assert without_password(url) == url
    assert not has_password(url)


def test_parameters_without_a_password_are_not_shown_either() -> None:
    url = "postgresql://db.example/desk?sslmode=require#there"
    assert without_password(url) == "postgresql://db.example/desk"
    assert not has_password(url)
