"""Telling an agent something unasked: whom, what, or to stop; what each key does. Pure: what it wants done, it says."""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from askdesk.core.text import Shown, is_blank
from askdesk.core.work import Working
from askdesk.surfaces.terminal.field import Field
from askdesk.surfaces.texts import say

Mode: TypeAlias = Literal["choose", "write", "stop"]
STOPPING = ("back", "stop")


class Tell(Struct, frozen=True):
    """Something to be told to an agent."""

    to: Working
    text: str
    stop: bool = False


class Teller(Struct, frozen=True):
    """The agents at work, which of them is meant, and what is being typed."""

    agents: tuple[Working, ...]
    row: str  # the address of the agent that has the focus, or a row of the question whether to stop it
    to: Working | None = None
    mode: Mode = "choose"
    field: Field = Field()
    said: Shown = Shown("")

    @classmethod
    def start(cls, agents: tuple[Working, ...], to: Working | None, text: str = "") -> Teller:
        """With the agent that is meant; where none is, they are listed, unless there is only one."""
        teller = cls(agents, agents[0].address, field=Field.of(text))
        meant = to or (agents[0] if len(agents) == 1 else None)
        return teller._chosen(meant) if meant else teller

    def _chosen(self, agent: Working) -> Teller:
        return replace(self, mode="write", to=agent, row=agent.address)

    def paste(self, words: str) -> Teller:
        return replace(self, field=self.field.type(words)) if self.mode == "write" else self

    def press(self, key: str, columns: int) -> Teller | Tell | None:
        """The next state, something to tell, or None to leave; what was typed is still in the field then."""
        teller = replace(self, said=Shown(""))
        match self.mode:
            case "choose":
                return teller._choosing(key)
            case "write":
                return teller._writing(key, columns)
            case "stop":
                return teller._stopping(key)

    def _choosing(self, key: str) -> Teller | None:
        addresses = [agent.address for agent in self.agents]
        at = addresses.index(self.row)
        if key.startswith("row:"):
            row = key.removeprefix("row:")
            return self._choosing("enter") if row == self.row else replace(self, row=row) if row in addresses else self
        match key:
            case "up" | "k" | "wheel:up":
                return replace(self, row=addresses[max(at - 1, 0)])
            case "down" | "j" | "wheel:down":
                return replace(self, row=addresses[min(at + 1, len(addresses) - 1)])
            case "enter" | "tab":
                return self._chosen(self.agents[at])
            case "escape":
                return None
            case _:
                return self

    def _writing(self, key: str, columns: int) -> Teller | Tell | None:
        match key:
            case "escape":
                return None
            case "tab" | "shift+tab":
                return replace(self, mode="choose", row=self._next())
            case "ctrl+x":
                return replace(self, mode="stop", row=STOPPING[0])
            case "enter" if is_blank(self.field.text):
                return replace(self, said=say("sheet.type_first"))
            case "enter":
                return self._tell()
            case _:
                field = self.field.press(key, columns)
                return replace(self, field=field) if field else self

    def _next(self) -> str:
        """The agent after the one that is meant: who wants another one most likely means that."""
        addresses = [agent.address for agent in self.agents]
        here = addresses.index(self.row) if self.row in addresses else -1
        return addresses[(here + 1) % len(addresses)]

    def _stopping(self, key: str) -> Teller | Tell | None:
        """Whether to stop it: first the row, then Enter, so that no key alone stops an agent."""
        if key.startswith("row:"):
            row = key.removeprefix("row:")
            return self._stopping("enter") if row == self.row else replace(self, row=row) if row in STOPPING else self
        match key:
            case "up" | "down" | "tab" | "shift+tab" | "j" | "k":
                return replace(self, row=STOPPING[1 - STOPPING.index(self.row)])
            case "enter" if self.row == "stop":
                return self._tell(stop=True)
            case "enter" | "escape":
                return replace(self, mode="write", row=self.to.address if self.to else self.agents[0].address)
            case _:
                return self

    def _tell(self, *, stop: bool = False) -> Tell | None:
        return Tell(self.to, self.field.text.strip(), stop) if self.to else None
