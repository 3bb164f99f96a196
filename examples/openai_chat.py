"""An agent on OpenAI's Chat Completions API: it asks people, and runs a command only once somebody allowed it.

python examples/openai_chat.py --scripted                     without a key: a scripted model
OPENAI_API_KEY=… python examples/openai_chat.py "Set up a database here"

Answer in another terminal with `askdesk inbox`, or on the page of `askdesk serve`.
"""

import asyncio
import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from pathlib import Path
from typing import Any

from openai import AsyncOpenAI

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


async def run(client: AsyncOpenAI, dispatcher: Dispatcher, model: str, task: str) -> str:
    tools: list[Any] = [tool.for_chat(tool.definition()), tool.for_chat(BASH)]
    messages: list[Any] = [{"role": "user", "content": task}]
    while True:
        completion = await client.chat.completions.create(model=model, tools=tools, messages=messages)
        reply = completion.choices[0].message
        messages.append(reply.model_dump(exclude_none=True))
        calls = [call for call in reply.tool_calls or () if call.type == "function"]
        if not calls:
            return reply.content or ""
        results = await asyncio.gather(
            *(dispatcher.dispatch(call.function.name, call.function.arguments, key=call.id) for call in calls)
        )
        messages += [
            {"role": "tool", "tool_call_id": call.id, "content": result.text}
            for call, result in zip(calls, results, strict=True)
        ]
        messages += [{"role": "user", "content": result.redirect} for result in results if result.redirect]
        if any(result.stop for result in results):
            return "stopped by the person"


async def main() -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("task", nargs="?", default="Set up a database for this project.")
    parser.add_argument("--model", default="gpt-6-sol")
    parser.add_argument("--scripted", action="store_true", help="a scripted model instead of a real one")
    given = parser.parse_args()
    client = scripted() if given.scripted else AsyncOpenAI()
    here = str(Path.cwd())
    async with open_desk() as desk:
        dispatcher = Dispatcher(desk, {"Bash": bash}, asker=asker_here("example", project=here), folder=here)
        print("The agent may ask: askdesk inbox, in another terminal, shows what.", file=sys.stderr)
        print(await run(client, dispatcher, given.model, given.task))


def scripted() -> AsyncOpenAI:
    from scripted_model import DEMO, ScriptedModel

    return AsyncOpenAI(base_url=f"{ScriptedModel(*DEMO).url}/v1", api_key="none")


if __name__ == "__main__":
    asyncio.run(main())
