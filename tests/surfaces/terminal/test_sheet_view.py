"""What a person sees of questions on a screen: whole pictures as text."""

from collections.abc import Iterator
from datetime import datetime

import pytest
from msgspec.structs import replace
from tests.surfaces.terminal.sheets import (
    COUNT,
    DATABASE,
    LAYOUT,
    NAME,
    PARTS,
    USUAL,
    ask,
    going_on,
    keys_in,
    pressed,
    rows,
    sheet,
)

from askdesk.core.model import Asker, Declined, Option, Question
from askdesk.surfaces.spans import Style, text_of
from askdesk.surfaces.terminal.sheet import Sheet
from askdesk.surfaces.terminal.sheet_view import asker_line, picture
from askdesk.surfaces.terminal.view import Size
from askdesk.surfaces.texts import ENGLISH, speak

NARROW, WIDE = Size(40, 24), Size(200, 50)
SMALL = Size(40, 12)
ALL = (DATABASE, PARTS, LAYOUT, COUNT)


def seen(start: Sheet, *keys: str) -> str:
    """The picture after these keys, as a person reads it."""
    return "\n".join(rows(picture(going_on(start, *keys))))


def drawn(text: str) -> str:
    """A picture as it is written down in a test: without the first line break and the last."""
    return text.strip("\n").rstrip(" ")


def styles(start: Sheet, style: Style) -> list[str]:
    """The texts that have a style, from top to bottom."""
    return [span.text for spans in picture(start).lines for span in spans if span.style == style]


def test_a_lone_question_at_80_columns() -> None:
    assert seen(sheet(DATABASE)) == drawn("""
builder asks in shop

│ Which database should we use?

❯ 1. ○ Postgres (agent recommends)
       │ A server: strong, and one more thing to run
  2. ○ SQLite
       │ One file, nothing to run
  3. ○ DuckDB
       │ For analysis
  4. ○ Type something else…

  Note: n to add one
  Send
  Chat about this instead

Enter choose and send  Space choose  Esc leave  ? all keys  ↑↓ move  n note
""")


def test_a_lone_question_at_40_columns() -> None:
    assert seen(sheet(DATABASE, size=NARROW)) == drawn("""
builder asks in shop

│ Which database should we use?

❯ 1. ○ Postgres (agent recommends)
       │ A server: strong, and one more
       │ thing to run
  2. ○ SQLite
       │ One file, nothing to run
  3. ○ DuckDB
       │ For analysis
  4. ○ Type something else…

  Note: n to add one
  Send
  Chat about this instead

Enter choose and send  Space choose
Esc leave  ? all keys  ↑↓ move  n note
""")


def test_at_200_columns_it_looks_as_at_80() -> None:
    for questions in ((DATABASE,), (PARTS,), (COUNT,)):
        assert seen(sheet(*questions, size=WIDE)) == seen(sheet(*questions))


def test_several_choices_with_own_words_beside_them() -> None:
    assert seen(sheet(PARTS), "1", "3", "4", *"audit log") == drawn("""
builder asks in shop

│ Which parts do you want?
Several may be chosen.

  1. [✔] Sign-in
         │ With a password
  2. [ ] Logging
  3. [✔] Metrics
❯ 4. [✔] audit log

  Note: n to add one
  Send
  Chat about this instead

Enter use this  Ctrl+J new line  Ctrl+G editor  Esc leave the field
""")


def test_a_number_with_what_is_wrong_with_it() -> None:
    assert seen(sheet(COUNT), *"65") == drawn("""
builder asks in shop

│ How many workers?
A number from 1 to 64.

❯ 65
  “65” does not fit here. A number from 1 to 64.

  Note: n to add one
  Send
  Chat about this instead

Enter use this  Ctrl+J new line  Ctrl+G editor  Esc leave the field
""")


def test_a_text_with_the_agents_suggestion() -> None:
    assert seen(sheet(Question("Which name?", kind="text", default="desk"))) == drawn("""
builder asks in shop

│ Which name?

❯  Type your answer…
  Take the agent's suggestion: desk

  Note: n to add one
  Send
  Chat about this instead

Enter use this  Ctrl+J new line  Ctrl+G editor  Esc leave the field
""")


