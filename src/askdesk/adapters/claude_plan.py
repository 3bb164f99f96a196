"""A plan that Claude Code does not hand to whoever should approve it: looked up in the transcript."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

_NEWEST = 20  # transcripts that may be those of this very moment
_TAIL = 1_000_000  # bytes at the end of one in which the call must be
_LOOKS, _APART = 10, 0.1  # the transcript is written a moment after the call


async def unseen_plan(config: Path, tool_use_id: str) -> str:
    """The plan that the model gave with this call of ExitPlanMode; "" where there is none."""
    if not tool_use_id:
        return ""
    for _ in range(_LOOKS):
        if call := await asyncio.to_thread(_call, config, tool_use_id):
            plan = call.get("input", {}).get("plan")
            return plan if isinstance(plan, str) else ""
        await asyncio.sleep(_APART)
    return ""


def _call(config: Path, tool_use_id: str) -> dict[str, Any] | None:
    found = sorted(_transcripts(config), reverse=True)[:_NEWEST]
    return next((call for _, path in found if (call := _call_in(path, tool_use_id))), None)


def _transcripts(config: Path) -> list[tuple[float, Path]]:
    found = []
    for path in config.glob("projects/*/*.jsonl"):
        try:
            found.append((path.stat().st_mtime, path))
        except OSError:  # deleted meanwhile
            continue
    return found


def _call_in(path: Path, tool_use_id: str) -> dict[str, Any] | None:
    try:
        with path.open("rb") as file:
            file.seek(max(path.stat().st_size - _TAIL, 0))
            lines = file.read(_TAIL).splitlines()
    except OSError:
        return None
    for line in reversed(lines):
        if tool_use_id.encode() in line and b'"tool_use"' in line and (call := _tool_use(line, tool_use_id)):
            return call
    return None


def _tool_use(line: bytes, tool_use_id: str) -> dict[str, Any] | None:
    try:
        content = json.loads(line)["message"]["content"]
        return next((block for block in content if block.get("id") == tool_use_id), None)
    except (ValueError, KeyError, TypeError, AttributeError):  # another kind of line, or a broken one
        return None
