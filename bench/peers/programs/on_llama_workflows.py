"""LlamaIndex Workflows: InputRequiredEvent from a step, HumanResponseEvent from the person, all in memory.

Timed from the step that comes to its question until the next step has the answer, in one event loop.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any

from speaking import AGENT_GONE, ANSWER, QUESTION, Times, speak_async, versions
from workflows import Workflow, step
from workflows.events import HumanResponseEvent, InputRequiredEvent, StartEvent, StopEvent


class Ask(Workflow):
    came = woken = 0.0

    @step
    async def ask(self, event: StartEvent) -> InputRequiredEvent:
        self.came = time.perf_counter()
        return InputRequiredEvent(**QUESTION)

    @step
    async def go_on(self, event: HumanResponseEvent) -> StopEvent:
        self.woken = time.perf_counter()
        return StopEvent(result=event.response)


class Agent:
    def __init__(self) -> None:
        self._runs: dict[str, Any] = {}

    async def exchange(self, pause: float) -> Times:
        workflow = Ask(timeout=None)
        run = await self._begun(workflow)
        await asyncio.sleep(pause)
        answered = time.perf_counter()
        run.ctx.send_event(HumanResponseEvent(response=ANSWER))
        assert await run == ANSWER
        return Times(workflow.came, answered, workflow.woken, workflow.woken)

    async def wait(self, count: int) -> list[str]:
        runs = [await self._begun(Ask(timeout=None)) for _ in range(count)]
        self._runs = {str(number): run for number, run in enumerate(runs)}
        return list(self._runs)

    async def finish(self, ids: list[str]) -> int:
        runs = [self._runs[number] for number in ids if number in self._runs]  # those of another process are gone
        for run in runs:
            run.ctx.send_event(HumanResponseEvent(response=ANSWER))
        return sum([await asyncio.wait_for(run, AGENT_GONE) == ANSWER for run in runs])

    async def _begun(self, workflow: Ask) -> Any:
        run = workflow.run()
        async for event in run.stream_events():
            if isinstance(event, InputRequiredEvent):
                return run
        raise AssertionError("the workflow ended without its question")


if __name__ == "__main__":
    asyncio.run(speak_async(Agent(), versions("llama-index-workflows")))
