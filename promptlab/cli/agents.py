"""``promptlab mcp``: answer the questions of agents."""

from __future__ import annotations

import click

from promptlab.cli.load import policy_option
from promptlab.cli.options import Call, common
from promptlab.errors import SettingsError


@click.command("mcp", short_help="Answer agents over MCP: history, verdicts, SQL.")
@click.option("--skill", is_flag=True, help="Print a skill file for agents, and end.")
@policy_option
@common("policy", formats=None)
def mcp(call: Call, skill: bool) -> int:
    """Serve the warehouse to an agent over MCP (stdio), read-only.

    Agents such as Claude Code start it by themselves; docs/agents.md has the lines for
    their configuration. Tools: runs, verdict, compare, case, query. Needs the extra
    `mcp`.
    """
    from promptlab.agents import server_of
    from promptlab.paths import PACKAGE

    if skill:
        click.echo((PACKAGE / "SKILL.md").read_text("utf-8"), nl=False)
        return 0
    try:
        server = server_of(call.warehouse())
    except ImportError:
        raise SettingsError(
            "mcp: its package is not installed; pip install 'promptlab-warehouse[mcp]'"
        ) from None
    server.run("stdio")
    return 0
