"""`git nexus plan`: the plan, for people."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusGroup
from gitnexus.ui.output import answer, columns, counted
from gitnexus.ui.session import with_session

if TYPE_CHECKING:
    from gitnexus.app.session import OpenSession


@click.group("plan", cls=NexusGroup)
def plan() -> None:
    """The open plan: its questions and what was decided.

    The plan lives in this worktree until the cycle is closed. Agents use the same through the tools plan_….
    """


@plan.command("show")
@with_session
def show(session: "OpenSession") -> None:
    """Show the questions and the decisions."""
    found = _called(session, "plan_status", {})
    answer(found, _screen(found), session.described)


@plan.command("start")
@click.argument("topic")
@click.argument("issues", nargs=-1, metavar="QUESTION…")
@click.option("--research", metavar="TEXT", default="", help="What was found out before planning.")
@with_session
def start(session: "OpenSession", topic: str, issues: tuple[str, ...], research: str) -> None:
    """Begin a plan about TOPIC; one that is open is archived first."""
    found = _called(session, "plan_start", {"topic": topic, "issues": list(issues), "research_summary": research})
    text = f"Plan {found['plan_id']} is open: {one_line(topic)}, {counted(found['issueCount'], 'question')}."
    before = "\nThe plan before is in the history." if found["previousArchived"] else ""
    answer(found, text + before + "\nNext: git nexus plan decide NUMBER DECISION", session.described)


@plan.command("add")
@click.argument("title", metavar="QUESTION")
@with_session
def add(session: "OpenSession", title: str) -> None:
    """Add a question to the open plan."""
    found = _called(session, "plan_update", {"action": "add", "title": title})
    answer(found, f"Added question {found['issue']['id']}.", session.described)


@plan.command("decide")
@click.argument("number", type=int)
@click.argument("decision")
@with_session
def decide(session: "OpenSession", number: int, decision: str) -> None:
    """Record what was decided on question NUMBER."""
    found = _called(session, "plan_decide", {"issue_id": number, "decision": decision})
    left = len(found.get("remaining", []))
    tail = (
        f"{counted(left, 'question')} left." if left else "All questions are decided.\nNext: git nexus tool task_add …"
    )
    answer(found, f"Decided: {one_line(found['issue'])}. {tail}", session.described)


@plan.command("reopen")
@click.argument("number", type=int)
@with_session
def reopen(session: "OpenSession", number: int) -> None:
    """Take the decision on question NUMBER back."""
    found = _called(session, "plan_update", {"action": "reopen", "issue_id": number})
    answer(found, f"Question {number} is open again.", session.described)


def _called(session: "OpenSession", name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    from gitnexus.cycle import call

    return call(session, name, params)


def _screen(found: Mapping[str, Any]) -> str:
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
    research = visible(found.get("research_summary") or "").strip()
    return "\n".join([head, *([columns(rows)] if rows else []), *([f"\n{research[:600]}"] if research else [])])
