"""DBOS: a workflow that asks with set_event() and waits with recv(), and a person who answers with send().

Timed from the workflow that comes to its question until its recv() returns, which has then kept the answer; all in one
process. The person hears of the question in memory, as get_event() looks for it once a second on SQLite.
"""

from __future__ import annotations

import queue
import time

from dbos import DBOS
from speaking import ANSWER, QUESTION, Times, given, speak, versions

_came: queue.SimpleQueue[tuple[str, float]] = queue.SimpleQueue()
_woken: dict[str, float] = {}


@DBOS.workflow()
def ask() -> str:
    came, workflow = time.perf_counter(), str(DBOS.workflow_id)
    DBOS.set_event("question", QUESTION)
    _came.put((workflow, came))
    answer: str = DBOS.recv("answer", timeout_seconds=86_400)
    _woken[workflow] = time.perf_counter()
    return answer


class Agent:
    def exchange(self, pause: float) -> Times:
        run = DBOS.start_workflow(ask)
        workflow, came = _came.get()
        time.sleep(pause)
        answered = time.perf_counter()
        DBOS.send(workflow, ANSWER, topic="answer")
        assert run.get_result() == ANSWER
        woken = _woken.pop(workflow)
        return Times(came, answered, woken, woken)

    def wait(self, count: int) -> list[str]:
        for _ in range(count):
            DBOS.start_workflow(ask)
        return [_came.get()[0] for _ in range(count)]

    def finish(self, ids: list[str]) -> int:
        for workflow in ids:
            DBOS.send(workflow, ANSWER, topic="answer")
        return sum(DBOS.retrieve_workflow(workflow).get_result() == ANSWER for workflow in ids)


def main() -> None:
    url = given().get("database") or f"sqlite:///{given()['folder']}/dbos.sqlite"
    DBOS(config={"name": "agent", "system_database_url": url, "run_admin_server": False, "log_level": "ERROR"})
    DBOS.launch()
    speak(Agent(), versions("dbos"))
    DBOS.destroy()


if __name__ == "__main__":
    main()
