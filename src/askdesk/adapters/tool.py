"""AskUserQuestion as a plain callable, and a gate for every other tool: for loops and frameworks of any kind.

`DeskTool` asks on a desk; `AskUserQuestionTool` asks through a function of the application's own; `Dispatcher` takes
every tool call of a loop that somebody wrote by hand. All give the model a text and never raise into a framework, but
for InvalidReply, which is the person's to hear.
"""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from inspect import Signature, signature
from typing import Any, TypeAlias

from msgspec import Struct

from askdesk.adapters.before import Before, decided
from askdesk.adapters.threads import blocking, called, is_cancelled
from askdesk.core import strict
from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, InvalidReply, Problem, quoted
from askdesk.core.limits import OPEN, SPRING, Limits
from askdesk.core.model import (
    Allowed,
    Answered,
    Asker,
    Declined,
    Denied,
    Expired,
    Outcome,
    Permission,
    PreviewFormat,
    Question,
    Questions,
)
from askdesk.wire import permission, tool
from askdesk.wire.words import quote

log = logging.getLogger("askdesk")

Arguments: TypeAlias = str | bytes | Mapping[str, Any]
Answers: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[tuple[Question, ...]], Answers | Awaitable[Answers]]

_INVALID = "NOT ASKED: the call breaks these rules; mend it and call again, or go on without asking.\n{}"
_SILENT = "NOT ANSWERED: the questions were put, and nothing came back. This is not an answer and not consent."
_UNAVAILABLE = "NOT ANSWERED: the questions could not be put to anybody. This is not an answer and not consent."

_UNKNOWN = "NOT RUN: there is no tool {}; the tools are {}."
_UNFIT = "NOT RUN: the call breaks these rules; mend it and call again, or go on without it.\n{}"
_UNDECIDED = "NOT RUN: nobody could decide whether this call is allowed. This is not consent: do not work around it."
_CHANGED_UNFIT = "NOT RUN: the input was changed to one that the tool does not take.\n{}"
_BROKE = "FAILED: the call was allowed and broke off with {}. What it had done until then stays done."
_UNTOLD = "RAN: the call was allowed and ran to its end, but what it returned cannot be told as JSON."


class Result(Struct, frozen=True):
    """What a call came to: the text for the model, and what the loop should know beside it."""

    text: str
    is_error: bool = False  # nobody answered, or the tool did not run to its end
    stop: bool = False  # the person ends the run
    redirect: str = ""  # the person's new instruction, which a loop may also give to the model as theirs


class _NobodySaid(Exception):
    """A handler came back without a single answer, and was allowed to."""


class _Tool(ABC):
    """What a framework needs to know about the tool."""

    name = tool.NAME

    def __init__(self, limits: Limits, previews: PreviewFormat) -> None:
        self._limits = limits
        definition = tool.definition(limits, previews)
        self.description: str = definition["description"]
        self.schema: dict[str, Any] = definition["input_schema"]

    def __call__(self, arguments: Arguments, *, key: str | None = None) -> str:
        """Ask and block until there is a text for the model."""
        return blocking(self.asked(arguments, key=key))

    async def asked(self, arguments: Arguments, *, key: str | None = None) -> str:
        """Ask, and return the text for the model. A key, such as the call's id, makes it the same ask next time."""
        return (await self.result(arguments, key=key)).text

    async def result(self, arguments: Arguments, *, key: str | None = None) -> Result:
        """The same, with what a loop should know beside the text."""
        try:
            questions = tool.parse(arguments, self._limits)
        except InvalidAsk as error:
            return Result(_INVALID.format(error), is_error=True)
        for warning in questions.warnings:
            log.warning("%s", warning)
        try:
            outcome = await self._outcome(questions, key)
        except InvalidReply:
            raise
        except InvalidAsk as error:
            return Result(_INVALID.format(error), is_error=True)
        except _NobodySaid:
            return Result(_SILENT, is_error=True)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return Result(_UNAVAILABLE, is_error=True)  # not this call was cancelled, but what it waited for
        except Exception as error:  # a framework would show it to the model, hang, or run on without an answer
            log.error("the questions could not be asked: %s", type(error).__name__, exc_info=error)
            return Result(_UNAVAILABLE, is_error=True)
        stop = isinstance(outcome, Declined) and outcome.stop
        return Result(tool.text(questions, outcome), not isinstance(outcome, Answered), stop)

    @abstractmethod
    async def _outcome(self, questions: Questions, key: str | None) -> Outcome:
        """How the questions ended."""


