"""AskUserQuestion as a plain callable, for any loop or framework that takes a name, a description and a schema.

Two of them: `DeskTool` asks on a desk; `AskUserQuestionTool` asks through a function of the application's own. Both
give the model a text and never raise into a framework, but for InvalidReply, which is the person's to hear.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import timedelta
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeAlias, TypeVar

from askdesk.core.desk import Desk
from askdesk.core.errors import InvalidAsk, InvalidReply, quoted
from askdesk.core.limits import OPEN, SPRING, Limits
from askdesk.core.model import Asker, Expired, Outcome, PreviewFormat, Question, Questions
from askdesk.wire import tool

log = logging.getLogger("askdesk")

_T = TypeVar("_T")
Arguments: TypeAlias = str | bytes | Mapping[str, Any]
Answers: TypeAlias = Mapping[str, Any]
Handler: TypeAlias = Callable[[tuple[Question, ...]], Answers | Awaitable[Answers]]

_INVALID = "NOT ASKED: the call breaks these rules; mend it and call again, or go on without asking.\n{}"
_SILENT = "NOT ANSWERED: the questions were put, and nothing came back. This is not an answer and not consent."
_UNAVAILABLE = "NOT ANSWERED: the questions could not be put to anybody. This is not an answer and not consent."


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
        return _blocking(self.asked(arguments, key=key))

    async def asked(self, arguments: Arguments, *, key: str | None = None) -> str:
        """Ask, and return the text for the model. A key, such as the call's id, makes it the same ask next time."""
        try:
            questions = tool.parse(arguments, self._limits)
        except InvalidAsk as error:
            return _INVALID.format(error)
        for warning in questions.warnings:
            log.warning("%s", warning)
        try:
            return tool.text(questions, await self._outcome(questions, key))
        except InvalidReply:
            raise
        except InvalidAsk as error:
            return _INVALID.format(error)
        except _NobodySaid:
            return _SILENT
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) and task.cancelling():
                raise
            return _UNAVAILABLE  # not this call was cancelled, but what it waited for
        except Exception as error:  # a framework would show it to the model, hang, or run on without an answer
            log.error("the questions could not be asked: %s", type(error).__name__, exc_info=error)
            return _UNAVAILABLE

    @abstractmethod
    async def _outcome(self, questions: Questions, key: str | None) -> Outcome:
        """How the questions ended."""


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
        self._desk, self._asker, self._deadline, self._previews = desk, asker, deadline, previews
        self._loop = asyncio.get_running_loop()

    def __call__(self, arguments: Arguments, *, key: str | None = None) -> str:
        """Ask from another thread than the desk's own, and block until there is a text for the model."""
        try:
            running: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
        except RuntimeError:
            running = None
        if running is self._loop:
            raise RuntimeError("this would block the desk's own event loop: await tool.asked(arguments) instead")
        return super().__call__(arguments, key=key)

    async def _outcome(self, questions: Questions, key: str | None) -> Outcome:
        if not self._loop.is_running():
            raise RuntimeError("the desk's event loop has ended")
        asking = self._desk.ask(
            questions, asker=self._asker, key=key, deadline=self._deadline, preview_format=self._previews
        )
        if asyncio.get_running_loop() is self._loop:
            return await asking
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asking, self._loop))


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
                given = await self._handled(questions.items)
        except TimeoutError:
            if patience.expired():
                return Expired()
            raise  # the handler's own: it says nothing about the person
        if self._validate:
            _check_complete(questions, given)
        return self._read(questions, given)

    async def _handled(self, questions: tuple[Question, ...]) -> Answers:
        given: Answers | Awaitable[Answers]
        if iscoroutinefunction(self._handler):
            given = self._handler(questions)
        else:  # in a thread, so that a handler that blocks can neither hold up the loop nor outlast the timeout
            given = await _in_daemon_thread(lambda: self._handler(questions))
        return await given if isawaitable(given) else given

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


async def _in_daemon_thread(work: Callable[[], _T]) -> _T:
    """Like asyncio.to_thread, but a handler that never returns does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def deliver(settle: Callable[[], None]) -> None:
        if not done.done():
            settle()

    def run() -> None:
        try:
            settle = partial(done.set_result, work())
        except StopIteration:  # fits no future
            settle = partial(done.set_exception, RuntimeError("the handler raised StopIteration"))
        except Exception as error:  # noqa: BLE001 - raised again by whoever awaits it
            settle = partial(done.set_exception, error)
        except BaseException as error:  # noqa: BLE001 - an exit or a cancellation of its own must not end the agent
            settle = partial(done.set_exception, RuntimeError(f"the handler raised {type(error).__name__}"))
        with suppress(RuntimeError):  # the loop is closed: nobody waits for the answers any more
            loop.call_soon_threadsafe(deliver, settle)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True, name="askdesk-handler").start()
    return await done


def _blocking(work: Coroutine[Any, Any, str]) -> str:
    """Run a coroutine to its end from synchronous code, also where this thread already runs a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, "askdesk-tool") as apart:
        return apart.submit(asyncio.run, work).result()
