"""Between threads and event loops: code that blocks beside a loop, and coroutines from code that blocks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from inspect import isawaitable, iscoroutinefunction
from typing import Any, TypeVar

_T = TypeVar("_T")


async def called(function: Callable[..., _T | Awaitable[_T]], /, *given: Any, **named: Any) -> _T:
    """Call a function of the application, asynchronous or not."""
    made: _T | Awaitable[_T]
    if iscoroutinefunction(function):
        made = function(*given, **named)
    else:  # in a thread, so that one that blocks can neither hold up the loop nor outlast a timeout
        made = await in_daemon_thread(lambda: function(*given, **named))
    return await made if isawaitable(made) else made


async def in_daemon_thread(work: Callable[[], _T]) -> _T:
    """Like asyncio.to_thread, but a function that never returns does not keep the program from ending."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[_T] = loop.create_future()

    def deliver(settle: Callable[[], None]) -> None:
        if not done.done():
            settle()

    def run() -> None:
        try:
            settle = partial(done.set_result, work())
        except StopIteration:  # fits no future
            settle = partial(done.set_exception, RuntimeError("the function raised StopIteration"))
        except Exception as error:  # noqa: BLE001 - raised again by whoever awaits it
            settle = partial(done.set_exception, error)
        except BaseException as error:  # noqa: BLE001 - an exit or a cancellation of its own must not end the agent
            settle = partial(done.set_exception, RuntimeError(f"the function raised {type(error).__name__}"))
        with suppress(RuntimeError):  # the loop is closed: nobody waits for it any more
            loop.call_soon_threadsafe(deliver, settle)

    threading.Thread(target=copy_context().run, args=(run,), daemon=True, name="askdesk-handler").start()
    return await done


def blocking(work: Coroutine[Any, Any, _T]) -> _T:
    """Run a coroutine to its end from synchronous code, also where this thread already runs a loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, "askdesk-tool") as apart:
        return apart.submit(asyncio.run, work).result()


def is_cancelled() -> bool:
    """Whether it is this very task that somebody cancelled, and not something that it waited for."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