class _Door:
    """A desk, from whichever thread and event loop somebody comes."""

    def __init__(self, desk: Desk, asker: Asker | None, deadline: timedelta | None, previews: PreviewFormat) -> None:
        self._desk, self._asker, self._deadline, self._previews = desk, asker, deadline, previews
        self._loop = asyncio.get_running_loop()

    async def ask(self, body: Questions | Permission, key: str | None) -> Outcome:
        if not self._loop.is_running():
            raise RuntimeError("the desk's event loop has ended")
        asking = self._desk.ask(
            body, asker=self._asker, key=key, deadline=self._deadline, preview_format=self._previews
        )
        if asyncio.get_running_loop() is self._loop:
            return await asking
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asking, self._loop))

    def check_may_block(self, instead: str) -> None:
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self._loop:
            raise RuntimeError(f"this would block the desk's own event loop: {instead} instead")


class DeskTool(_Tool):
    """Asks on a desk: durable, and answered on any surface."""

    def __init__(
        self,
        desk: Desk,
        *,
        asker: Asker | None = None,
        limits: Limits = OPEN,
        previews: PreviewFormat = "none",
        deadline: timedelta | None = None,
    ) -> None:
        super().__init__(limits, previews)
        self._door = _Door(desk, asker, deadline, previews)

    def __call__(self, arguments: Arguments, *, key: str | None = None) -> str:
        """Ask from another thread than the desk's own, and block until there is a text for the model."""
        self._door.check_may_block("await tool.asked(arguments)")
        return super().__call__(arguments, key=key)

    async def _outcome(self, questions: Questions, key: str | None) -> Outcome:
        return await self._door.ask(questions, key)


class AskUserQuestionTool(_Tool):
    """Asks through `handler`, which gets the questions and returns `{question text: answer}`.

    An answer is a label, labels joined with ", " (or a list of them), or own words; "" is a blank that the person left
    on purpose. `validate=False` also takes missing answers as blanks. `timeout` is in seconds. Any number of threads
    may call it at once, as long as the handler allows that.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        limits: Limits = SPRING,
        previews: PreviewFormat = "none",
        validate: bool = True,
        timeout: float | None = None,
    ) -> None:
        super().__init__(limits, previews)
        self._handler, self._validate, self._timeout = handler, validate, timeout

    async def _outcome(self, questions: Questions, key: str | None) -> Outcome:
        try:
            async with asyncio.timeout(self._timeout) as patience:
                given = await called(self._handler, questions.items)
        except TimeoutError:
            if patience.expired():
                return Expired()
            raise  # the handler's own: it says nothing about the person
        if self._validate:
            _check_complete(questions, given)
        return self._read(questions, given)

    def _read(self, questions: Questions, given: Answers) -> Outcome:
        answers = {question: answer for question, answer in given.items() if answer is not None}
        known = {question.text for question in questions.items}
        if not self._validate and all(answer in ("", []) for question, answer in answers.items() if question in known):
            raise _NobodySaid
        return tool.read(questions, {"answers": answers}, blanks=True)


def _check_complete(questions: Questions, given: object) -> None:
    if not isinstance(given, Mapping):
        raise InvalidReply(f"the answers must be a mapping of question texts, are {quoted(given)}")
    missing = [question.text for question in questions.items if given.get(question.text) is None]
    if missing:
        raise InvalidReply(f"no answer to {', '.join(quoted(text) for text in missing)}")


class Dispatcher:
    """Every tool call of a loop: questions are put to people, any other tool runs only once it is allowed.

    `tools` are functions by name, asynchronous or not; each gets the released input as keyword arguments and returns a
    text or a JSON value. `before` may decide on a call without people: `Allowed()`, perhaps with another input, or
    `Denied(message)`; None leaves it to them, and what breaks in it denies. Any number of calls may wait at once.
    """

    def __init__(
        self,
        desk: Desk,
        tools: Mapping[str, Callable[..., Any]],
        *,
        asker: Asker | None = None,
        before: Before | None = None,
        folder: str = "",
        limits: Limits = OPEN,
        previews: PreviewFormat = "none",
        deadline: timedelta | None = None,
    ) -> None:
        self._tools = {name: _Function(name, function) for name, function in tools.items()}
        self._before, self._folder = before, folder
        self._questions = DeskTool(desk, asker=asker, limits=limits, previews=previews, deadline=deadline)
        self._door = _Door(desk, asker, deadline, previews)

    def __call__(self, name: str, arguments: Arguments, *, key: str | None = None) -> Result:
        """Dispatch from another thread than the desk's own, and block until there is a result."""
        self._door.check_may_block("await dispatcher.dispatch(name, arguments)")
        return blocking(self.dispatch(name, arguments, key=key))

    async def dispatch(self, name: str, arguments: Arguments, *, key: str | None = None) -> Result:
        """What a call came to. The key is the call's id: the same call again is the same ask, and may run again."""
        if name == tool.NAME:
            return await self._questions.result(arguments, key=key)
        if (function := self._tools.get(name)) is None:
            known = ", ".join(quote(known) for known in (tool.NAME, *self._tools))
            return Result(_UNKNOWN.format(quote(name), known), is_error=True)
        try:
            call = Permission(name, _input(arguments), self._folder)
            function.check(call.value)
            return await self._gated(function, call, key)
        except InvalidReply:
            raise
        except InvalidAsk as error:
            return Result(_UNFIT.format(error), is_error=True)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return Result(_UNDECIDED, is_error=True)  # not this call was cancelled, but what it waited for
        except Exception as error:  # a loop would show it to the model, or end
            log.error("nobody could decide on a call of %s: %s", quoted(name), type(error).__name__, exc_info=error)
            return Result(_UNDECIDED, is_error=True)

    async def _gated(self, function: _Function, call: Permission, key: str | None) -> Result:
        verdict = await decided(self._before, call)
        if verdict is not None:
            return await _carried_out(function, call, verdict, by="the application")
        return await _carried_out(function, call, await self._door.ask(call, key), by="the person")


