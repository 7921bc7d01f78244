"""`git nexus plan`: the plan, for people."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, counted, start_folder
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
    tail = f"{counted(left, 'question')} left." if left else "All questions are decided.\nNext: git nexus plan tasks"
    answer(found, f"Decided: {one_line(found['issue'])}. {tail}", session.described)


@plan.command("reopen")
@click.argument("number", type=int)
@with_session
def reopen(session: "OpenSession", number: int) -> None:
    """Take the decision on question NUMBER back."""
    found = _called(session, "plan_update", {"action": "reopen", "issue_id": number})
    answer(found, f"Question {number} is open again.", session.described)


@plan.command("tasks")
@click.argument("file", metavar="[FILE|-]", required=False)
@click.option("--preview", is_flag=True, help="Show what would be added, and add nothing.")
@click.option("--partial", is_flag=True, help="Go on although questions are not decided.")
@with_session
def tasks(session: "OpenSession", file: str | None, preview: bool, partial: bool) -> None:
    """Turn the decisions into tasks.

    FILE holds drafts, a JSON list of objects as the tool plan_tasks takes them, or - to read it from stdin. Without it
    there is one draft for each decided question that has no task yet. What would change the same file becomes one
    task, and a task whose result must be seen running, or be read, gets a second one that checks it.
    """
    drafts = {} if file is None else {"drafts": _drafts(file)}
    found = _called(session, "plan_tasks", {**drafts, "preview": preview, "partial": partial})
    answer(found, _list(found, "draft" if file else "question"), session.described)


def _drafts(file: str) -> Any:
    from gitnexus.base.canonical import parse
    from gitnexus.base.errors import Invalid, NotFound

    name = "stdin" if file == "-" else one_line(file)
    try:
        path = start_folder(invocation(click.get_current_context())) / file
        return parse(sys.stdin.buffer.read() if file == "-" else path.read_bytes())
    except OSError as exc:
        raise NotFound(f"{name} cannot be read: {exc.strerror}", hint="name a file of drafts, or - for stdin") from exc
    except Invalid as exc:
        raise Invalid(f"{name} is {exc.message}", hint="it should be a JSON list of drafts") from exc


def _called(session: "OpenSession", name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    from gitnexus.cycle import call

    return call(session, name, params)


def _list(found: Mapping[str, Any], noun: str) -> str:
    rows = []
    for task in found["added"]:
        after = f" (after {', '.join(map(str, task['deps']))})" if task["deps"] else ""
        rows.append([str(task["id"]), one_line(task.get("owner", "anyone"), 20), one_line(task["title"], 90) + after])
        rows += [["", "", "→ " + one_line(note, 160)] for note in _notes(found, task["id"], noun)]
    preview = found.get("preview", False)
    count = counted(len(found["added"]), "task")
    head = f"{'Would add' if preview else 'Added'} {count}:" if rows else "Nothing to add."
    kept = [
        f"Question {row['issue']} has tasks already: {', '.join(map(str, row['tasks']))}." for row in found["skipped"]
    ]
    tail = ["Nothing is written yet." if preview else "Next: git nexus cycle show"] if rows else []
    return "\n".join([head, *([columns(rows)] if rows else []), *kept, *tail])


def _notes(found: Mapping[str, Any], task: int, noun: str) -> list[str]:
    """Return why a task is as it is."""
    names = ", ".join(row["id"] for row in found["exceptions"] if row["task"] == task)
    one = [f"{noun}s {', '.join(map(str, row['of']))} in one ({names}): {row['why']}"
           for row in found["merged"] if row["task"] == task]  # fmt: skip
    return [*(one or filter(None, [names])), *(row["why"] for row in found["paired"] if row["by"] == task)]


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
