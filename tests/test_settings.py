"""Where settings come from, and what is told when they are wrong."""

from pathlib import Path

import pytest

from askdesk.core.errors import InvalidSettings
from askdesk.settings import SETTINGS, Settings, config_path, load


def written(folder: Path, text: str | bytes) -> dict[str, str]:
    """An environment whose settings file holds this."""
    path = folder / "askdesk.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return {"ASKDESK_CONFIG": str(path)}


def problems(environ: dict[str, str]) -> list[str]:
    with pytest.raises(InvalidSettings) as caught:
        load(environ)
    return [str(problem) for problem in caught.value.problems]


def test_without_anything_written_defaults_hold(tmp_path: Path) -> None:
    settings = load({"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path), "ASKDESK_BY": "ana"})

    assert settings == Settings(
        store=f"sqlite://{tmp_path}/askdesk/askdesk.db",
        token="",
        answer_token="",
        by="ana",
        max_bytes=1_000_000,
        max_depth=32,
        busy_seconds=5.0,
        postgres_connections=8,
        asks_a_minute=600,
        plain=False,
        screen_reader=False,
        language="en",
        notify_urls=(),
        notify_detail="text",
        notify_after=5.0,
        notify_again=0.0,
        dialog_seconds=1.5,
        host_seconds=0.0,
    )


def test_everything_can_be_set_in_the_file(tmp_path: Path) -> None:
    text = (
        'store = "memory:"\ntoken = "ask"\nanswer_token = "answer"\n'
        'by = "ana"\nmax_bytes = 10\nmax_depth = 4\nbusy_seconds = 0.5\nasks_a_minute = 7\n'
        'plain = true\nscreen_reader = true\nlanguage = "es"\n'
        '[notify]\nurls = ["ntfy://one", " mailto://ana:x@y "]\ndetail = "names"\nafter = 0.5\nagain = 600\n'
        "[dialog]\nseconds = 0.2\n[host]\nseconds = 90\n[postgres]\nconnections = 3\n"
    )

    assert load(written(tmp_path, text)) == Settings(
        *("memory:", "ask", "answer", "ana"),
        max_bytes=10,
        max_depth=4,
        busy_seconds=0.5,
        postgres_connections=3,
        asks_a_minute=7,
        plain=True,
        screen_reader=True,
        language="es",
        notify_urls=("ntfy://one", "mailto://ana:x@y"),
        notify_detail="names",
        notify_after=0.5,
        notify_again=600,
        dialog_seconds=0.2,
        host_seconds=90,
    )


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    environ = written(tmp_path, 'store = "memory:"\nby = "ana"\nmax_bytes = 10\n')

    variables = {"ASKDESK_BY": "ben", "ASKDESK_MAX_BYTES": "20", "ASKDESK_BUSY_SECONDS": "2", "ASKDESK_PLAIN": "1"}
    settings = load({**environ, **variables})
    assert settings == load(environ)._replace(by="ben", max_bytes=20, busy_seconds=2.0, plain=True)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        *(("1", True), ("true", True), ("Yes", True), (" on ", True)),
        *(("0", False), ("false", False), ("no", False), ("off", False), ("", False)),
    ],
)
def test_a_truth_is_told_in_these_words(text: str, truth: bool) -> None:
    assert load({"ASKDESK_PLAIN": text}).plain is truth