class _Function:
    """A tool of the application."""

    def __init__(self, name: str, function: Callable[..., Any]) -> None:
        if name == tool.NAME:
            raise ValueError(f"tools: {tool.NAME} is put to people, and needs no function")
        if not callable(function):
            raise TypeError(f"tools: {quoted(name)} must be a function, is {quoted(function)}")
        self._name, self._function, self._signature = name, function, _signature(function)

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise InvalidAsk where the function does not take this input; then nobody needs to be asked."""
        try:
            if self._signature:
                self._signature.bind(**given)
        except TypeError as error:
            raise InvalidAsk([Problem("input", str(error))]) from None

    async def run(self, given: Mapping[str, Any]) -> Result:
        try:
            made = await called(self._function, **given)
        except asyncio.CancelledError:
            if is_cancelled():
                raise
            return Result(_BROKE.format("CancelledError"), is_error=True)
        except Exception as error:  # what it says is for the log: it may hold what no model should read
            log.error("the tool %s failed: %s", quoted(self._name), type(error).__name__, exc_info=error)
            return Result(_BROKE.format(type(error).__name__), is_error=True)
        try:
            told = made if isinstance(made, str) else strict.dumps(made)
        except (TypeError, ValueError, RecursionError):
            log.error("the tool %s returned what JSON does not have: %s", quoted(self._name), type(made).__name__)
            return Result(_UNTOLD, is_error=True)
        return Result(told.encode("utf-8", "replace").decode())  # half a character would break the next request


async def _carried_out(function: _Function, call: Permission, outcome: Outcome, *, by: str) -> Result:
    """Run what was allowed, and nothing else."""
    if not isinstance(outcome, Allowed):
        said = permission.text(outcome, by=by)
        if isinstance(outcome, Denied):
            return Result(said, True, outcome.stop, outcome.redirect)
        return Result(said, is_error=True)
    given = permission.released(call, outcome)
    try:
        function.check(given)
    except InvalidAsk as error:
        return Result(_CHANGED_UNFIT.format(error), is_error=True)
    ran = await function.run(given)
    if outcome.input is None or by != "the person":  # what an application changes is between it and its tools
        return ran
    return Result(f"{permission.text(outcome)} It is: {strict.dumps(given)}\n{ran.text}", ran.is_error)


def _input(arguments: Arguments) -> str | Mapping[str, Any]:
    """The very text that was received, where there is one; some models send none where a tool takes nothing."""
    if isinstance(arguments, bytes):
        try:
            arguments = arguments.decode()
        except UnicodeDecodeError as error:
            raise InvalidAsk([Problem("input", f"is not UTF-8 at byte {error.start}")]) from None
    return "{}" if isinstance(arguments, str) and not arguments.strip() else arguments


def _signature(function: Callable[..., Any]) -> Signature | None:
    try:
        return signature(function)
    except (TypeError, ValueError):  # some that are written in C have none
        return None
