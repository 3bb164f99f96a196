"""askdesk: agents ask, people answer.

The public names, loaded when first used: importing this package loads no other library.
"""

TYPE_CHECKING = False  # typing alone would triple the import time; type checkers know this spelling too
if TYPE_CHECKING:
    from askdesk.core.desk import Desk as Desk
    from askdesk.core.errors import AlreadySettled as AlreadySettled
    from askdesk.core.errors import AskdeskError as AskdeskError
    from askdesk.core.errors import InvalidAsk as InvalidAsk
    from askdesk.core.errors import InvalidReply as InvalidReply
    from askdesk.core.errors import KeyReused as KeyReused
    from askdesk.core.errors import StoreError as StoreError
    from askdesk.core.errors import UnknownAsk as UnknownAsk
    from askdesk.core.errors import Unreachable as Unreachable
    from askdesk.core.limits import CLAUDE as CLAUDE
    from askdesk.core.limits import OPEN as OPEN
    from askdesk.core.limits import SPRING as SPRING
    from askdesk.core.limits import Limits as Limits
    from askdesk.core.model import Allowed as Allowed
    from askdesk.core.model import Answer as Answer
    from askdesk.core.model import Answered as Answered
    from askdesk.core.model import Ask as Ask
    from askdesk.core.model import Asker as Asker
    from askdesk.core.model import Declined as Declined
    from askdesk.core.model import Denied as Denied
    from askdesk.core.model import Expired as Expired
    from askdesk.core.model import Option as Option
    from askdesk.core.model import Outcome as Outcome
    from askdesk.core.model import Permission as Permission
    from askdesk.core.model import Question as Question
    from askdesk.core.model import Questions as Questions
    from askdesk.core.model import Reply as Reply
    from askdesk.core.model import Settlement as Settlement
    from askdesk.core.model import Withdrawn as Withdrawn
    from askdesk.core.surface import attend as attend
    from askdesk.core.text import shown as shown
    from askdesk.open import ask as ask
    from askdesk.open import open_desk as open_desk
    from askdesk.wire import tool as tool

__version__ = "0.1.0"

_HOMES = {
    "askdesk.core.desk": ("Desk",),
    "askdesk.core.errors": (
        "AlreadySettled",
        "AskdeskError",
        "InvalidAsk",
        "InvalidReply",
        "KeyReused",
        "StoreError",
        "UnknownAsk",
        "Unreachable",
    ),
    "askdesk.core.limits": ("CLAUDE", "OPEN", "SPRING", "Limits"),
    "askdesk.core.model": (
        "Allowed",
        "Answer",
        "Answered",
        "Ask",
        "Asker",
        "Declined",
        "Denied",
        "Expired",
        "Option",
        "Outcome",
        "Permission",
        "Question",
        "Questions",
        "Reply",
        "Settlement",
        "Withdrawn",
    ),
    "askdesk.core.surface": ("attend",),
    "askdesk.core.text": ("shown",),
    "askdesk.open": ("ask", "open_desk"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = ["__version__", "tool", *_HOME]


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name == "tool":
        return import_module("askdesk.wire.tool")
    if name not in _HOME:
        raise AttributeError(f"module 'askdesk' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
