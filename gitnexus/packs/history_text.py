"""Renders earlier work as text for a pack: a commit of the base's history, or a closed cycle."""

import os
import re

from gitnexus.base.errors import NotFound
from gitnexus.base.text import one_line
from gitnexus.cycle.model import Cycle, CycleHistory
from gitnexus.git.private import PrivateGit
from gitnexus.packs.model import LineSource
from gitnexus.state import Snapshot

HISTORY = "history.json"
_ID = re.compile(r"[0-9a-f]{7,64}")
_MOST_PATHS = 200


def resolve_earlier_commit(git: PrivateGit, base: str, word: str) -> str:
    """Return the full id of an ancestor of the base. Raises: NotFound."""
    if not _ID.fullmatch(word):
        raise NotFound("a commit is named by 7 or more digits of its id")
    found = git.run("rev-parse", "--verify", "--quiet", f"{word}^{{commit}}")
    whole = found.stdout.decode("ascii").strip()
    # Only what the base reaches: another clone that has the base has these, too.
    if found.returncode != 0 or git.run("merge-base", "--is-ancestor", whole, base).returncode != 0:
        raise NotFound(f"there is no commit {word[:12]} in the history of {base[:12]}")
    return whole


def commit_message_and_paths(git: PrivateGit, commit: str) -> tuple[str, list[str]]:
    """Return the message of a commit, and the paths that it changed compared to its first parent."""
    message = git.must("log", "-1", "--no-patch", "--no-notes", "--no-color", "--encoding=UTF-8", "--format=%B", commit)
    listed = git.must(
        "diff-tree",
        "--root",
        "--no-commit-id",
        "--name-only",
        "-r",
        "-z",
        "-m",
        "--first-parent",
        "--no-renames",
        commit,
        "--",
    )
    paths = [os.fsdecode(row) for row in listed.split(b"\0")[:-1]]
    return message.decode("utf-8", "replace").strip("\n"), list(dict.fromkeys(paths))[:_MOST_PATHS]


def closed_cycles(state: Snapshot) -> dict[int, Cycle]:
    """Return the closed cycles of a project by number, from 1, without empty ones."""
    raw = state.read(HISTORY)
    if raw is None:
        return {}
    cycles = CycleHistory.from_bytes(raw, HISTORY).cycles
    return {number: cycle for number, cycle in enumerate(cycles, 1) if cycle.plan or cycle.tasks}


def render_cycle(cycle: Cycle) -> str:
    """Return a cycle as lines: its topic, its decisions, its tasks and their results."""
    plan = cycle.plan
    lines = [f"# {one_line(plan.topic, 300) if plan else 'tasks without a plan'}"]
    lines.append(f"closed {one_line(cycle.completed_at, 40)} on {one_line(cycle.branch, 100)}")
    if plan and plan.research_summary:
        lines += ["", *plan.research_summary.split("\n")]
    for issue in plan.issues if plan else ():
        lines.append(f"- issue {issue.id}: {issue.title}" + (f": {issue.decision}" if issue.decision else ""))
    for task in cycle.tasks:
        lines.append(f"- task {task.id}: {task.title} ({task.status})")
        lines += [f"  {word}: {text}" for word, text in _details_of_task(task) if text]
    return "\n".join(lines)


def _details_of_task(task: object) -> list[tuple[str, str | None]]:
    result = getattr(task, "result", None)
    words = ("context", "approach", "acceptance")
    rows: list[tuple[str, str | None]] = [(word, getattr(task, word, None)) for word in words]
    return [*rows, ("result", f"{result.outcome}: {result.summary}" if result else None)]


def cycle_by_number(state: Snapshot, word: str) -> tuple[str, LineSource]:
    """Return a cycle by its number, as text, with its source. Raises: NotFound, Invalid."""
    cycles = closed_cycles(state)
    number = int(word) if word.isascii() and word.isdecimal() and len(word) < 7 else 0
    if number not in cycles:
        raise NotFound("there is no closed cycle of that number")
    blob = state.oid(HISTORY) or ""
    source = LineSource(
        path=f".nexus/{HISTORY}#{number}", blob=blob, first_line=1, last_line=1, commit=state.commit or ""
    )
    return render_cycle(cycles[number]), source
