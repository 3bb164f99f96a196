"""Run an agent that speaks the Agent Client Protocol with a desk: it asks, people answer here or on any surface.

PROMPT is what to do; "-" or nothing reads it from standard input. On a terminal its words are printed as it says them;
in a pipe the result alone.

  askdesk acp --run claude-agent-acp "Add a health check to the service"
  askdesk acp --run "opencode acp" --stay "Keep the changelog up to date"
                                   goes on with whatever people tell it: askdesk tell, the inbox, the page
  askdesk acp --run claude-agent-acp --resume SESSION "Go on"

Needs `pip install 'askdesk[acp]'` and what the agent itself needs. The command is split as a shell would, and no shell
runs it. Ctrl-C stops the agent and withdraws what it asked.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace


def arguments(parser: ArgumentParser) -> None:
    from askdesk.cli import acp_run

    acp_run.arguments(parser)


def run(given: Namespace) -> int:
    from askdesk.cli import acp_run

    return acp_run.run(given)
