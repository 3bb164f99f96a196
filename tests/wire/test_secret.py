"""Fields that ask for a secret are known by what they are called."""

from __future__ import annotations

import pytest

from askdesk.wire.secret import is_secret

TEXT = {"type": "string"}


@pytest.mark.parametrize(
    "name",
    [
        *("password", "userPassword", "PASSWORD", "db_password", "new-password", "Passphrase", "contraseña", "passwd"),
        *("token", "githubToken", "access_token", "api_key", "apiKey", "APIKey", "apikey", "Your API key:", "API-Keys"),
        *("client_secret", "credentials", "private_key", "sshKey", "secret access key", "OTP", "one-time code", "PIN"),
        *("verification code", "2FA code", "cvv", "Credit card number", "seed phrase", "mot de passe"),
    ],
)
def test_a_text_that_is_called_like_a_secret_is_one(name: str) -> None:
    assert is_secret(name, "", TEXT)
    assert is_secret("value", name, TEXT)


@pytest.mark.parametrize(
    "name",
    [
        *("name", "key", "primary_key", "keyboard", "keyword", "author", "passenger", "compass", "secretary"),
        *("tokenizer", "pinned", "spinner", "opinion", "zip code", "country code", "postcode", "cardinality", "hotpot"),
    ],
)
def test_what_only_sounds_a_little_like_one_is_none(name: str) -> None:
    assert not is_secret(name, name, TEXT)


def test_a_number_of_tokens_is_none_but_a_code_is() -> None:
    number = {"type": "integer"}
    assert not is_secret("max_tokens", "Tokens", number)
    assert is_secret("pin", "", number)


def test_a_choice_gives_no_secret_away() -> None:
    assert not is_secret("token", "Token", {"type": "string", "enum": ["yours", "mine"]})
    assert not is_secret("pin", "Pin it", {"type": "boolean"})


@pytest.mark.parametrize(
    "field",
    [
        {"type": "string", "format": "password"},
        {"type": "string", "writeOnly": True},
        {"type": "boolean", "writeOnly": True},
        {"type": "string", "_meta": {"codex": {"isSecret": True}}},
    ],
)
def test_what_is_marked_as_a_secret_is_one_whatever_it_is_called(field: dict[str, object]) -> None:
    assert is_secret("value", "Value", field)


@pytest.mark.parametrize("meta", [None, 7, {}, {"codex": None}, {"codex": {"isSecret": False}}])
def test_other_marks_say_nothing(meta: object) -> None:
    assert not is_secret("value", "Value", {"type": "string", "_meta": meta})