def test_tabs_with_what_is_done() -> None:
    assert seen(sheet(*ALL), "2", "3", "tab:1") == drawn("""
builder asks in shop
   ✔ Database   ✔ Parts   ○ Layout   ○ Workers   Review

│ Which parts do you want?
Several may be chosen.

  1. [ ] Sign-in
         │ With a password
  2. [ ] Logging
❯ 3. [✔] Metrics
  4. [ ] Type something else…

  Note: n to add one
  Next question
  Chat about this instead

Space on/off  Ctrl+S go on  Esc leave  ? all keys  ↑↓ move  Tab other questions
n note
""")


def test_the_tab_one_is_at_is_marked() -> None:
    assert styles(sheet(*ALL), "tab") == [" ○ ", "Database "]
    assert styles(going_on(sheet(*ALL), "tab:4"), "tab") == [" Review "]


@pytest.mark.parametrize(
    ("at", "tabs"),
    [
        (0, "   ○ Database   ○ Parts   ○ Layout   ›"),
        (2, "‹  ○ Layout   ○ Workers   Review"),
        (4, "‹  ○ Layout   ○ Workers   Review"),
    ],
)
def test_tabs_that_do_not_fit_are_left_out_around_the_one_at_hand(at: int, tabs: str) -> None:
    assert seen(sheet(*ALL, size=Size(44, 24)), f"tab:{at}").split("\n")[1] == tabs


def test_a_question_without_a_header_has_its_number_for_a_tab() -> None:
    untitled = (Question("One?", ["a", "b"]), Question("Two?", ["a", "b"], header="A header that is too long"))

    assert seen(sheet(*untitled)).split("\n")[1] == "   ○ 1   ○ A header th…   Review"


def test_a_preview_stands_beside_the_list() -> None:
    assert seen(sheet(LAYOUT)) == drawn("""
builder asks in shop

│ Which layout do you like?

❯ 1. ○ Sidebar                   │ Preview of Sidebar
       │ On the left             │ +---------+------+
  2. ○ Top bar                   │ | Sidebar | Main |
       │ Above                   │ +---------+------+
  3. ○ Type something else…      │
                                 │
  Note: n to add one             │
  Send                           │
  Chat about this instead        │

Enter choose and send  Space choose  Esc leave  ? all keys  ↑↓ move
PgUp/PgDn read on  o in a browser  n note
""")


def test_a_preview_stands_below_the_list_where_there_are_few_columns() -> None:
    assert seen(sheet(LAYOUT, size=NARROW)) == drawn("""
builder asks in shop

│ Which layout do you like?

❯ 1. ○ Sidebar
       │ On the left
  2. ○ Top bar
       │ Above
│ Preview of Sidebar
│ +---------+------+
│ | Sidebar | Main |
│ +---------+------+
  3. ○ Type something else…

  Note: n to add one
  Send
  Chat about this instead

Enter choose and send  Space choose
Esc leave  ? all keys  ↑↓ move
""")


def test_a_long_preview_says_where_one_is_and_is_read_on() -> None:
    start = going_on(sheet(LAYOUT), "down")

    assert previewed(start) == ["Preview of Top bar", *top_bar(1, 13), "lines 1 to 13 of 40"]
    assert previewed(start, "pagedown") == ["Preview of Top bar", *top_bar(9, 21), "lines 9 to 21 of 40"]


def previewed(start: Sheet, *keys: str) -> list[str]:
    """What stands to the right of the list."""
    return [row[35:] for row in seen(start, *keys).split("\n") if row[33:34] == "│"]


def top_bar(first: int, last: int) -> list[str]:
    return [f"row {number} of the top bar" for number in range(first, last + 1)]


def test_without_an_option_at_hand_it_is_said_how_to_see_a_preview() -> None:
    assert seen(sheet(LAYOUT), "end").split("\n")[4][33:] == "│ Move to an option to see its preview."
    assert seen(sheet(LAYOUT), "down", " ", "end").split("\n")[4][33:] == "│ Preview of Top bar"


def test_an_option_without_a_preview_says_so() -> None:
    partly = Question("Which layout?", [*LAYOUT.options, Option("Neither", "No bar at all")])

    assert previewed(going_on(sheet(partly), "down", "down"))[:3] == [
        *("Preview of Neither", "no preview for this option", "")
    ]


