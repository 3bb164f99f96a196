"""A permission on a screen: what each key does on the way to a decision. Pure; how it looks is in decision_view.

Nothing has the focus at first, and a call that does not fit the screen must be read to its end before it can be
allowed: no key is a yes by default.
"""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.errors import InvalidReply
from askdesk.core.model import Allowed, Ask, Denied, Permission, Reply
from askdesk.core.text import Shown, is_blank, shown
from askdesk.surfaces.call import call_lines, changed_lines, claim_lines, same_json
from askdesk.surfaces.rule import rule_lines
from askdesk.surfaces.spans import MARGIN, Line, Span
from askdesk.surfaces.terminal.field import Edit, Field
from askdesk.surfaces.terminal.passage import Passage
from askdesk.surfaces.terminal.view import Picture, Size, wrap
from askdesk.surfaces.texts import say

Mode: TypeAlias = Literal["list", "view", "change", "changed", "always", "words", "leave", "help"]
WORDED = ("message", "another", "redirect", "stop")  # denials that take words
LEAVING = ("stay", "later")
_SCROLLING = {"pageup": -1, "pagedown": 1, "wheel:up": -1, "wheel:down": 1}
_LETTERS = {"y": "allow", "e": "change", "a": "always", "d": "deny"}
_LONGEST_FIELD = 20_000  # characters that are edited in place; more go to the editor
_GOES_ON = Span(Shown("↳ "), "dim")
VIEWER_ROWS = 6  # of a page, around what is read in full
TICK = 9  # columns before a suggestion: where the focus is, its number and its tick
_CLAIM_ROWS = 3  # of what the agent says about a long call, beside the decisions
_CALL_ROWS = 7  # of the call and its gap, before there is room for what the agent says
_WIDE = 60  # columns in which the keys take one row
_OTHER_ROWS = 7  # of a page, around the call and the decisions