@pytest.mark.parametrize(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "es_ES.UTF-8"}, "es_ES.UTF-8"),
        ({"LANG": "es_ES.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "en_GB.UTF-8"),
        ({"LANG": "es_ES.UTF-8", "LC_ALL": "C.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "C.UTF-8"),
        ({"LANG": "es_ES.UTF-8", "ASKDESK_LANGUAGE": "en"}, "en"),
    ],
)
def test_the_language_is_the_locale_s_unless_another_is_set(environ: dict[str, str], language: str) -> None:
    assert load(environ).language == language


def test_every_setting_has_its_own_variable_and_words() -> None:
    assert [setting.field for setting in SETTINGS] == list(Settings._fields)
    assert [setting.variable for setting in SETTINGS] == [f"ASKDESK_{name.upper()}" for name in Settings._fields]
    assert all(setting.default_words and setting.meaning for setting in SETTINGS)


def test_unknown_and_wrong_settings_are_all_told_at_once(tmp_path: Path) -> None:
    environ = written(tmp_path, 'colour = "red"\nby = 5\nmax_bytes = true\nmax_depth = -1\n[store]\nurl = "x"\n')
    file = environ["ASKDESK_CONFIG"]

    assert problems({**environ, "ASKDESK_BUSY_SECONDS": "soon"}) == [
        f"{file}: colour: is not a setting; the settings are {', '.join(setting.name for setting in SETTINGS)}",
        f'{file}: store: must be text, is {{"url": "x"}}',
        f"{file}: by: must be text, is 5",
        f"{file}: max_bytes: must be a number above 0, is true",
        f"{file}: max_depth: must be a number above 0, is -1",
        'ASKDESK_BUSY_SECONDS: must be a number above 0, is "soon"',
    ]


@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf", "", "1e999", "0x10"])
def test_a_number_that_is_none_is_refused(value: str) -> None:
    assert problems({"ASKDESK_BUSY_SECONDS": value}) == [
        f'ASKDESK_BUSY_SECONDS: must be a number above 0, is "{value}"'
    ]


def test_a_whole_number_is_not_cut_out_of_a_broken_one(tmp_path: Path) -> None:
    environ = written(tmp_path, "max_depth = 1.9\n")

    assert len(problems(environ)) == 1


@pytest.mark.parametrize("value", ["", "  "])
def test_a_blank_text_is_no_setting(value: str) -> None:
    assert problems({"ASKDESK_STORE": value}) == [f'ASKDESK_STORE: must be text, is "{value}"']


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.toml"

    assert problems({"ASKDESK_CONFIG": str(missing)}) == [f"ASKDESK_CONFIG: there is no file {missing}"]
    assert problems({"ASKDESK_CONFIG": str(tmp_path)}) == [f"{tmp_path}: Is a directory"]
    (not_toml,) = problems(written(tmp_path, "store = \n"))
    assert not_toml.startswith(f"{tmp_path}/askdesk.toml: is not TOML: ")
    (not_text,) = problems(written(tmp_path, b'by = "\xff"\n'))
    assert not_text.startswith(f"{tmp_path}/askdesk.toml: is not TOML: ")


def test_only_the_users_own_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, home = tmp_path / "project", tmp_path / "home"
    (home / "askdesk").mkdir(parents=True)
    project.mkdir()
    (project / "askdesk.toml").write_text('by = "the project"\n')
    (home / "askdesk" / "askdesk.toml").write_text('by = "the user"\n')
    monkeypatch.chdir(project)

    assert config_path({"XDG_CONFIG_HOME": str(home)}) == home / "askdesk" / "askdesk.toml"
    assert load({"XDG_CONFIG_HOME": str(home)}).by == "the user"


def test_an_empty_name_of_a_file_is_no_name(tmp_path: Path) -> None:
    environ = {"ASKDESK_CONFIG": "", "XDG_CONFIG_HOME": str(tmp_path), "ASKDESK_BY": "ana"}

    assert load(environ).by == "ana"


def test_in_the_environment_blanks_stand_between_urls(tmp_path: Path) -> None:
    environ = written(tmp_path, '[notify]\nurls = ["ntfy://file"]\n')

    assert load({**environ, "ASKDESK_NOTIFY_URLS": " ntfy://one\tntfy://two\n"}).notify_urls == (
        "ntfy://one",
        "ntfy://two",
    )
    assert load({**environ, "ASKDESK_NOTIFY_URLS": ""}).notify_urls == ()
    settings = load({**environ, "ASKDESK_NOTIFY_DETAIL": "nothing", "ASKDESK_NOTIFY_AFTER": "60"})
    assert settings == load(environ)._replace(notify_detail="nothing", notify_after=60.0)


def test_names_in_a_table_are_checked_like_all_others(tmp_path: Path) -> None:
    environ = written(tmp_path, '[notify]\ncolour = "red"\ndetail = "all"\nafter = 0\n[notify.urls]\na = 1\n')
    file = environ["ASKDESK_CONFIG"]

    assert problems(environ) == [
        f"{file}: notify.colour: is not a setting; the settings are {', '.join(setting.name for setting in SETTINGS)}",
        f"{file}: notify.urls: must be a list of texts",
        f'{file}: notify.detail: must be one of nothing, names, text, is "all"',
        f"{file}: notify.after: must be a number above 0, is 0",
    ]


@pytest.mark.parametrize("text", ['notify = "SECRET"\n', "[[notify]]\nurls = 1\n", '[notify]\nurls = [1, "SECRET"]\n'])
def test_what_stands_in_place_of_urls_is_not_told(tmp_path: Path, text: str) -> None:
    assert "SECRET" not in "".join(problems(written(tmp_path, text)))


def test_settings_that_are_printed_show_no_urls() -> None:
    settings = load({"ASKDESK_NOTIFY_URLS": "slack://SECRET mailto://ana:SECRET@x"})

    assert "notify_urls=<2 not shown>" in repr(settings)
    assert "SECRET" not in f"{settings} {settings!r} {settings.notify_urls} {settings._asdict()}"


def test_tokens_are_never_shown(tmp_path: Path) -> None:
    environ = written(tmp_path, "answer_token = 'canary'\n")
    settings = load({**environ, "ASKDESK_TOKEN": " canary "})

    assert (settings.token, settings.answer_token) == ("canary", "canary")
    assert "canary" not in repr(settings)
    assert problems(written(tmp_path, "token = ['canary']\n")) == [f"{tmp_path}/askdesk.toml: token: must be text"]


def test_a_token_is_taken_back_by_a_blank_one(tmp_path: Path) -> None:
    environ = written(tmp_path, "token = 'canary'\n")

    assert load({**environ, "ASKDESK_TOKEN": " "}).token == ""