def test_previews_work_where_several_may_be_chosen() -> None:
    several = Question("Which layouts?", LAYOUT.options, multi_select=True)

    assert seen(sheet(several), "1").split("\n")[5:9] == [
        "❯ 1. [✔] Sidebar                 │ Preview of Sidebar",
        "         │ On the left           │ +---------+------+",
        "  2. [ ] Top bar                 │ | Sidebar | Main |",
        "         │ Above                 │ +---------+------+",
    ]


def test_a_note_is_typed_beside_the_choice() -> None:
    assert seen(sheet(DATABASE), "down", " ", "n", *"for now") == drawn("""
builder asks in shop

│ Which database should we use?

  1. ○ Postgres (agent recommends)
       │ A server: strong, and one more thing to run
  2. ● SQLite
       │ One file, nothing to run
  3. ○ DuckDB
       │ For analysis
  4. ○ Type something else…

❯ Note: for now
  Send
  Chat about this instead

Enter done  Ctrl+J new line  Ctrl+G editor  Esc done
""")


def test_the_review_lists_everything_and_says_what_is_blank() -> None:
    keys = ("n", *"for now", "enter", "2", "1", "4", *"audit", "tab", "tab", "7", "enter")

    assert seen(sheet(*ALL), *keys) == drawn("""
builder asks in shop
   ✔ Database   ✔ Parts   ○ Layout   ✔ Workers   Review

Your answers

  1. ✔ Which database should we use?
       SQLite; note: for now
  2. ✔ Which parts do you want?
       Sign-in, "audit"
  3. ○ Which layout do you like?
       (blank)
  4. ✔ How many workers?
       "7"

Blank: 1 of 4. They are sent as blanks.
❯ Send, leaving 1 blank
  Chat about this instead

Enter take it  Esc leave  ↑↓ move  Tab other questions
""")


def test_the_review_of_a_whole_answer_just_sends() -> None:
    assert seen(sheet(DATABASE, COUNT, size=NARROW), "2", "7", "enter") == drawn("""
builder asks in shop
   ✔ Database   ✔ Workers   Review

Your answers

  1. ✔ Which database should we use?
       SQLite
  2. ✔ How many workers?
       "7"

❯ Send
  Chat about this instead

Enter take it  Esc leave  ↑↓ move
Tab other questions
""")


def test_the_review_says_what_does_not_fit() -> None:
    assert seen(sheet(DATABASE, COUNT), "2", *"many", "tab").split("\n")[7:9] == [
        "  2. ○ How many workers?",
        "       “many” does not fit here. A number from 1 to 64.",
    ]


def test_talking_shows_what_goes_along() -> None:
    assert seen(sheet(DATABASE, PARTS), "2", "c") == drawn("""
builder asks in shop
   ✔ Database   ○ Parts   Review

What would you rather say? It is sent instead of answers.

❯  What should we talk about?

What you chose so far goes along:
  Database: SQLite

Enter send this  Ctrl+J new line  Ctrl+G editor  Esc back
""")


def test_leaving_is_asked_with_staying_first() -> None:
    assert seen(sheet(DATABASE), "escape") == drawn("""
builder asks in shop

Leave this ask?

❯ 1. No, go on answering
  2. Leave it open; what I typed is kept as a draft
  3. Decline to answer
  4. Decline, and stop the agent

↑↓ move  Enter take it  Esc stay
""")


def test_the_help_names_the_keys() -> None:
    assert seen(sheet(DATABASE), "?") == drawn("""
Keys

  ↑ ↓ move; Home and End go to the first and last row
  Space chooses; Enter chooses and goes on, and sends a lone question; where
    several may be chosen, both turn on and off
  Ctrl+S goes on, and sends a lone question and the review
  1 to 9 choose that option
  own words: type on their row; Ctrl+J or Shift+Enter makes a new line, Ctrl+Z
    takes a change back
  n adds a note; it never changes what was chosen
  Tab and Shift+Tab, or ← →, go to the other questions and to the review
  PgUp and PgDn read on in a preview or a long page; Ctrl+← → move it sideways;
    o opens it in a browser, where askdesk serve runs
  c declines with a message and sends along what was chosen
  Ctrl+G opens your editor for what is being typed
  Ctrl+R starts anew; once more, it brings everything back
  Esc leaves a field; once more, it asks whether to leave; Ctrl+C stops at once
  a click chooses, the wheel reads on
Any key goes back.
""")


