"""Speak the Agent Client Protocol on standard input and output: an agent that an editor starts.

  askdesk acp

is Claude with a desk. Its questions are forms in the editor, its permissions are where the editor asks for them, and
both are live on the desk's other surfaces too: whoever answers first has answered. In Zed's settings.json:

  {"agent_servers": {"Claude at a desk": {"type": "custom", "command": "askdesk", "args": ["acp"], "env": {}}}}

docs/acp.md has JetBrains, Neovim and Emacs.

An editor without forms is led to the desk's page (askdesk serve), or says where else to answer (askdesk inbox).
--permission-shape safe asks such an editor with permission requests, one for each question; nothing that approves or
rejects by itself answers them. exact does the same in the shape that older clients know, and there whatever approves by
itself answers with the first option: use it only where a person presses every button.

Needs `pip install 'askdesk[acp,claude]'` and what Claude Code itself needs, such as ANTHROPIC_API_KEY.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli import acp_agent
from askdesk.cli.command import duration


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--agent", default="", metavar="NAME", help="how people know it (default: claude)")
    parser.add_argument(
        "--deadline", type=duration, metavar="SPAN", help="let each ask expire after 90s, 10m, 2h or 3d"
    )
    acp_agent.arguments(parser)


def run(given: Namespace) -> int:
    return acp_agent.run(given)
