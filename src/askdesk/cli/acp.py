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

With --run it is the other side: it runs any agent that speaks ACP with a desk. PROMPT is what to do; "-" or nothing
reads it from standard input. On a terminal its words are printed as it says them; in a pipe the result alone.

  askdesk acp --run claude-agent-acp "Add a health check to the service"
  askdesk acp --run "opencode acp" --stay "Keep the changelog up to date"
                                   goes on with whatever people tell it: askdesk tell, the inbox, the page
  askdesk acp --run claude-agent-acp --resume SESSION "Go on"

The command is split as a shell would, and no shell runs it. Ctrl-C stops the agent and withdraws what it asked.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from askdesk.cli import acp_agent, acp_run
from askdesk.cli.command import duration, say
from askdesk.cli.main import INVALID

# Which flags belong to which side, and what they are where nobody gave them.
_AGENT = {
    "model": None,
    "permission_mode": None,
    "tools": None,
    "notes": False,
    "permission_shape": None,
    "previews": "none",
}
_RUN = {"resume": None, "stay": False, "surface": "auto", "plain": False, "folder": None, "json": False}


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--agent", default="", metavar="NAME", help="how people know it")
    parser.add_argument(
        "--deadline", type=duration, metavar="SPAN", help="let each ask expire after 90s, 10m, 2h or 3d"
    )
    acp_agent.arguments(parser)
    acp_run.arguments(parser)


def run(given: Namespace) -> int:
    is_agent = given.run is None and given.prompt is None
    others = _RUN if is_agent else _AGENT
    if name := next((name for name, unsaid in others.items() if getattr(given, name) != unsaid), None):
        rule = "needs --run" if is_agent else "is for the agent of an editor, and must not be given with --run"
        return say(f"--{name.replace('_', '-')}: {rule}", INVALID)
    return acp_agent.run(given) if is_agent else acp_run.run(given)