def test_everything_of_ours_is_said_in_spanish(spanish: None) -> None:
    assert seen(sheet(DATABASE, PARTS), "2", "1") == drawn("""
builder pregunta en shop
   ✔ Database   ✔ Parts   Revisar

│ Which parts do you want?
Se pueden elegir varias.

❯ 1. [✔] Sign-in
         │ With a password
  2. [ ] Logging
  3. [ ] Metrics
  4. [ ] Escribe otra cosa…

  Nota: n para añadir una
  Revisar y enviar
  Mejor hablemos de esto

Espacio sí/no  Ctrl+S seguir  Esc salir  ? todas las teclas  ↑↓ mover
Tab otras preguntas  n nota
""")


@pytest.fixture
def spanish() -> Iterator[None]:
    speak("es")
    yield
    speak(ENGLISH)


def test_what_is_told_stands_above_the_keys() -> None:
    assert seen(sheet(DATABASE), "9").split("\n")[-3:] == [
        "",
        "There is no number 9 here.",
        "Enter choose and send  Space choose  Esc leave  ? all keys  ↑↓ move  n note",
    ]


def test_in_few_lines_the_page_follows_the_focus() -> None:
    assert seen(sheet(DATABASE, size=SMALL), "down", "down") == drawn("""
builder asks in shop

↑ 5 more lines
  2. ○ SQLite
       │ One file, nothing to run
❯ 3. ○ DuckDB
       │ For analysis
↓ 5 more lines

Enter choose and send  Space choose
Esc leave  ? all keys  ↑↓ move  n note
""")


def test_in_few_lines_the_end_can_be_reached() -> None:
    assert seen(sheet(DATABASE, size=SMALL), "end").split("\n")[2:8] == [
        "↑ 9 more lines",
        "  4. ○ Type something else…",
        "",
        "  Note: n to add one",
        "  Send",
        "❯ Chat about this instead",
    ]


def test_a_long_question_is_read_with_the_page_keys() -> None:
    long = sheet(Question("\n".join(f"line {n}" for n in range(30)), ["Yes", "No"]), size=SMALL)

    assert seen(long).split("\n")[2:7] == ["↑ 28 more lines", "│ line 28", "│ line 29", "", "❯ 1. ○ Yes"]
    assert seen(long, *["pageup"] * 8).split("\n")[2:4] == ["│ line 0", "│ line 1"]


def test_own_words_of_several_lines_are_shown_as_they_are_typed_and_in_one_line_after() -> None:
    start = going_on(sheet(NAME), *"one", "ctrl+j", *"two")

    assert seen(start).split("\n")[4:6] == ["❯ one", "  two"]
    assert seen(start, "escape").split("\n")[4:6] == ["  one two", ""]


def test_the_cursor_stands_where_the_next_letter_goes() -> None:
    assert picture(going_on(sheet(DATABASE), "4", *"日本", "left")).cursor == (9, 10)
    assert picture(going_on(sheet(DATABASE), "n", *"why")).cursor == (11, 12)
    assert picture(going_on(sheet(DATABASE), "c", "ctrl+j")).cursor == (2, 5)
    assert picture(sheet(DATABASE)).cursor is None


def test_wide_and_right_to_left_labels_are_shown_whole() -> None:
    question = Question("どのデータベース?", ["日本語ラベル", "قاعدة بيانات", "👨\u200d👩\u200d👧 family"])

    assert seen(sheet(question, size=NARROW)).split("\n")[2:7] == [
        "│ どのデータベース?",
        "",
        "❯ 1. ○ 日本語ラベル",
        "  2. ○ قاعدة بيانات",
        "  3. ○ 👨\u200d👩\u200d👧 family",
    ]


def test_an_agents_text_cannot_pass_for_ours() -> None:
    sly = Question("Fine?\n\n❯ Send\n  Chat about this instead", [Option("Yes", "❯ 2. ● No\nSend"), "No\x1b[2J"])

    assert seen(sheet(sly)).split("\n")[2:12] == [
        "│ Fine?",
        "│",
        "│ ❯ Send",
        "│   Chat about this instead",
        "",
        "❯ 1. ○ Yes",
        "       │ ❯ 2. ● No",
        "       │ Send",
        "  2. ○ No\\x1b[2J",
        "  3. ○ Type something else…",
    ]


