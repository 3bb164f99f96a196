"""An agent that speaks ACP and does what its prompt says: a JSON list of steps. Anything else it repeats.

    ["request", method, params]   ask the client, and wait for what comes back
    ["start", method, params]     ask without waiting
    ["cancel"]                    take back what was started, and wait for what comes back
    ["returned"]                  wait for what comes back of what was started
    ["notify", method, params]    tell the client
    ["write", text]               a line that is no message
    ["hold"]                      wait until the turn is cancelled
    ["wait"]                      wait until the client says "go on"
    ["end", reason]               end the turn with this
    ["fail", code, message]       answer the prompt with an error
    ["die", code]                 with some words on standard error

At its end the turn says what came back, as JSON. Only the standard library, so that it starts at once.
"""

import json
import os
import signal
import sys
from typing import Any

SESSION = "session-1"


class Agent:
    def __init__(self, *flags: str) -> None:
        self._flags = flags
        self._number = 0
        self._returned: dict[int, Any] = {}
        self._is_cancelled = self._may_go_on = False
        self._prompts: list[tuple[Any, str]] = []

    def run(self) -> None:
        while True:
            while self._prompts:
                number, text = self._prompts.pop(0)
                self._is_cancelled = False
                self._send(id=number, **self._answered(text))
            self._read()

    def _read(self) -> None:
        line = sys.stdin.readline()
        if not line:
            while "deaf" in self._flags:
                signal.pause()
            sys.exit(0)
        message = json.loads(line)
        if "method" not in message:
            self._returned[message["id"]] = message.get("result", {"error": message.get("error")})
        elif message["method"] == "session/prompt":
            self._prompts.append((message["id"], message["params"]["prompt"][0]["text"]))
        elif message["method"] == "session/cancel":
            self._is_cancelled = True
        elif message["method"] == "go on":
            self._may_go_on = True
        elif "id" in message:
            self._send(id=message["id"], **self._opened(message))

    def _opened(self, message: dict[str, Any]) -> dict[str, Any]:
        method, params = message["method"], message["params"]
        if method == "initialize":
            abilities = {"loadSession": "old" not in self._flags}
            ways = [{"id": "key", "name": "API key", "description": "Set the \x1b[31mkey"}]
            answer = {"protocolVersion": 7 if "new" in self._flags else 1, "agentCapabilities": abilities}
            info = {"name": "scripted", "version": "1"}
            return {"result": {**answer, "agentInfo": info, "authMethods": ways, "_meta": {"seen": params}}}
        if "strange" in self._flags:
            return {"result": {"session": 1}}
        if "shy" in self._flags:
            return {"error": {"code": -32000, "message": "Authentication required"}}
        if method == "session/load":
            self._say("said before", params["sessionId"])
            return {"result": {}}
        if "early" in self._flags:
            page = {"mode": "url", "message": "Sign in", "url": "https://example.org/", "elicitationId": "e1"}
            if self._wait(self._ask("elicitation/create", {**page, "requestId": message["id"]}))["action"] != "accept":
                sys.exit("nobody signed in")
        return {"result": {"sessionId": SESSION}}

    def _answered(self, text: str) -> dict[str, Any]:
        """The result of a prompt."""
        try:
            steps = json.loads(text)
        except ValueError:
            self._say(f"heard: {text}")
            return {"result": {"stopReason": "end_turn"}}
        returned: list[Any] = []
        reason = "end_turn"
        for step in steps:
            match step:
                case ["request", method, params]:
                    returned.append(self._wait(self._ask(method, params)))
                case ["start", method, params]:
                    self._ask(method, params)
                case ["cancel"]:
                    self._send(method="$/cancel_request", params={"requestId": self._number})
                    returned.append(self._wait(self._number))
                case ["returned"]:
                    returned.append(self._wait(self._number))
                case ["notify", method, params]:
                    self._send(method=method, params=params)
                case ["write", line]:
                    print(line, flush=True)
                case ["hold"]:
                    while not self._is_cancelled:
                        self._read()
                case ["wait"]:
                    while not self._may_go_on:
                        self._read()
                case ["end", reason]:
                    pass
                case ["fail", code, words]:
                    return {"error": {"code": code, "message": words}}
                case ["die", code]:
                    print("I \x1b[31mcannot go on", file=sys.stderr, flush=True)
                    os._exit(code)
                case _:
                    sys.exit(f"what is {step}?")
        if returned:
            self._say(json.dumps(returned))
        return {"result": {"stopReason": "cancelled" if self._is_cancelled else reason}}

    def _say(self, text: str, session: str = SESSION) -> None:
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
        self._send(method="session/update", params={"sessionId": session, "update": update})

    def _ask(self, method: str, params: Any) -> int:
        self._number += 1
        self._send(id=self._number, method=method, params=params)
        return self._number

    def _wait(self, number: int) -> Any:
        while number not in self._returned:
            self._read()
        return self._returned.pop(number)

    def _send(self, **message: Any) -> None:
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


if __name__ == "__main__":
    if "deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    Agent(*sys.argv[1:]).run()
