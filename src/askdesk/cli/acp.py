"""Speak the Agent Client Protocol on standard input and output: an agent that an editor starts.

  askdesk acp

is Claude with a desk. Its questions are forms in the editor, its permissions are where the editor asks for them, and
both are live on the desk's other surfaces too: whoever answers first has answered. In Zed's settings.json:

  {"agent_servers": {"Claude at a desk": {"command": "askdesk", "args": ["acp"], "env": {}}}}

An editor without forms is led to the desk's page (askdesk serve), or says where else to answer (askdesk inbox).
--permission-shape safe asks such an editor with permission requests, one for each question; nothing that approves or
rejects by itself answers them. exact does the same in the shape that older clients know, and there whatever approves by
itself answers with the first option: use it only where a person presses every button.

Needs `pip install 'askdesk[acp,claude]'` and what Claude Code itself needs, such as ANTHROPIC_API_KEY.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli.command import duration

_MODES = ("default", "acceptEdits", "plan", "auto")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--agent", default="claude", metavar="NAME", help="how people know it (default: claude)")
    parser.add_argument("--model", metavar="NAME", help="which model")
    parser.add_argument("--permission-mode", choices=_MODES, metavar="MODE", help=f"one of {', '.join(_MODES)}")
    parser.add_argument("--tools", metavar="NAMES", help="only these tools, and AskUserQuestion; parted by commas")
    parser.add_argument("--notes", action="store_true", help="a field for a note beside each question of a form")
    parser.add_argument(
        "--permission-shape",
        choices=["safe", "exact"],
        help="ask questions with permission requests where the editor has no forms; exact is not safe, see above",
    )
    parser.add_argument(
        "--previews", choices=["none", "markdown", "html"], default="none", help="let options have previews"
    )
    parser.add_argument(
        "--deadline", type=duration, metavar="SPAN", help="let each ask expire after 90s, 10m, 2h or 3d"
    )


def run(given: Namespace) -> int:
    from askdesk.cli import acp_agent

    return acp_agent.run(given)
