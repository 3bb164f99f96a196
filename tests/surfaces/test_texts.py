"""The catalogue: every language says the same, and says all that the code asks for."""

import ast
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from string import Formatter

import pytest

import askdesk
from askdesk.core.model import Allowed, Answer, Answered, Declined, Denied, Expired, Outcome, Withdrawn
from askdesk.core.text import Shown, shown
from askdesk.surfaces import call, rule
from askdesk.surfaces.phrases import outcome_word
from askdesk.surfaces.snooze import SPANS
from askdesk.surfaces.terminal import decision, decision_view, inbox_view, sheet, sheet_view
from askdesk.surfaces.texts import ENGLISH, languages, say, speak, texts
from askdesk.surfaces.web.filled import WORDED
from askdesk.wire.form import Words

SOURCE = Path(str(files(askdesk)))
OUTCOMES: tuple[Outcome, ...] = (
    *(Answered([Answer(other="x")]), Declined(), Allowed(), Denied()),
    *(Expired(), Withdrawn()),
)


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    speak(ENGLISH)


def placeholders(words: str) -> list[str]:
    return sorted({name for _, name, _, _ in Formatter().parse(words) if name is not None})


def test_there_are_english_and_spanish() -> None:
    assert languages() == ("en", "es")


@pytest.mark.parametrize("language", languages())
def test_every_language_has_the_same_keys_as_english(language: str) -> None:
    assert list(texts(language)) == list(texts(ENGLISH))


@pytest.mark.parametrize("language", languages())
def test_every_text_has_the_same_places_for_values_as_in_english(language: str) -> None:
    assert {key: placeholders(words) for key, words in texts(language).items()} == {
        key: placeholders(words) for key, words in texts(ENGLISH).items()
    }


@pytest.mark.parametrize("language", languages())
def test_every_text_has_words_that_can_be_shown_and_stands_on_one_line_unless_it_is_a_help(language: str) -> None:
    for key, words in texts(language).items():
        assert words.strip(), key
        assert shown(words, lines=True) == words, key
        assert "\n" not in words or key.endswith(".help"), key


@pytest.mark.parametrize("language", languages())
def test_places_for_values_are_plain_names(language: str) -> None:
    assert [name for words in texts(language).values() for name in placeholders(words) if not name.isidentifier()] == []


def trees(pattern: str = "**/*.py") -> Iterator[ast.AST]:
    for path in sorted(SOURCE.glob(pattern)):
        yield from ast.walk(ast.parse(path.read_text("utf-8")))


def is_key(text: str) -> bool:
    """Whether a text of the source is a key: `table.name`, where there is such a table."""
    table, _, name = text.partition(".")
    return name.isidentifier() and table in {key.partition(".")[0] for key in texts(ENGLISH)}


def text_in(tree: ast.AST) -> str:
    return tree.value if isinstance(tree, ast.Constant) and isinstance(tree.value, str) else ""


SAID = re.compile(r"""say\(\s*["']([\w.]+)["'](\s*~)?""")


def said_in_templates() -> set[tuple[str, bool]]:
    """What the page's templates say, and whether it is only how a key begins."""
    templates = sorted(SOURCE.glob("surfaces/web/templates/*.html"))
    found = (SAID.findall(path.read_text("utf-8")) for path in templates)
    return {(text, bool(joined)) for pairs in found for text, joined in pairs}


def formed_starts() -> set[str]:
    """How keys begin that are made of parts, such as `leave.` in f"leave.{row}"."""
    starts = (text_in(tree.values[0]) for tree in trees() if isinstance(tree, ast.JoinedStr))
    return {start for start in starts if is_key(f"{start}x")} | {text for text, formed in said_in_templates() if formed}


def written_keys() -> set[str]:
    """Keys that stand in the source as they are."""
    written = {text for text in map(text_in, trees()) if is_key(text)} | {text for text, _ in said_in_templates()}
    return written - formed_starts()


