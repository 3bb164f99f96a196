"""Questions on a screen: what each key does to a form. Pure: no terminal; what it looks like is in sheet_view."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Ask, Option, Question, Reply
from askdesk.core.text import Shown, is_blank, shown, width
from askdesk.surfaces.form import Form, Given
from askdesk.surfaces.phrases import flaw_words
from askdesk.surfaces.terminal.browser import Visit
from askdesk.surfaces.terminal.field import Edit, Field
from askdesk.surfaces.terminal.preview import preview_lines, preview_width
from askdesk.surfaces.terminal.view import Picture, Size
from askdesk.surfaces.texts import say

Mode: TypeAlias = Literal["list", "note", "chat", "leave", "help"]
SIDE_BY_SIDE = 76  # columns from which a preview stands beside the list
_SCROLLING = ("pageup", "pagedown", "wheel:up", "wheel:down")
LEAVING = ("stay", "later", "decline", "stop")


class Sheet(Struct, frozen=True):
    """A form, the row that has the focus, and what is being typed."""

    ask: Ask
    form: Form
    size: Size = Size(80, 24)
    mode: Mode = "list"
    row: str = ""  # an id of rows()
    came_from: str = ""  # the row that had the focus before a note or a message was typed
    field: Field = Field()  # of the row or mode that takes text
    message: str = ""  # what was typed under "chat about this"
    scroll: tuple[int, int] = (0, 0)  # of the preview: rows down, columns to the right
    look: int = 0  # rows that the page was scrolled away from the focus
    aside: tuple[Given, ...] = ()  # what stood here before it was started anew
    said: Shown = Shown("")

    @classmethod
    def start(cls, ask: Ask, size: Size, given: tuple[Given, ...] = (), at: int = 0, message: str = "") -> Sheet:
        form = Form.start(ask.questions)
        form = replace(form, given=given) if given else form
        return cls(ask, form, size, message=message)._arrive(form.go(at))

    @property
    def question(self) -> Question:
        return self.form.question

    @property
    def subject(self) -> str:
        return self.ask.id

    @property
    def page(self) -> str:
        return f"{self.ask.id}:{self.form.at}"

    @property
    def spoken(self) -> Shown:
        return self.said

    @property
    def takes_text(self) -> bool:
        """Whether printable keys are typed into a field."""
        return self.mode in ("note", "chat") or (self.mode == "list" and self.row == "own")

    @property
    def field_columns(self) -> int:
        """How wide a field is drawn, so that up and down move as they look."""
        if self.mode == "chat":
            return self.size.columns - 2
        if self.mode == "note":
            return self.list_columns - 3 - width(say("sheet.note"))
        mark = 0 if self.question.kind != "choice" else 4 if self.question.multi_select else 2
        number = len(f"{len(self.question.options) + 1}. ") if mark else 0
        return self.list_columns - 2 - number - mark

    def rows(self) -> tuple[str, ...]:
        """What can have the focus, from top to bottom."""
        if self.mode == "leave":
            return LEAVING
        if self.form.in_review:
            return (*(f"question:{n}" for n in range(len(self.form.questions))), "send", "chat")
        options = tuple(f"option:{n}" for n in range(len(self.question.options)))
        suggested = ("default",) if self.question.default is not None else ()
        return (*options, "own", *suggested, "note", "next", "chat")

    def resized(self, size: Size) -> Sheet:
        return replace(self, size=size)

    def looked(self, picture: Picture) -> Sheet:
        least, most = picture.reach
        return replace(self, look=max(least, min(self.look, most)))

    def told(self, said: Shown) -> Sheet:
        return replace(self, said=said)

    def press(self, key: str) -> Sheet | Reply | Edit | Visit | None:
        """What comes of a key: the next state, a reply, a wish for an editor or a browser, or None to leave it open."""
        sheet = replace(self, said=Shown(""), look=self.look if key in _SCROLLING else 0)
        try:
            return sheet._pressed(key)
        except InvalidReply as error:
            return sheet.told(shown(str(error)))

    def _pressed(self, key: str) -> Sheet | Reply | Edit | Visit | None:
        if key.startswith("row:"):
            return self._clicked(key.removeprefix("row:"))
        if key.startswith("tab:"):
            return self._arrive(self.form.go(int(key.removeprefix("tab:"))))
        if key == "ctrl+r":
            return self._anew()
        if key == "ctrl+s" and self.mode in ("list", "note"):
            return self._sent() if self.form.in_review else self._on()
        match self.mode:
            case "note" | "chat":
                return self._typed(key)
            case "leave":
                return self._leaving(key)
            case "help":
                return self._looked_on(self._step(key)) if key in _SCROLLING else replace(self, mode="list")
            case "list":
                return self._listed(key)

    def paste(self, words: str) -> Sheet:
        """Pasted text goes into a field, and never decides anything."""
        if not self.takes_text:
            return self.told(say("sheet.paste_where"))
        return self._with_field(self.field.type(words))

    def edited(self, words: str) -> Sheet:
        """The text comes back from an editor."""
        clean = Field().type(words.rstrip("\n")).text
        return self._with_field(self.field.put(clean))

    def _anew(self) -> Sheet:
        """Blank everything, or bring back what was blanked so: nothing is lost by either."""
        given = self.aside or Form.start(self.form.questions).given
        form = replace(self.form, given=given, at=min(self.form.at, len(given) - 1))
        is_back = any(one != Given() for one in given)
        said = say("sheet.back") if is_back else say("sheet.anew")
        return replace(self, aside=self.form.given)._arrive(form).told(said)

    def _with_field(self, field: Field) -> Sheet:
        sheet = replace(self, field=field)
        match self.mode:
            case "note":
                return replace(sheet, form=self.form.note(field.text))
            case "chat":
                return replace(sheet, message=field.text)
            case _:
                return replace(sheet, form=self.form.own(field.text))

    def _listed(self, key: str) -> Sheet | Reply | Edit | Visit | None:
        if self.row == "own" and (step := self._field_key(key)):
            return step
        if self.row == "note" and len(key) == 1 and key not in " n":  # a note may begin with 2, and chooses nothing
            return self._noting()._typed(key)
        match key:
            case "up" | "down":
                return self._moved(-1 if key == "up" else 1)
            case "home" | "end":
                return self._focus(self.rows()[0 if key == "home" else -1])
            case "tab" | "right":
                return self._arrive(self.form.go(self.form.at + 1)) if not self.form.is_lone else self._moved(1)
            case "shift+tab" | "left":
                return self._arrive(self.form.go(self.form.at - 1)) if not self.form.is_lone else self._moved(-1)
            case "pageup" | "pagedown" | "ctrl+left" | "ctrl+right" | "wheel:up" | "wheel:down":
                return self._scrolled(key)
            case "escape":
                return self._escaped()
            case "enter":
                return self._entered(self.row)
            case " ":
                return self._spaced()
            case "n" if not self.form.in_review:
                return self._noting()
            case "o" if self.has_previews:
                return Visit(self.ask.id, self.form.at)
            case "c":
                return self._chatting()
            case "?":
                return replace(self, mode="help")
            case digit if len(digit) == 1 and digit in "123456789":
                return self._digit(int(digit))
            case _:
                return self

    def _field_key(self, key: str) -> Sheet | Edit | None:
        """What a key does to the field with the focus; None where the field has no use for it."""
        if key == "ctrl+g":
            return Edit(self.field.text)
        field = self.field.press(key, self.field_columns)
        if field is None:
            return None
        return self._with_field(field) if field.text != self.field.text else replace(self, field=field)

    def _moved(self, by: int) -> Sheet:
        rows = self.rows()
        at = rows.index(self.row) if self.row in rows else 0
        return self._focus(rows[(at + by) % len(rows)])

    def _focus(self, row: str) -> Sheet:
        sheet = replace(self, row=row, scroll=(0, 0) if row != self.row else self.scroll)
        return replace(sheet, field=Field.of(self.form.here.own)) if row == "own" else sheet

    def _arrive(self, form: Form) -> Sheet:
        """Go to a question, or to the review; the focus is on what was chosen there."""
        sheet = replace(self, form=form, mode="list", scroll=(0, 0), look=0)
        if form.in_review:
            return sheet._focus("send")
        given = form.here
        if given.taken:
            return sheet._focus("default")
        if given.owned or not form.question.options:
            return sheet._focus("own")
        return sheet._focus(f"option:{given.picked[0]}" if given.picked else "option:0")

    @property
    def has_previews(self) -> bool:
        return not self.form.in_review and any(option.preview for option in self.question.options)

    @property
    def previewed(self) -> Option | None:
        """The option whose preview is shown: the one with the focus, else the one chosen."""
        name, _, number = self.row.partition(":")
        if name == "option":
            return self.question.options[int(number)]
        picked = self.form.here.picked
        return self.question.options[picked[0]] if picked else None

    @property
    def list_columns(self) -> int:
        """How wide the list is: all there is, or what a preview beside it leaves."""
        columns = self.size.columns
        if not self.has_previews or columns < SIDE_BY_SIDE:
            return columns
        longest = max((width(shown(option.label)) for option in self.question.options), default=0)
        return max(32, min(longest + 12, columns * 2 // 5))

    @property
    def preview_columns(self) -> int:
        beside = self.list_columns < self.size.columns
        return self.size.columns - (self.list_columns + 3 if beside else 2)

    def _scrolled(self, key: str) -> Sheet:
        """Read on without moving the focus: in the preview, or in a page that is longer than the screen."""
        step = self._step(key)
        option = self.previewed if self.has_previews else None
        down, right = self.scroll
        if not (option and option.preview) or (step < 0 and down == 0):  # above the preview stands the question
            return self._looked_on(step)
        if step > 0 and self.look < 0:
            return self._looked_on(min(step, -self.look))
        rows = len(preview_lines(option.preview, self.ask.preview_format, self.preview_columns))
        widest = preview_width(option.preview, self.ask.preview_format)
        right += {"ctrl+left": -8, "ctrl+right": 8}.get(key, 0)
        return replace(self, scroll=(_within(down + step, rows - 1), _within(right, widest - self.preview_columns)))

    def _step(self, key: str) -> int:
        stacked = self.has_previews and self.list_columns == self.size.columns
        page = (
            3 if stacked else max(self.size.lines // 3, 3)
        )  # no more than can be seen, so that nothing is passed over
        return {"pageup": -page, "pagedown": page, "wheel:up": -3, "wheel:down": 3}.get(key, 0)

    def _looked_on(self, by: int) -> Sheet:
        """Scroll the page; looked() stops it at its ends, which only the picture knows."""
        return replace(self, look=self.look + by)

    def _escaped(self) -> Sheet:
        if self.row == "own":
            return self._focus("next")
        return replace(self, mode="leave", row="stay")

    def _entered(self, row: str) -> Sheet | Reply:
        name, _, number = row.partition(":")
        match name:
            case "option" if self.question.multi_select:
                return replace(self, form=self.form.pick(int(number)))
            case "option":
                return replace(self, form=self.form.pick(int(number)))._on()
            case "own":
                return self._own_entered()
            case "default":
                return replace(self, form=self.form.take())._on()
            case "note":
                return self._noting()
            case "next":
                return self._on()
            case "question":
                return self._arrive(self.form.go(int(number)))
            case "send":
                return self._sent()
            case _:
                return self._chatting()

    def _sent(self) -> Sheet | Reply:
        """Send everything; what does not fit is gone to and told instead."""
        for number, (question, given) in enumerate(zip(self.form.questions, self.form.given, strict=True)):
            if given.flaw(question):
                return self._arrive(self.form.go(number)).told(flaw_words(question, given.own))
        return self.form.reply()

    def _own_entered(self) -> Sheet | Reply:
        if is_blank(self.field.text):
            return self.told(say("sheet.type_first"))
        sheet = replace(self, form=self.form.own(self.field.text))
        if sheet.form.here.flaw(self.question):
            return sheet.told(flaw_words(self.question, self.field.text))
        return sheet._moved(1) if self.question.multi_select else sheet._on()

    def _on(self) -> Sheet | Reply:
        """Go on: to the next question, to the review, or send the answer to a lone question."""
        return self._sent() if self.form.is_lone else self._arrive(self.form.keep())

    def _spaced(self) -> Sheet | Reply:
        name, _, number = self.row.partition(":")
        if name == "option":
            return replace(self, form=self.form.pick(int(number)))
        if name == "default":
            return replace(self, form=self.form.take())
        return self._entered(self.row) if name not in ("send", "next") else self

    def _digit(self, digit: int) -> Sheet | Reply:
        numbered = self.rows() if self.form.in_review else self.rows()[: len(self.question.options) + 1]
        if digit > len(numbered):
            return self.told(say("sheet.no_number", number=digit))
        row = numbered[digit - 1]
        sheet = self._focus(row)
        return sheet if row in ("own", "send", "chat") else sheet._entered(row)

    def _clicked(self, row: str) -> Sheet | Reply | None:
        """A click chooses and moves the focus; it sends only on the row that says so."""
        if self.mode == "leave":
            return self._leaving("enter") if row == self.row else replace(self, row=row)
        sheet = replace(self, mode="list")._focus(row)
        name, _, number = row.partition(":")
        if name == "option":
            return replace(sheet, form=sheet.form.pick(int(number)))
        if name == "default":
            return replace(sheet, form=sheet.form.take())
        return sheet if name == "own" else sheet._entered(row)

    def _noting(self) -> Sheet:
        return replace(self, mode="note", row="note", came_from=self.row, field=Field.of(self.form.here.note))

    def _chatting(self) -> Sheet:
        return replace(self, mode="chat", row="chat", came_from=self.row, field=Field.of(self.message))

    def _typed(self, key: str) -> Sheet | Reply | Edit:
        """Keys in the note and in the message; neither touches what was chosen."""
        match key:
            case "enter" if self.mode == "chat" and is_blank(self.field.text):
                return self.told(say("sheet.type_first"))
            case "enter" if self.mode == "chat":
                return self.form.decline(self.field.text.strip())
            case "enter" | "escape" | "tab" | "shift+tab":
                return replace(self, mode="list")._focus(self._way_back())
            case _:
                return self._field_key(key) or self

    def _way_back(self) -> str:
        """Where the focus was, so that Enter means what it meant before; from the note's own row it goes on."""
        return "next" if self.came_from == "note" else self.came_from

    def _leaving(self, key: str) -> Sheet | Reply | None:
        match key:
            case "up" | "down":
                return self._moved(-1 if key == "up" else 1)
            case "1" | "2" | "3" | "4":
                return replace(self, row=LEAVING[int(key) - 1])
            case "escape":
                return self._arrive(self.form)
            case "enter" if self.row == "later":
                return None
            case "enter" if self.row in ("decline", "stop"):
                return self.form.decline(self.message.strip(), stop=self.row == "stop")
            case "enter":
                return self._arrive(self.form)
            case _:
                return self


def _within(number: int, most: int) -> int:
    return max(0, min(number, most))