class Decision(Struct, frozen=True):
    """A permission, the row that has the focus, what of the call was seen, and what is being typed."""

    ask: Ask
    size: Size = Size(80, 24)
    mode: Mode = "list"
    row: str = ""
    passage: Passage = Passage(0, 1)  # of the call
    changes: Passage = Passage(0, 1)  # of the changed call
    field: Field = Field()
    words: tuple[tuple[str, str], ...] = ()  # what was typed for each denial
    input: str = ""  # the changed input, as far as it was typed
    ticked: tuple[int, ...] = ()  # suggestions to remember
    look: int = 0  # rows that the suggestions were scrolled away from the focus
    rules: Passage = Passage(0, 1)  # of the suggestions
    said: Shown = Shown("")

    @classmethod
    def start(cls, ask: Ask, size: Size, words: tuple[tuple[str, str], ...] = (), input: str = "") -> Decision:
        return cls(ask, words=words, input=input).resized(size)

    @property
    def permission(self) -> Permission:
        permission = self.ask.permission
        assert permission is not None  # noqa: S101 - whoever makes a Decision looked
        return permission

    @property
    def subject(self) -> str:
        return self.ask.id

    @property
    def page(self) -> str:
        return self.ask.id

    @property
    def spoken(self) -> Shown:
        return self.said

    @property
    def takes_text(self) -> bool:
        return self.mode in ("change", "words")

    @property
    def call_rows(self) -> tuple[Line, ...]:
        """The call in rows as wide as the screen."""
        return rows_of(self.permission, "", self.size.columns)

    @property
    def text_rows(self) -> tuple[Line, ...]:
        """What is being read, in rows as wide as the screen."""
        return rows_of(self.permission, self.input, self.size.columns) if self.is_changing else self.call_rows

    @property
    def rule_rows(self) -> tuple[tuple[int, Line], ...]:
        """The suggestions spelled out, in rows that leave room for a tick; each with the number of its suggestion."""
        return rules_of(self.permission, max(self.size.columns - TICK, 10))

    @property
    def decisions(self) -> tuple[str, ...]:
        always = ("always",) if self.permission.suggestions else ()
        return ("allow", "change", *always, "deny", *WORDED)

    def rows(self) -> tuple[str, ...]:
        match self.mode:
            case "changed":
                return ("run", "again", "back")
            case "always":
                return (*(f"rule:{number}" for number in range(len(self.permission.suggestions))), "remember", "back")
            case "leave":
                return LEAVING
            case _:
                return self.decisions

    @property
    def room(self) -> int:
        """Rows that the call may take beside the decisions."""
        rows = 4 if self.mode == "changed" else len(self.decisions)
        others = _OTHER_ROWS if self.size.columns < _WIDE else _OTHER_ROWS - 1
        return max(self.size.lines - rows - others, 4)  # what it is, its first line, a gap, its last line

    def resized(self, size: Size) -> Decision:
        return replace(self, size=size)._fitted()

    def _fitted(self) -> Decision:
        """The passages in the shape of the screen."""
        height = max(self.size.lines - VIEWER_ROWS, 1)
        columns = self.size.columns
        decision = replace(self, passage=self.passage.resized(len(self.call_rows), height, columns))
        if self.mode == "always":
            return replace(decision, rules=self.rules.resized(len(self.rule_rows), height, columns))
        if self.is_changing:
            return replace(decision, changes=self.changes.resized(len(self.text_rows), height, columns))
        return decision

    @property
    def is_changing(self) -> bool:
        """Whether the changed call is on the screen."""
        return self.mode == "changed" or (self.mode == "view" and self.row == "changed")

    @property
    def read(self) -> Passage:
        """What is being read: the call, or the changed call."""
        return self.changes if self.is_changing else self.passage

    def _with_read(self, passage: Passage) -> Decision:
        return replace(self, changes=passage) if self.is_changing else replace(self, passage=passage)

    @property
    def is_seen(self) -> bool:
        """Whether all that would run has been on the screen."""
        return self.passage.is_seen and (not self.is_changing or self.changes.is_seen)

    def looked(self, picture: Picture) -> Decision:
        """What the picture shows has been seen: no more than that."""
        if self.mode == "always":
            least, most = picture.reach
            look = max(least, min(self.look, most))
            return replace(self, look=look, rules=self.rules.look_at(picture.numbers("rule:")))
        return self._with_read(self.read.look_at(picture.numbers("call:")))

    @property
    def ends(self) -> tuple[list[int], list[int]]:
        """Which rows are shown beside the decisions, before and after a gap; all are before it where they fit.

        The end of the call itself is among them, whatever the agent has to say after it.
        """
        rows = self.read.rows
        if rows <= self.room:
            return list(range(rows)), []
        claim = 0 if self.is_changing else claim_rows(self.permission, self.size.columns)
        end = rows - claim
        claimed = min(claim, _CLAIM_ROWS, max(self.room - _CALL_ROWS, 0))
        tail = max((self.room - 1 - claimed) // 3, 1)
        head = max(self.room - 1 - claimed - tail, 2)
        return list(range(head)), list(range(end - tail, end + claimed))

    def told(self, said: Shown) -> Decision:
        return replace(self, said=said)

    def press(self, key: str) -> Decision | Reply | Edit | None:
        """What comes of a key: the next state, a reply, a wish for an editor, or None to leave the ask open."""
        decision = replace(self, said=Shown(""), look=self.look if key in _SCROLLING else 0)
        try:
            return decision._pressed(key)
        except InvalidReply as error:
            return decision.told(shown(str(error)))

    def _pressed(self, key: str) -> Decision | Reply | Edit | None:
        if key.startswith("row:"):
            return self._clicked(key.removeprefix("row:"))
        match self.mode:
            case "view":
                return self._viewing(key)
            case "help":
                return replace(self, mode="list")
            case "change" | "words":
                return self._typing(key)
            case _:
                return self._choosing(key)

    def paste(self, words: str) -> Decision:
        if not self.takes_text:
            return self.told(say("sheet.paste_where"))
        return self._with_field(self.field.type(words))

    def edited(self, words: str) -> Decision:
        """The text comes back from an editor."""
        decision = self._with_field(Field.of(words.rstrip("\n")))
        try:
            return decision._checked() if self.mode == "change" else decision
        except InvalidReply as error:
            return decision.told(shown(str(error)))

    def _with_field(self, field: Field) -> Decision:
        decision = replace(self, field=field)
        if self.mode == "change":
            return replace(decision, input=field.text)
        others = tuple((row, words) for row, words in self.words if row != self.row)
        return replace(decision, words=(*others, (self.row, field.text)))

    def _choosing(self, key: str) -> Decision | Reply | Edit | None:
        rows = self.rows()
        match key:
            case "up" | "down" | "tab" | "shift+tab":
                return self._moved(-1 if key in ("up", "shift+tab") else 1)
            case "enter":
                return self._entered() if self.row in rows else self.told(say("decision.nothing_chosen"))
            case " " if self.row.startswith("rule:"):
                return self._entered()
            case "v" | "pagedown" | "pageup" | "wheel:down" if self.is_long:
                return self._view()
            case _ if self.mode == "always" and key in _SCROLLING:
                return replace(self, look=self.look + _SCROLLING[key] * max(self.size.lines // 3, 1))
            case "escape":
                return self._escaped()
            case "?" if self.mode == "list":
                return replace(self, mode="help")
            case letter if letter in _LETTERS and _LETTERS[letter] in rows:
                return replace(self, row=_LETTERS[letter])
            case digit if len(digit) == 1 and digit in "123456789" and int(digit) <= len(rows):
                return replace(self, row=rows[int(digit) - 1])  # the focus alone: Enter decides
            case _:
                return self

    @property
    def is_long(self) -> bool:
        """Whether what is to be read does not fit beside the decisions."""
        return self.mode in ("list", "changed") and (self.read.rows > self.room or not self.read.is_seen)

    def _moved(self, by: int) -> Decision:
        rows = self.rows()
        if self.row not in rows:
            return replace(self, row=rows[0 if by > 0 else -1])
        return replace(self, row=rows[(rows.index(self.row) + by) % len(rows)])

    def _clicked(self, row: str) -> Decision | Reply | Edit | None:
        """The first click moves the focus; only a click on the row that has it decides."""
        if self.mode in ("view", "change", "words") or row not in self.rows():
            return self
        return self._entered() if row == self.row else replace(self, row=row)

    def _escaped(self) -> Decision:
        match self.mode:
            case "changed":
                return self._change()
            case "always":
                return self._back()
            case "leave":
                return self._back()
            case _:
                return replace(self, mode="leave", row="stay")

    def _back(self) -> Decision:
        return replace(self, mode="list", row="")._fitted()

    def _view(self) -> Decision:
        return replace(self, row="changed" if self.mode == "changed" else "", mode="view")

    def _viewing(self, key: str) -> Decision:
        moved = {"wheel:up": "up", "wheel:down": "down"}.get(key, key)
        if passage := self.read.press(moved):
            return self._with_read(passage)
        if key in ("escape", "v", "q", "enter"):
            return replace(self, mode="changed" if self.row == "changed" else "list", row="")
        return self

    def _entered(self) -> Decision | Reply | Edit | None:
        name, _, number = self.row.partition(":")
        match name:
            case "allow" | "change" | "always" | "run" if not self.is_seen:
                return self.told(say("decision.unseen", count=self.read.unseen))
            case "allow":
                return Allowed()
            case "change" | "again":
                return self._change()
            case "always":
                return replace(self, mode="always", row="")._fitted()
            case "deny":
                return Denied()
            case "run":
                return Allowed(self.input)
            case "rule":
                return replace(self, ticked=tuple(sorted(set(self.ticked) ^ {int(number)})))
            case "remember":
                return self._remembered()
            case "later":
                return None
            case "back" | "stay":
                return self._back()
            case _:
                return self._worded()

    def _worded(self) -> Decision:
        return replace(self, mode="words", field=Field.of(dict(self.words).get(self.row, "")))

    def _remembered(self) -> Decision | Reply:
        if not self.ticked:
            return self.told(say("decision.tick_first"))
        if not self.rules.is_seen:
            return self.told(say("decision.rules_unseen", count=self.rules.unseen))
        return Allowed(remember=tuple(self.permission.suggestions[number] for number in self.ticked))

    def _change(self) -> Decision:
        text = self.input or json.dumps(self.permission.value, ensure_ascii=False, indent=2)
        decision = replace(self, mode="change", row="change", input=text, field=Field.of(text))
        return decision if len(text) <= _LONGEST_FIELD else replace(decision, said=say("decision.too_long"))

    def _typing(self, key: str) -> Decision | Reply | Edit:
        match key:
            case "enter" if self.mode == "change":
                return self._checked()
            case "enter":
                return self._denied()
            case "escape" | "tab" | "shift+tab":
                return replace(self, mode="list")._fitted()
            case "ctrl+g":
                return Edit(self.field.text, ".json" if self.mode == "change" else ".md")
            case _ if self.mode == "change" and len(self.field.text) > _LONGEST_FIELD:
                return self.told(say("decision.too_long"))
            case _:
                field = self.field.press(key, max(self.size.columns - 4, 10))
                return self._with_field(field) if field else self

    def _denied(self) -> Decision | Reply:
        words = self.field.text.strip()
        match self.row:
            case "message":
                return Denied(words)
            case "stop":
                return Denied(words, stop=True)
            case _ if is_blank(words):
                return self.told(say("sheet.type_first"))
            case "redirect":
                return Denied(redirect=words)
            case _:
                return Denied.another_way(words)

    def _checked(self) -> Decision:
        """Only sound JSON goes on, and only after it was shown what will run instead."""
        Allowed(self.input)  # raises what is wrong with it
        if same_json(self.input, self.permission.input):
            return self.told(say("decision.unchanged"))
        return replace(self, mode="changed", row="", changes=Passage(0, 1))._fitted()


@lru_cache(maxsize=8)
def rows_of(permission: Permission, changed: str, columns: int) -> tuple[Line, ...]:
    """A call, or what a change makes of it, in rows."""
    lines = changed_lines(permission.input, changed) if changed else call_lines(permission)
    return tuple(row for spans in lines for row in wrap(spans, columns, _margin(spans), exact=True))


@lru_cache(maxsize=8)
def claim_rows(permission: Permission, columns: int) -> int:
    """How many of the last rows are the agent's own words about the call."""
    return sum(len(wrap(spans, columns, _margin(spans), exact=True)) for spans in claim_lines(permission))


@lru_cache(maxsize=8)
def rules_of(permission: Permission, columns: int) -> tuple[tuple[int, Line], ...]:
    return tuple(
        (number, row)
        for number, rule in enumerate(permission.suggestions)
        for spans in rule_lines(rule)
        for row in wrap(spans, columns, (_GOES_ON,), exact=True)
    )


def _margin(spans: Line) -> Line:
    """Further rows of a line stand behind the same margin as its first, with a sign that they go on."""
    return (MARGIN, _GOES_ON) if spans[:1] == (MARGIN,) else (_GOES_ON,)
