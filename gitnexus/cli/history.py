"""`git nexus history`: search closed cycles: what was decided, and when."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line
from gitnexus.cycle import run_tool
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession


@click.command("history", cls=NexusCommand)
@click.argument("query", required=False)
@click.option("-n", "--limit", type=click.IntRange(1), default=10, show_default=True, help="How many cycles.")
@click.option("--scope", type=click.Choice(["all", "plan", "tasks", "decisions"]), default="all", help="Where to look.")
@with_session
def search_closed_cycles(session: "OpenSession", query: str | None, limit: int, scope: str) -> None:
    """Search closed cycles: what was decided, and when.

    The newest come first. QUERY is found anywhere in a cycle, ignoring case.
    """
    found = run_tool(session, "history_search", query=query or "", last_n=limit, scope=scope)
    blocks = [_format_cycle(row) for row in reversed(found["cycles"])]
    more = found["total"] - found["showing"]
    tail = [f"… {more} more: git nexus history -n {found['total']}"] if more else []
    print_answer(found, "\n".join([*blocks, *tail]) if blocks else "No closed cycle matches.", session.described)


def _format_cycle(row: dict[str, Any]) -> str:
    topic = one_line(row.get("topic") or "without a plan", 100)
    head = f"{row['completed_at'][:16].replace('T', ' ')}  {one_line(row['branch'], 40)}  {topic}"
    lines = [f"    {one_line(d['title'], 80)}: {one_line(d['decision'], 160)}" for d in row.get("decisions", [])]
    return "\n".join([f"{head} ({count_of(row.get('task_count', 0), 'task')})", *lines])