def test_who_asks_stands_on_one_line() -> None:
    asker = Asker("sub\nagent", project="/home/ana/the shop/", parent="builder")

    by = replace(ask(DATABASE), asker=asker)

    assert text_of(asker_line(by, USUAL)) == "sub agent asks in the shop for builder"
    assert text_of(asker_line(by, Size(24, 24))) == "sub agent asks in the s…"
    assert text_of(asker_line(replace(by, asker=Asker()), USUAL)) == "agent asks"


def test_a_deadline_stands_beside_who_asks() -> None:
    by = replace(ask(DATABASE), deadline=datetime(2031, 5, 7, 14, 5).astimezone())

    assert text_of(asker_line(by, USUAL)) == "builder asks until 2031-05-07 14:05 in shop"


@pytest.mark.parametrize(
    ("keys", "clicks"),
    [
        ((), ["row:option:0", "row:option:1", "row:option:2", "row:own", "row:note", "row:next", "row:chat"]),
        (("4",), ["row:option:0", "row:option:1", "row:option:2", "row:note", "row:next", "row:chat"]),
        (("escape",), ["row:stay", "row:later", "row:decline", "row:stop"]),
        (("?",), []),
    ],
)
def test_what_can_be_chosen_can_be_clicked(keys: tuple[str, ...], clicks: list[str]) -> None:
    assert keys_in(picture(going_on(sheet(DATABASE), *keys))) == clicks


def test_tabs_and_the_rows_of_the_review_can_be_clicked() -> None:
    review = going_on(sheet(DATABASE, PARTS), "1", "tab")

    assert keys_in(picture(review)) == [
        *("tab:1", "tab:0", "tab:2", "row:question:0", "row:question:1", "row:send", "row:chat")
    ]


def test_the_focus_and_what_is_chosen_have_their_own_style() -> None:
    start = going_on(sheet(DATABASE), "down", " ", "down")

    assert [text for text in styles(start, "focus") if text.strip()] == ["❯ ", "DuckDB"]
    assert styles(start, "chosen") == ["● ", "SQLite"]
    assert styles(start, "good") == ["(agent recommends)"]


def test_no_letter_of_an_agents_text_is_hidden_where_a_row_ends() -> None:
    for columns in range(24, 100):
        drawn = picture(sheet(Question("aaaa bbbb cc ddd " * 20, ["A", "B"]), size=Size(columns, 50)))
        assert not [text for spans in drawn.lines if "…" in (text := text_of(spans)) and text.startswith("│")]


def test_a_long_suggestion_is_shown_whole() -> None:
    drawn = rows(picture(sheet(Question("Which?", kind="text", default="word " * 40), size=Size(80, 40))))

    assert " ".join(drawn).count("word") == 40


def test_a_long_question_with_previews_can_be_read_from_its_beginning() -> None:
    text = "\n".join(f"line {number}" for number in range(60))
    long = sheet(Question(text, LAYOUT.options))
    above = going_on(long, *["pageup"] * 20)

    assert seen(above).split("\n")[2:4] == ["│ line 0", "│ line 1"]
    assert seen(going_on(above, *["pagedown"] * 8)) == seen(long)


def test_all_of_the_help_can_be_read_in_a_small_window() -> None:
    start = sheet(DATABASE, size=SMALL)

    assert "a click chooses" in seen(start, "?", *["pagedown"] * 10)
    assert going_on(start, "?", "pagedown", "enter") == start


@pytest.mark.parametrize("size", [Size(24, 10), Size(40, 10), Size(80, 10), Size(40, 12)])
def test_what_is_told_is_seen_in_the_smallest_window(size: Size) -> None:
    told = rows(picture(going_on(sheet(DATABASE, PARTS, size=size), "tab", "tab", "enter")))

    assert "Every question is still blank. Answer at least one, or decline." in " ".join(" ".join(told).split())


def test_leaving_shows_the_message_that_declining_would_send() -> None:
    asked = going_on(sheet(DATABASE), "c", *"wrong project", "escape", "escape")

    assert "wrong project" in seen(asked)
    assert pressed(asked, "3", "enter") == Declined("wrong project")


@pytest.mark.parametrize("keys", [("end",), ("end", "up"), ("end", "up", "up")])
def test_the_foot_does_not_promise_what_enter_and_space_do_not_do(keys: tuple[str, ...]) -> None:
    for question in (DATABASE, PARTS):
        assert "Enter take it" in seen(sheet(question), *keys)
        assert "Space choose" not in seen(sheet(question), *keys)
