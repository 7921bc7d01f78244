"""`git nexus plan show`: show the questions and the decisions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import make_visible, one_line
from gitnexus.cycle import run_tool
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import format_columns, print_answer
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.projects.open_session import OpenSession


@click.command("show", cls=NexusCommand)
@with_session
def show_plan(session: "OpenSession") -> None:
    """Show the questions and the decisions."""
    found = run_tool(session, "plan_status")
    print_answer(found, _format_plan(found), session.described)


def _format_plan(found: Mapping[str, Any]) -> str:
    if not found["active"]:
        return "No plan is open.\nNext: git nexus plan start TOPIC QUESTION…"
    rows = []
    for issue in found["issues"]:
        mark = click.style("decided", fg="green") if issue["status"] == "decided" else "open"
        rows.append([str(issue["id"]), mark, one_line(issue["title"], 100)])
        if issue.get("decision"):
            rows.append(["", "", "→ " + one_line(issue["decision"], 200)])
    counts = found["summary"]
    head = f"Plan {found['plan_id']}: {one_line(found['topic'])} ({counts['decided']} of {counts['total']} decided)"
    research = make_visible(found.get("research_summary") or "").strip()
    return "\n".join([head, *([format_columns(rows)] if rows else []), *([f"\n{research[:600]}"] if research else [])])
