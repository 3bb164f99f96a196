"""LangGraph: interrupt() in a node, Command(resume=…) from the person, its checkpointers on SQLite and PostgreSQL.

Timed from the node that comes to its question until `invoke(Command(resume=…))` returns, in one process. Woken is the
node that has the answer, which is not on disk before that return. The checkpointers are made as its documentation makes
them. `durability` is "exit", its quickest by far; a question is on disk when the first `invoke` returns.
"""

from __future__ import annotations

import sqlite3
import time
import uuid
from contextlib import ExitStack
from typing import Any, TypedDict

from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from speaking import ANSWER, QUESTION, Times, given, speak, versions


class State(TypedDict):
    answer: str


class Agent:
    def __init__(self, saver: Any) -> None:
        self._came: list[float] = []
        self._woken = 0.0
        graph = StateGraph(State).add_node("ask", self._ask).add_edge(START, "ask").add_edge("ask", END)
        self._graph = graph.compile(checkpointer=saver)

    def _ask(self, state: State) -> State:
        self._came.append(time.perf_counter())
        answer: str = interrupt(QUESTION)  # leaves the node, which runs once more from its start when it is resumed
        self._woken = time.perf_counter()
        return {"answer": answer}

    def exchange(self, pause: float) -> Times:
        self._came.clear()
        thread = self._asked()
        time.sleep(pause)
        answered = time.perf_counter()
        assert self._resumed(thread)
        return Times(self._came[0], answered, self._woken, time.perf_counter())

    def wait(self, count: int) -> list[str]:
        return [self._asked() for _ in range(count)]

    def finish(self, ids: list[str]) -> int:
        return sum(self._resumed(thread) for thread in ids)

    def _asked(self) -> str:
        thread = uuid.uuid4().hex
        assert self._run({"answer": ""}, thread)["__interrupt__"][0].value == QUESTION
        return thread

    def _resumed(self, thread: str) -> bool:
        return bool(self._run(Command(resume=ANSWER), thread)["answer"] == ANSWER)

    def _run(self, what: Any, thread: str) -> dict[str, Any]:
        result: dict[str, Any] = self._graph.invoke(what, {"configurable": {"thread_id": thread}}, durability="exit")
        return result


def main() -> None:
    with ExitStack() as stack:
        if url := given().get("database"):
            from langgraph.checkpoint.postgres import PostgresSaver

            saver = stack.enter_context(PostgresSaver.from_conn_string(url))
            saver.setup()
            speak(Agent(saver), versions("langgraph", "langgraph-checkpoint-postgres"))
        else:
            from langgraph.checkpoint.sqlite import SqliteSaver

            database = sqlite3.connect(f"{given()['folder']}/graph.db", check_same_thread=False)
            assert database.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL
            speak(Agent(SqliteSaver(database)), versions("langgraph", "langgraph-checkpoint-sqlite"))


if __name__ == "__main__":
    main()
