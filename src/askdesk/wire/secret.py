"""Whether a field of somebody else's form asks for a secret, by what it is called. In a form nobody is asked for one.

A form's answers are kept, shown and handed on; who needs a secret has to send people to a page of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from unicodedata import normalize

_WORDS = {
    *(
        "password",
        "passwords",
        "passwd",
        "pwd",
        "passphrase",
        "passcode",
        "passwort",
        "kennwort",
        "contrasena",
        "senha",
    ),
    *("secret", "secrets", "token", "tokens", "jwt", "bearer", "apikey", "apikeys", "apitoken", "authtoken"),
    *("credential", "credentials", "privatekey", "secretkey", "accesskey", "mnemonic"),
}
_CODES = {"otp", "totp", "pin", "pincode", "cvv", "cvc", "cvv2", "2fa", "mfa"}
_PHRASES = re.compile(
    r"\b(?:(?:api|private|secret|access|ssh|signing|encryption|auth|recovery|master|account|bot) key"
    r"|(?:pass|seed|recovery) (?:word|phrase|code)|mot de passe"
    r"|(?:card|credit card|debit card) number"
    r"|(?:auth|authentication|authenticator|verification|security|login|one time|backup|2 fa|mfa) (?:code|pin))s?\b"
)
_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|[\W_]+")


_RUN_TOGETHER = re.compile(r"(password|passwd|passphrase|passcode|secret|apikey|sshkey|privatekey|token|credential)s?")
_ELSEWHERE = re.compile(r"парол|секрет|密码|密碼|口令|비밀번호|パスワード|暗証番号|كلمة المرور|סיסמה", re.IGNORECASE)


def is_secret(name: str, title: str, field: Mapping[str, object]) -> bool:
    """Whether this field is for a secret, as far as its name, title, description or its own marks tell.

    A choice among options gives nothing away, so only what is typed is looked at; a number may be a code.
    """
    if field.get("format") == "password" or field.get("writeOnly") is True or _is_marked(field.get("_meta")):
        return True
    match field.get("type"):
        case "string" if "enum" not in field and "oneOf" not in field:
            told = (name, title, str(field.get("description") or ""))
            return any(_is_named(text, _WORDS | _CODES) for text in told)
        case "integer" | "number":
            return any(_is_named(text, _CODES) for text in (name, title))
        case _:
            return False


def _is_marked(meta: object) -> bool:
    codex = meta.get("codex") if isinstance(meta, Mapping) else None
    return isinstance(codex, Mapping) and codex.get("isSecret") is True


def _is_named(text: str, words: set[str]) -> bool:
    plain = "".join(character for character in normalize("NFKD", text) if character.isascii())
    parts = [part.lower() for part in _SEAM.split(plain) if part]
    run_together = words is not _CODES and any(_ends_secret(part) for part in parts)
    return (
        bool(words.intersection(parts))
        or run_together
        or bool(_PHRASES.search(" ".join(parts)) or _ELSEWHERE.search(text))
    )


def _ends_secret(part: str) -> bool:
    """As in dbpassword, githubtoken."""
    found = list(_RUN_TOGETHER.finditer(part))
    return bool(found) and found[-1].end() == len(part)