def feet() -> set[tuple[str, str]]:
    """What stands in the feet of pages: pairs of a key and what it does."""
    lists = (tree.elts for tree in trees("surfaces/terminal/*_view.py") if isinstance(tree, ast.List))
    pairs = (pair.elts for items in lists for pair in items if isinstance(pair, ast.Tuple) and len(pair.elts) == 2)
    return {(text_in(key), text_in(does)) for key, does in pairs if text_in(key)}


FORMED: dict[str, set[str]] = {
    "call.": {*call._TOOLS, "run_in_background", "dangerouslyDisableSandbox", "replace_all"},
    "decision.": {
        *("allow", "change", "always", "deny", *decision.WORDED, "run", "again", "back", "remember"),
        *(f"{row}_title" for row in decision.WORDED),
    },
    "does.": {does for _, does in feet() if does} | {"send", "choose", "go_on", "just_send"},
    "ended.": {type(outcome).__name__.lower() for outcome in OUTCOMES},
    "decision_help.": set(decision_view._HELP),
    "help.": set(sheet_view._HELP),
    "host_dialog.": set(Words._fields),
    "inbox_help.": set(inbox_view._HELP),
    "key.": {key for key, _ in feet()},
    "leave.": {*sheet.LEAVING, *decision.LEAVING},
    "rule.": {
        *rule._PLACES,
        *(f"{kind}Rules_{what}" for kind in ("add", "replace", "remove") for what in ("allow", "deny", "ask")),
        *("addDirectories", "removeDirectories"),
    },
    "rule.setMode_": set(rule._MODES),
    "rule.why_": set(rule._UNGUARDED_MODES),
    "snooze.": {*SPANS, "wake"},
    "web.compare_": {"a", "b"},
    "web.deny_": set(WORDED),
    "web.key_": {"move", "open", "choose", "note", "inbox", "settled", "search", "help", "leave"},
    "web.kind_": {"permission", "questions"},
    "web.order_": {"oldest", "newest"},
    "web.more_open_": {"oldest", "newest"},
    "web.way_": set(WORDED),
}


def used_keys() -> set[str]:
    formed = {f"{start}{name}" for start, names in FORMED.items() for name in names}
    return written_keys() | formed


def test_every_way_to_make_a_key_of_parts_is_known_here() -> None:
    assert formed_starts() - set(FORMED) == set()


def test_every_key_in_use_has_a_text() -> None:
    assert used_keys() - set(texts(ENGLISH)) == set()


def test_an_outcome_has_a_word_whatever_it_is() -> None:
    assert [outcome_word(outcome) for outcome in OUTCOMES] == [
        *("answered", "declined", "allowed", "denied", "expired", "withdrawn")
    ]


def test_values_go_into_their_places() -> None:
    assert say("review.blanks", count=1, of=4) == "Blank: 1 of 4. They are sent as blanks."


@pytest.mark.parametrize("value", ["{0.__class__}", "{value.__class__}", "{}", "{{", "}", "{missing}", "%s", "$x"])
def test_a_value_is_never_read_as_a_format(value: str) -> None:
    assert say("sheet.default", value=Shown(value)) == f"Take the agent's suggestion: {value}"
    assert say("answer.noted", words=Shown(value), note=Shown(value)) == f"{value}; note: {value}"


@pytest.mark.parametrize("language", ["es", "ES", "es-MX", "es_ES.UTF-8", "es_ES", "es.UTF-8", "es_ES@euro"])
def test_a_language_is_known_by_any_of_its_names(language: str) -> None:
    speak(language)

    assert say("sheet.send") == "Enviar"


@pytest.mark.parametrize("language", ["", "C", "C.UTF-8", "POSIX", "xx", "est", "../es", "en_GB", "e", "__init__"])
def test_a_language_that_is_not_known_is_english(language: str) -> None:
    speak("es")
    speak(language)

    assert say("sheet.send") == "Send"


def test_a_key_without_a_text_is_a_fault() -> None:
    with pytest.raises(KeyError):
        say("sheet.nothing_like_it")


def test_every_text_is_in_use() -> None:
    assert set(texts(ENGLISH)) - used_keys() == set()
