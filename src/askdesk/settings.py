"""Every setting, once: its name in askdesk.toml, its environment variable, its default, what it means.

The environment goes before the file. Only the user's own file is read, never one in a project: a repository that an
agent works in must not decide where its asks go.
"""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from askdesk.core.errors import InvalidSettings, Problem, quoted


class Secrets(tuple[str, ...]):
    """Texts that no message, log or traceback shows."""

    def __repr__(self) -> str:
        return f"<{len(self)} not shown>"


class Secret(str):
    """A text that no message, log or traceback shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "<not shown>" if self else "<none>"


class Settings(NamedTuple):
    """A setting in a table, such as `notify.urls`, is the field `notify_urls`."""

    store: str
    token: str
    answer_token: str
    by: str
    max_bytes: int
    max_depth: int
    busy_seconds: float
    postgres_connections: int
    asks_a_minute: int
    plain: bool
    screen_reader: bool
    language: str
    notify_urls: tuple[str, ...]
    notify_detail: Literal["nothing", "names", "text"]
    notify_after: float
    notify_again: float
    dialog_seconds: float
    host_seconds: float


class Setting(NamedTuple):
    name: str
    variable: str
    kind: type[str] | type[int] | type[float] | type[bool] | type[Secrets] | type[Secret]
    default: Callable[[Mapping[str, str]], Any]
    default_words: str
    meaning: str
    choices: tuple[str, ...] = ()

    @property
    def field(self) -> str:
        return self.name.replace(".", "_")


def _data_folder(environ: Mapping[str, str]) -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support"
    if sys.platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def _sqlite_url(path: Path) -> str:
    from urllib.parse import quote

    return f"sqlite://{quote(str(path))}"


def _user_name(environ: Mapping[str, str]) -> str:
    import getpass

    try:
        return getpass.getuser()
    except (KeyError, OSError, ImportError):
        return "somebody"


def _language(environ: Mapping[str, str]) -> str:
    return next((environ[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(name)), "en")


SETTINGS = (
    Setting(
        "store",
        "ASKDESK_STORE",
        str,
        lambda environ: _sqlite_url(_data_folder(environ) / "askdesk" / "askdesk.db"),
        "an SQLite file in the user's data folder",
        "where asks are kept: `sqlite:///path/to/file.db`, a path, `postgresql://…`, `memory:`, or a desk server's `https://…`",
    ),
    Setting(
        "token",
        "ASKDESK_TOKEN",
        Secret,
        lambda _: Secret(),
        "none",
        "the token to ask with, where the store is a desk server",
    ),
    Setting(
        "answer_token",
        "ASKDESK_ANSWER_TOKEN",
        Secret,
        lambda _: Secret(),
        "none",
        "the token to answer with, where the store is a desk server",
    ),
    Setting("by", "ASKDESK_BY", str, _user_name, "the user's login name", "who settles an ask, as others will read it"),
    Setting(
        "max_bytes",
        "ASKDESK_MAX_BYTES",
        int,
        lambda _: 1_000_000,
        "1000000",
        "the most bytes of an ask or a reply",
    ),
    Setting("max_depth", "ASKDESK_MAX_DEPTH", int, lambda _: 32, "32", "how deeply the JSON of an ask may be nested"),
    Setting(
        "busy_seconds",
        "ASKDESK_BUSY_SECONDS",
        float,
        lambda _: 5.0,
        "5",
        "how long to wait for a store that another process has locked, and a server for a database that is away",
    ),
    Setting(
        "postgres.connections",
        "ASKDESK_POSTGRES_CONNECTIONS",
        int,
        lambda _: 8,
        "8",
        "the most connections of one process to a PostgreSQL store, beside the one that listens",
    ),
    Setting(
        "asks_a_minute",
        "ASKDESK_ASKS_A_MINUTE",
        int,
        lambda _: 600,
        "600",
        "the most asks a minute that a desk server takes with one token",
    ),
    Setting("plain", "ASKDESK_PLAIN", bool, lambda _: False, "false", "plain lines on a terminal instead of a form"),
    Setting(
        "screen_reader",
        "ASKDESK_SCREEN_READER",
        bool,
        lambda _: False,
        "false",
        "the terminal is read aloud: plain lines, as `plain` does",
    ),
    Setting(
        "language",
        "ASKDESK_LANGUAGE",
        str,
        _language,
        "the locale's, else English",
        "what the terminal speaks: `en` or `es`",
    ),
    Setting(
        "notify.urls",
        "ASKDESK_NOTIFY_URLS",
        Secrets,
        lambda _: Secrets(),
        "none",
        "whom to tell when an agent waits: Apprise URLs; `askdesk notify --help` shows some",
    ),
    Setting(
        "notify.detail",
        "ASKDESK_NOTIFY_DETAIL",
        str,
        lambda _: "text",
        "text",
        "how much may leave the machine: `nothing` but that an agent waits, the `names`, or the `text` too",
        choices=("nothing", "names", "text"),
    ),
    Setting(
        "notify.after",
        "ASKDESK_NOTIFY_AFTER",
        float,
        lambda _: 5.0,
        "5",
        "how many seconds an ask may be open before anybody is told",
    ),
    Setting(
        "notify.again",
        "ASKDESK_NOTIFY_AGAIN",
        float,
        lambda _: 0.0,
        "never",
        "after how many seconds people are told again of an ask that is still open, and so on until it is settled",
    ),
    Setting(
        "dialog.seconds",
        "ASKDESK_DIALOG_SECONDS",
        float,
        lambda _: 1.5,
        "1.5",
        "a host's dialog that is declined or closed sooner was shown to nobody, and the ask stays open",
    ),
    Setting(
        "host.seconds",
        "ASKDESK_HOST_SECONDS",
        float,
        lambda _: 0.0,
        "what is known of the host",
        "how long an MCP host lets a call of a tool take; shortly before, it is told that the ask is still open",
    ),
)


def hook_socket(store: str) -> Path | None:
    """Where a server of this store answers hooks of this machine; None where it has no place for it here."""
    scheme, colon, rest = store.partition(":")
    if not colon or "/" in scheme:  # a path
        return Path(f"{Path(store).expanduser().absolute()}.sock")
    if scheme == "sqlite" and rest.startswith("///"):
        from urllib.parse import unquote

        return Path(f"{unquote(rest[2:])}.sock")
    if scheme in ("postgresql", "postgres"):
        return _data_folder(os.environ) / "askdesk" / f"hooks-{zlib.crc32(store.encode()):08x}.sock"
    return None


def config_path(environ: Mapping[str, str]) -> Path:
    """The user's askdesk.toml; ASKDESK_CONFIG names another file."""
    if named := environ.get("ASKDESK_CONFIG"):
        return Path(named)
    if sys.platform in ("darwin", "win32"):
        return _data_folder(environ) / "askdesk" / "askdesk.toml"
    return Path(environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "askdesk" / "askdesk.toml"


def load(environ: Mapping[str, str] | None = None) -> Settings:
    """All settings, or InvalidSettings naming every one that is wrong."""
    environ = os.environ if environ is None else environ
    path = config_path(environ)
    written = _flat(_file(path, required=bool(environ.get("ASKDESK_CONFIG"))))
    known = [setting.name for setting in SETTINGS]
    problems = [
        Problem(f"{path}: {name}", f"is not a setting; the settings are {', '.join(known)}")
        for name in written
        if name not in known
    ]
    values: dict[str, Any] = {}
    for setting in SETTINGS:
        try:
            values[setting.field] = _value(setting, environ, written, path)
        except InvalidSettings as error:
            problems += error.problems
    if problems:
        raise InvalidSettings(problems)
    return Settings(**values)


def _file(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        if required:
            raise InvalidSettings([Problem("ASKDESK_CONFIG", f"there is no file {path}")]) from None
        return {}
    except OSError as error:
        raise InvalidSettings([Problem(str(path), str(error.strerror))]) from None
    import tomllib

    try:
        return tomllib.loads(raw.decode())
    except ValueError as error:  # TOML's own errors, and bytes that are not UTF-8
        raise InvalidSettings([Problem(str(path), f"is not TOML: {error}")]) from None


def _flat(written: Mapping[str, Any]) -> dict[str, Any]:
    """The names in a table that has settings with the table's name before them."""
    tables = {setting.name.partition(".")[0] for setting in SETTINGS if "." in setting.name}
    flat: dict[str, Any] = {}
    for name, value in written.items():
        is_table = name in tables and isinstance(value, dict)
        flat |= {f"{name}.{inner}": each for inner, each in value.items()} if is_table else {name: value}
    return flat


def _value(setting: Setting, environ: Mapping[str, str], written: Mapping[str, Any], path: Path) -> Any:
    value: Any
    if setting.variable in environ:
        place, value = setting.variable, environ[setting.variable]
    elif setting.name in written:
        place, value = f"{path}: {setting.name}", written[setting.name]
    else:
        return setting.default(environ)
    if setting.kind is Secrets:
        return _secrets(place, value)
    if setting.kind is Secret:
        return _secret(place, value)
    if setting.choices and value not in setting.choices:
        raise InvalidSettings([Problem(place, f"must be one of {', '.join(setting.choices)}, is {quoted(value)}")])
    if setting.kind is str:
        if not isinstance(value, str) or not value.strip():
            raise InvalidSettings([Problem(place, f"must be text, is {quoted(value)}")])
        return value
    if setting.kind is bool:
        return _truth(place, value)
    number: Any
    try:
        number = setting.kind(value)
    except (ValueError, TypeError):
        number = -1
    if isinstance(value, bool) or (isinstance(value, float) and number != value) or not 0 < number < float("inf"):
        raise InvalidSettings([Problem(place, f"must be a number above 0, is {quoted(value)}")])
    return number


def _secrets(place: str, value: object) -> Secrets:
    texts = value.split() if isinstance(value, str) else value  # a variable holds no list
    if not isinstance(texts, list) or not all(isinstance(text, str) and text.strip() for text in texts):
        raise InvalidSettings([Problem(place, "must be a list of texts")])  # it may hold a password: not quoted
    return Secrets(text.strip() for text in texts)


def _secret(place: str, value: object) -> Secret:
    if not isinstance(value, str):
        raise InvalidSettings([Problem(place, "must be text")])
    return Secret(value.strip())  # blank is none: so a variable can be taken back


_TRUTHS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def _truth(place: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("", *_TRUTHS):
        return _TRUTHS.get(value.strip().lower(), False)
    raise InvalidSettings([Problem(place, f"must be true or false, is {quoted(value)}")])
