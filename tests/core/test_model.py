"""Values check themselves, and every reply has one canonical form for the ask it settles."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from askdesk.core.checks import likeness
from askdesk.core.errors import InvalidAsk, InvalidReply, Problem
from askdesk.core.model import (
    Allowed,
    Answer,
    Answered,
    Ask,
    Asker,
    Declined,
    Denied,
    Expired,
    Kind,
    Option,
    Permission,
    Question,
    Questions,
    Reply,
    Settlement,
    Withdrawn,
)
from askdesk.core.text import is_blank
from askdesk.testing.clock import NOON

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DATABASE = Question("Which database?", ["Postgres", "SQLite"], header="Database")
FEATURES = Question("Which features?", ["Auth", "Cache", "Red, green", 'Say "hi"'], multi_select=True)
COUNT = Question("How many?", kind="number", minimum=1, maximum=10)
NAME = Question("Which name?", kind="text")


def refused(build: Callable[[], object]) -> tuple[Problem, ...]:
    with pytest.raises((InvalidAsk, InvalidReply)) as caught:
        build()
    problems: tuple[Problem, ...] = caught.value.problems
    return problems


def asked(body: Questions | Permission, **fields: Any) -> Ask:
    return Ask("ask-1", body, Asker("builder"), NOW, **fields)


def test_a_question_takes_options_as_labels_or_options_and_keeps_them_as_a_tuple() -> None:
    assert Question("Which?", ["a", Option("b", "second")]).options == (Option("a"), Option("b", "second"))


@pytest.mark.parametrize(
    ("label", "recommended"),
    [
        ("SQLite (Recommended)", True),
        ("SQLite (recommended) ", True),
        ("SQLite", False),
        ("(Recommended) SQLite", False),
    ],
)
def test_a_recommended_option_says_so_at_the_end_of_its_label(label: str, recommended: bool) -> None:
    assert Option(label).recommended is recommended


@pytest.mark.parametrize(
    ("build", "problems"),
    [
        (lambda: Option(" "), [("label", 'must not be blank, is " "')]),
        (lambda: Option("\u200b"), [("label", 'must not be blank, is "\\u200b"')]),
        (
            lambda: Option("\ud800", "\0", "\0"),
            [
                ("label", 'holds a lone surrogate: "\\ud800"'),
                ("description", 'holds a NUL character: "\\u0000"'),
                ("preview", 'holds a NUL character: "\\u0000"'),
            ],
        ),
        (lambda: Question(""), [("question", 'must not be blank, is ""')]),
        (
            lambda: Question(" ", ["a", "b", "a"], header="\0"),
            [
                ("question", 'must not be blank, is " "'),
                ("header", 'holds a NUL character: "\\u0000"'),
                ("options[2].label", 'must be unique, repeats options[0]: "a"'),
            ],
        ),
        (
            lambda: Question("Why?", ["a"], kind="text", multi_select=True, default="\0"),
            [
                ("options", "must be empty for a text question, has 1"),
                ("multiSelect", "must be false for a text question"),
                ("default", 'holds a NUL character: "\\u0000"'),
            ],
        ),
        (
            lambda: Question("How many?", kind="number", minimum=3, maximum=2),
            [("min", "must not be above max 2, is 3")],
        ),
        (lambda: Questions([]), [("questions", "needs at least 1, has 0")]),
        (
            lambda: Questions([DATABASE, FEATURES, Question("Which database? ", ["a", "b"])]),
            [("questions[2].question", 'must be unique, repeats questions[0]: "Which database? "')],
        ),
        (
            lambda: Permission(" ", "[]", "\0", "\0", ["1"]),
            [
                ("tool", 'must not be blank, is " "'),
                ("input", "must be a JSON object, is []"),
                ("folder", 'holds a NUL character: "\\u0000"'),
                ("description", 'holds a NUL character: "\\u0000"'),
                ("suggestions[0]", "must be a JSON object, is 1"),
            ],
        ),
        (lambda: Permission("Bash", '{"a":1,"a":2}'), [("input", 'has the key "a" twice in one object')]),
        (lambda: Permission("Bash", {"a": float("nan")}), [("input", "is not a JSON object")]),
        (lambda: Permission("Bash", {"a": {1}}), [("input", "is not a JSON object")]),
        (lambda: Permission("Bash", {"a": "\ud800"}), [("input", "holds a lone surrogate")]),
        (lambda: Asker(""), [("agent", 'must not be blank, is ""')]),
        (lambda: Asker("a", session="\0"), [("session", 'holds a NUL character: "\\u0000"')]),
        (lambda: asked(Questions([NAME]), key=" "), [("key", 'must not be blank, is " "')]),
        (lambda: Answer(), [("", "an answer needs a choice, own words or a note")]),
        (lambda: Answer(other=" \u200b", note="\n"), [("", "an answer needs a choice, own words or a note")]),
        (
            lambda: Answer([""], "\0", "\ud800"),
            [
                ("chosen", 'must not be blank, is ""'),
                ("other", 'holds a NUL character: "\\u0000"'),
                ("note", 'holds a lone surrogate: "\\ud800"'),
            ],
        ),
        (lambda: Answered([]), [("", "blank everywhere is not an answer")]),
        (lambda: Answered([None, None]), [("", "blank everywhere is not an answer")]),
        (lambda: Declined("\0"), [("message", 'holds a NUL character: "\\u0000"')]),
        (lambda: Denied("\0"), [("message", 'holds a NUL character: "\\u0000"')]),
        (lambda: Denied(redirect="\0"), [("redirect", 'holds a NUL character: "\\u0000"')]),
        (lambda: Withdrawn("\0"), [("reason", 'holds a NUL character: "\\u0000"')]),
        (lambda: Allowed("[]"), [("input", "must be a JSON object, is []")]),
        (lambda: Allowed("x"), [("input", "is not JSON: Expecting value at line 1, column 1")]),
    ],
)
def test_a_value_that_would_break_a_rule_is_never_made(
    build: Callable[[], object], problems: list[tuple[str, str]]
) -> None:
    assert refused(build) == tuple(Problem(*problem) for problem in problems)


def test_of_two_equal_labels_the_second_is_named() -> None:
    assert refused(lambda: Question("Which?", ["a", "b", " b"])) == (
        Problem("options[2].label", 'must be unique, repeats options[1]: " b"'),
    )


def test_a_bad_suggestion_is_named_and_not_the_input() -> None:
    (problem,) = refused(lambda: Permission("Bash", "{}", suggestions=[{"a": 1}, {"a": float("nan")}]))
    assert problem.path == "suggestions[1]"


@pytest.mark.parametrize(
    ("question", "given", "fitted"),
    [
        (DATABASE, Answer(["SQLite"]), Answer(["SQLite"])),
        (DATABASE, Answer(other="SQLite"), Answer(["SQLite"])),
        (DATABASE, Answer(other="SQLite "), Answer(other="SQLite ")),
        (DATABASE, Answer(other="Postgres, SQLite"), Answer(other="Postgres, SQLite")),
        (DATABASE, Answer(["SQLite"], other=" "), Answer(["SQLite"])),
        (DATABASE, Answer(["SQLite"], other="SQLite"), Answer(["SQLite"])),
        (DATABASE, Answer(["SQLite", "SQLite"]), Answer(["SQLite"])),
        (DATABASE, Answer(other="  ", note="why?"), Answer(note="why?")),
        (FEATURES, Answer(["Cache", "Auth"]), Answer(["Auth", "Cache"], multi_select=True)),
        (FEATURES, Answer(["Cache"], other="Auth"), Answer(["Auth", "Cache"], multi_select=True)),
        (FEATURES, Answer(other="Cache, Auth"), Answer(["Auth", "Cache"], multi_select=True)),
        (FEATURES, Answer(other='"Red, green", Auth'), Answer(["Auth", "Red, green"], multi_select=True)),
        (FEATURES, Answer(other="Red, green"), Answer(other="Red, green", multi_select=True)),
        (FEATURES, Answer(other="Auth, Auth"), Answer(other="Auth, Auth", multi_select=True)),
        (FEATURES, Answer(other="Auth,Cache"), Answer(other="Auth,Cache", multi_select=True)),
        (FEATURES, Answer(other="Auth, more"), Answer(other="Auth, more", multi_select=True)),
        (FEATURES, Answer(["Auth"], "more", "note"), Answer(["Auth"], "more", "note", multi_select=True)),
        (NAME, Answer(other="  Ana  "), Answer(other="  Ana  ")),
        (COUNT, Answer(other=" 7 "), Answer(other="7")),
        (COUNT, Answer(other="1e0"), Answer(other="1e0")),
        (COUNT, Answer(note="you choose"), Answer(note="you choose")),
        (COUNT, Answer(other=" ", note="you choose"), Answer(note="you choose")),
    ],
)
def test_an_answer_has_one_canonical_form(question: Question, given: Answer, fitted: Answer) -> None:
    assert question.fit(given) == fitted
    assert question.fit(fitted) == fitted


@pytest.mark.parametrize(
    ("question", "given", "rule"),
    [
        (DATABASE, Answer(["MySQL"]), 'offers no option "MySQL"; own words belong in Other'),
        (DATABASE, Answer(["sqlite"]), 'offers no option "sqlite"; own words belong in Other'),
        (DATABASE, Answer(["Postgres", "SQLite"]), "takes one answer, got 2"),
        (DATABASE, Answer(["Postgres"], other="and more"), "takes one answer, got 2"),
        (DATABASE, Answer(["Postgres"], other="SQLite"), "takes one answer, got 2"),
        (FEATURES, Answer(["Auth", "No"]), 'offers no option "No"; own words belong in Other'),
        (NAME, Answer(["Ana"]), 'offers no option "Ana"; own words belong in Other'),
        (COUNT, Answer(["1"]), "takes a number, not an option"),
        (COUNT, Answer(other="seven"), 'takes a number, got "seven"'),
        (COUNT, Answer(other="nan"), 'takes a number, got "nan"'),
        (COUNT, Answer(other="inf"), 'takes a number, got "inf"'),
        (COUNT, Answer(other="1e999"), 'takes a number, got "1e999"'),
        (COUNT, Answer(other="1_0"), 'takes a number, got "1_0"'),
        (COUNT, Answer(other="１"), 'takes a number, got "\\uff11"'),
        (COUNT, Answer(other="0x1"), 'takes a number, got "0x1"'),
        (COUNT, Answer(other="0.99"), "takes a number from 1, got 0.99"),
        (COUNT, Answer(other="10.5 "), "takes a number up to 10, got 10.5"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused(question: Question, given: Answer, rule: str) -> None:
    assert refused(lambda: question.fit(given)) == (Problem("", rule),)


def test_a_number_of_thousands_of_digits_is_refused_shortly() -> None:
    (problem,) = refused(lambda: COUNT.fit(Answer(other="9" * 100_000)))
    assert problem.rule.startswith("takes a number, got ")
    assert len(problem.rule) < 100


@pytest.mark.parametrize(
    ("question", "answer", "text"),
    [
        (DATABASE, Answer(["SQLite"]), "SQLite"),
        (Question("Which?", ["a, b", 'say "hi"']), Answer(["a, b"]), "a, b"),
        (Question("Which?", ["a, b", 'say "hi"']), Answer(['say "hi"']), 'say "hi"'),
        (DATABASE, Answer(other='use DuckDB, "the fast one"\nplease '), 'use DuckDB, "the fast one"\nplease '),
        (DATABASE, Answer(note="none fits"), ""),
        (FEATURES, Answer(["Auth"]), "Auth"),
        (FEATURES, Answer(["Cache", "Auth"]), "Auth, Cache"),
        (FEATURES, Answer(["Red, green", "Auth", 'Say "hi"']), 'Auth, "Red, green", "Say \\"hi\\""'),
        (FEATURES, Answer(other='my own, "thing"'), 'my own, "thing"'),
        (FEATURES, Answer(["Auth"], other="my own thing"), "Auth, my own thing"),
        (FEATURES, Answer(["Auth"], other='this, "that"'), 'Auth, "this, \\"that\\""'),
        (COUNT, Answer(other="7"), "7"),
    ],
)
def test_the_text_of_an_answer_is_what_the_tool_format_gives(question: Question, answer: Answer, text: str) -> None:
    assert question.fit(answer).text == text


LABELS = st.text(st.sampled_from('ab,," \\é\n'), min_size=1, max_size=6) | st.text(min_size=1, max_size=8)
OPTIONS = (
    st.lists(LABELS, min_size=2, max_size=5, unique_by=likeness)
    .filter(lambda labels: not any(is_blank(label) or "\0" in label for label in labels))
    .map(tuple)
)
WORDS = (st.just("") | LABELS).filter(lambda words: "\0" not in words)


@st.composite
def two_answers(draw: st.DrawFn) -> tuple[Question, Answer, Answer]:
    """A multi-select question, and two answers that choose something, near enough to be taken for each other."""
    labels = draw(OPTIONS)
    question = Question("Which?", labels, multi_select=True)

    def answer() -> Answer:
        chosen = draw(st.lists(st.sampled_from(labels), min_size=1, unique=True))
        near = st.sampled_from([*labels, ", ".join(labels), question.fit(Answer(labels)).text])
        return question.fit(Answer(chosen, draw(WORDS | near)))

    return question, answer(), answer()


@settings(max_examples=400)
@given(two_answers())
def test_no_two_different_answers_with_a_choice_give_the_same_text(drawn: tuple[Question, Answer, Answer]) -> None:
    _, one, other = drawn
    assert (one.text == other.text) == ((one.chosen, one.other) == (other.chosen, other.other))


@settings(max_examples=100)
@given(OPTIONS, st.booleans())
def test_no_two_different_sets_of_choices_give_the_same_text(labels: tuple[str, ...], multi_select: bool) -> None:
    question = Question("Which?", labels, multi_select=multi_select)
    numbers = range(len(labels))
    sets = [{n for n in numbers if bits >> n & 1} for bits in range(1, 2 ** len(labels))]
    fitting = [chosen for chosen in sets if multi_select or len(chosen) == 1]
    texts = {Answer.choose(question, *chosen).text for chosen in fitting}
    assert len(texts) == len(fitting)


@settings(max_examples=200)
@given(two_answers())
def test_the_text_of_choices_reads_back_as_those_choices(drawn: tuple[Question, Answer, Answer]) -> None:
    question, answer, _ = drawn
    if answer.other:
        assert question.read(answer.text) == Answer(other=answer.text, multi_select=True)
    else:
        assert question.read(answer.text) == answer


@settings(max_examples=150)
@given(OPTIONS, WORDS, st.booleans())
def test_own_words_alone_are_given_verbatim(labels: tuple[str, ...], words: str, multi_select: bool) -> None:
    assume(not is_blank(words))
    question = Question("Which?", labels, multi_select=multi_select)
    answer = question.read(words)
    assume(not answer.chosen)
    assert (answer.text, answer.other) == (words, words)


def test_options_are_chosen_by_number_from_nought() -> None:
    assert Answer.choose(DATABASE, 1, note="fast") == Answer(["SQLite"], note="fast")
    assert Answer.choose(FEATURES, 2, 0) == Answer(["Auth", "Red, green"], multi_select=True)
    for wrong in (-1, 2):
        rule = f"options are numbered 0 to 1, got {wrong}"
        assert refused(lambda wrong=wrong: Answer.choose(DATABASE, wrong)) == (Problem("", rule),)  # type: ignore[misc]


def test_every_question_whose_answer_does_not_fit_is_named() -> None:
    questions = Questions([DATABASE, FEATURES, COUNT])
    given = (Answer(["MySQL"]), None, Answer(other="x"))
    assert refused(lambda: questions.fit(given)) == (
        Problem('"Which database?"', 'offers no option "MySQL"; own words belong in Other'),
        Problem('"How many?"', 'takes a number, got "x"'),
    )
    assert refused(lambda: questions.fit((None,))) == (
        Problem("", "needs an answer or a blank for each question: 3, got 1"),
    )


def test_an_ask_fits_answers_and_what_was_chosen_before_declining() -> None:
    ask = asked(Questions([DATABASE, FEATURES]))
    loose = (Answer(other="SQLite"), Answer(["Cache", "Auth"]))
    fitted = (Answer(["SQLite"]), Answer(["Auth", "Cache"], multi_select=True))
    assert ask.fit(Answered(loose), None) == Answered(fitted)
    assert ask.fit(Declined("let us talk", loose, True), None) == Declined("let us talk", fitted, True)
    assert ask.fit(Declined("let us talk"), None) == Declined("let us talk")
    assert Declined("no", (None, None)) == Declined("no")


@pytest.mark.parametrize(
    ("body", "reply", "rule"),
    [
        (Questions([DATABASE]), Allowed(), "this ask has questions: answer or decline it"),
        (Questions([DATABASE]), Denied(), "this ask has questions: answer or decline it"),
        (Permission("Bash", "{}"), Answered([Answer(other="yes")]), "this ask is a permission: allow or deny it"),
        (Permission("Bash", "{}"), Declined("no"), "this ask is a permission: allow or deny it"),
    ],
)
def test_a_reply_of_the_other_sort_is_refused(body: Questions | Permission, reply: Reply, rule: str) -> None:
    digest = body.digest if isinstance(body, Permission) else None
    assert refused(lambda: asked(body).fit(reply, digest)) == (Problem("", rule),)


def test_an_ask_gives_its_questions_or_its_permission() -> None:
    permission = Permission("Bash", "{}")
    assert (asked(Questions([NAME])).questions, asked(Questions([NAME])).permission) == ((NAME,), None)
    assert (asked(permission).questions, asked(permission).permission) == ((), permission)


def test_an_ask_is_due_from_its_deadline_on() -> None:
    ask = asked(Questions([NAME]), deadline=NOW)
    assert [ask.is_due(NOW + timedelta(seconds=s)) for s in (-1, 0, 1)] == [False, True, True]
    assert not asked(Questions([NAME])).is_due(NOW)


@pytest.mark.parametrize(
    ("settlement", "summary"),
    [
        (Settlement(Expired(), NOW, "s"), "expired"),
        (Settlement(Answered([Answer(other="x")]), NOW, "s", "ana", "terminal"), "answered by ana on terminal"),
        (Settlement(Denied(), NOW, "s", by="ana"), "denied by ana"),
    ],
)
def test_a_settlement_is_summed_up_in_one_clause(settlement: Settlement, summary: str) -> None:
    assert settlement.summary == summary


@pytest.mark.parametrize("kind", ["text", "number"])
def test_a_question_for_a_text_or_number_has_no_options(kind: Kind) -> None:
    assert Question("What?", kind=kind, default="3").options == ()


def test_values_cannot_be_changed() -> None:
    for value, field in [(DATABASE, "text"), (Answer(other="x"), "other"), (Permission("Bash", "{}"), "input")]:
        with pytest.raises(AttributeError):
            setattr(value, field, "changed")


@pytest.mark.parametrize(
    ("one", "other"), [("A B", "A\u00a0B"), ("A B", "A\nB"), ("A B", " A  B "), ("A\tB", "A    B"), ("é", "e\u0301")]
)
def test_labels_that_look_alike_are_the_same(one: str, other: str) -> None:
    with pytest.raises(InvalidAsk, match="must be unique"):
        Question("Which?", [one, other])


def test_a_settlement_names_a_person_that_every_store_can_keep() -> None:
    with pytest.raises(InvalidReply, match="by: holds a lone surrogate"):
        Settlement(Answered([Answer(["a"])]), NOON, "s", "\udcff")


@pytest.mark.parametrize(
    "preview",
    [
        *("<script>x</script>", "<SCRIPT src=x>", "<style>a{}</style>", "<div><style/></div>", "<html><p>x</p></html>"),
        *("<body>x", "<!DOCTYPE html><p>x</p>", "<!doctype>", "a<script", "<script\n>", "<body/onload=x>"),
    ],
)
def test_a_preview_in_html_is_a_fragment_without_scripts_and_style_sheets(preview: str) -> None:
    question = Question("Which?", [Option("a"), Option("b", preview=preview)])
    Ask("1", Questions([question]), Asker(), NOON, preview_format="markdown")
    with pytest.raises(InvalidAsk, match=re.escape("questions[0].options[1].preview: must be an HTML fragment")):
        Ask("1", Questions([question]), Asker(), NOON, preview_format="html")


@pytest.mark.parametrize(
    "preview", ['<div style="color:red">x</div>', "a < script", "<scripted>", "<b>body</b>", "<p>html"]
)
def test_a_fragment_of_html_is_taken(preview: str) -> None:
    question = Question("Which?", [Option("a"), Option("b", preview=preview)])
    assert Ask("1", Questions([question]), Asker(), NOON, preview_format="html").questions == (question,)
