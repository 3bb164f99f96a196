"""An agent on Anthropic's Messages API: it asks people, and runs a command only once somebody allowed it.

python examples/anthropic_messages.py --scripted                     without a key: a scripted model
ANTHROPIC_API_KEY=… python examples/anthropic_messages.py "Set up a database here"

Answer in another terminal with `askdesk inbox`, or on the page of `askdesk serve`.
"""

import asyncio
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic

from askdesk import open_desk, tool
from askdesk.adapters.tool import Dispatcher
from askdesk.open import asker_here

BASH = {
    "name": "Bash",
    "description": "Run a shell command; returns its exit code and what it wrote.",
    "input_schema": {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]},
}


async def bash(command: str) -> dict[str, Any]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_shell(command, stdout=pipe, stderr=asyncio.subprocess.STDOUT)
    out, _ = await process.communicate()
    return {"exit_code": process.returncode, "output": out.decode(errors="replace")}


async def run(client: AsyncAnthropic, dispatcher: Dispatcher, model: str, task: str) -> str:
    tools: list[Any] = [tool.definition(), BASH]
    messages: list[Any] = [{"role": "user", "content": task}]
    while True:
        reply = await client.messages.create(model=model, max_tokens=4096, tools=tools, messages=messages)
        messages.append({"role": "assistant", "content": reply.content})
        calls = [block for block in reply.content if block.type == "tool_use"]
        if not calls:
            return "".join(block.text for block in reply.content if block.type == "text")
        results = await asyncio.gather(*(dispatcher.dispatch(call.name, call.input, key=call.id) for call in calls))
        content: list[Any] = [
            {"type": "tool_result", "tool_use_id": call.id, "content": result.text, "is_error": result.is_error}
            for call, result in zip(calls, results, strict=True)
        ]
        content += [{"type": "text", "text": result.redirect} for result in results if result.redirect]
        messages.append({"role": "user", "content": content})
        if any(result.stop for result in results):
            return "stopped by the person"


async def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="Set up a database for this project.")
    parser.add_argument("--model", default="claude-opus-5-5")
    parser.add_argument("--scripted", action="store_true", help="a scripted model instead of a real one")
    given = parser.parse_args()
    client = scripted() if given.scripted else AsyncAnthropic()
    here = str(Path.cwd())
    async with open_desk() as desk:
        dispatcher = Dispatcher(desk, {"Bash": bash}, asker=asker_here("example", project=here), folder=here)
        print("The agent may ask: askdesk inbox, in another terminal, shows what.", file=sys.stderr)
        print(await run(client, dispatcher, given.model, given.task))


def scripted() -> AsyncAnthropic:
    from scripted_model import DEMO, ScriptedModel

    return AsyncAnthropic(base_url=ScriptedModel(*DEMO).url, api_key="none")


if __name__ == "__main__":
    asyncio.run(main())
