"""`git nexus status`: show the state of the project on one screen, and what to do next."""

from typing import TYPE_CHECKING

import click

from gitnexus.app.status import MOST_COUNTED, ProjectStatus, format_foreign_count, gather_status
from gitnexus.base.clock import format_age, format_timestamp, utc_now
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, format_columns, print_answer, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("status", cls=NexusCommand)
@with_nexus
def show_status(nexus: "Nexus") -> None:
    """Show the state of the project on one screen, and what to do next."""
    found = gather_status(nexus)
    print_answer(_status_as_json(found), _format_status(nexus, found), nexus.described)


def _status_as_json(found: "ProjectStatus") -> dict[str, object]:
    return {
        "state": {
            "ref": "refs/nexus/state",
            "commit": found.commit,
            "changes": found.changes,
            "last": {"why": found.last_why, "at": format_timestamp(found.last_at)},
        },
        "cycle": {"plan": found.plan, "tasks": found.tasks},
        "files": found.counts,
        "worktrees": found.worktrees,
        "hooks": {"installed": found.hooks, "missing": found.hooks_missing},
        "held": [{"path": path, "why": why} for path, why in found.held.items()],
        "copies": found.copies,
        "leftOut": [{"path": path, "why": why} for path, why in found.left_out.items()],
        "untrusted": [{"path": path, "why": why} for path, why in found.untrusted.items()],
        "runs": found.runs,
        "foreignRuns": found.foreign,
        "claimedRuns": found.claimed,
        "mode": found.mode,
        "sandbox": found.sandbox,
        "warnings": found.warnings,
        "next": found.next_steps,
    }


def _format_status(nexus: "Nexus", found: "ProjectStatus") -> str:
    project = nexus.described()
    counts = ", ".join(f"{count} {room}" for room, count in found.counts.items() if count) or "nothing stored yet"
    changes = _format_changes(found.changes)
    rows = [
        [
            "project",
            f"{project['name']} at {one_line(project['path'])}" + ("" if nexus.registered else " (not registered)"),
        ],
        ["state", f"{changes}, last {format_age(found.last_at, utc_now())}: {one_line(found.last_why, 80)}"],
        ["cycle", _format_cycle(found)],
        ["files", counts],
        ["hooks", _format_hooks(nexus, found)],
    ]
    if found.runs:
        rows.append(["runs", _format_runs(found)])
    if found.mode != "default":
        rows.append(["mode", click.style(found.mode, fg="red" if found.mode == "bypass" else "yellow", bold=True)])
    weak = found.sandbox == "L0" or not found.sandbox.startswith("L")
    rows.append(["sandbox", click.style(one_line(found.sandbox, 200), fg="red", bold=True) if weak else found.sandbox])
    if found.worktrees > 1:
        rows.append(["trees", f"{found.worktrees} worktrees share this state"])
    rows += [["warning", f".nexus/{one_line(path)}: {why}"] for path, why in list(found.held.items())[:5]]
    rows += [["warning", f".nexus/{one_line(path)} waits to be merged"] for path in found.copies[:5]]
    if found.left_out:
        rows.append(
            ["warning", f"{count_of(len(found.left_out), 'file')} in .nexus/ not kept: git nexus doctor says why"]
        )
    if found.untrusted:
        said = "; ".join(f"{path}: {one_line(why, 120)}" for path, why in found.untrusted.items())
        rows.append(["warning", click.style(f"untrusted, so not in force: {said}", fg="yellow")])
    rows += [["warning", click.style(warning, fg="yellow")] for warning in found.warnings]
    rows += [["next", step] for step in found.next_steps]
    return format_columns(rows, indent="")


def _format_runs(found: "ProjectStatus") -> str:
    said = []
    for status, count in sorted(found.runs.items()):
        claimed = found.claimed.get(status, 0)
        only = f", {claimed} of them only claimed" if claimed else ""
        said.append(f"{count} {status}{format_foreign_count(found.foreign.get(status, 0))}{only}")
    return "; ".join(said) if found.claimed else ", ".join(said)


def _format_cycle(found: "ProjectStatus") -> str:
    said = []
    if found.plan:
        said.append(
            f"plan {one_line(found.plan['topic'], 60)}, {found.plan['decided']} of {found.plan['total']} decided"
        )
    if found.tasks:
        said.append(f"{found.tasks['completed']} of {count_of(found.tasks['total'], 'task')} completed")
    return "; ".join(said) or "nothing open"


def _format_changes(changes: int) -> str:
    if changes == 1:
        return "1 change"
    return f"{changes} changes" if changes <= MOST_COUNTED else f"more than {MOST_COUNTED} changes"


def _format_hooks(nexus: "Nexus", found: "ProjectStatus") -> str:
    if nexus.repo.worktree is None:
        return "none: this repository is bare"
    if not found.hooks:
        return "not installed"
    return ", ".join(found.hooks) + (f"; missing {', '.join(found.hooks_missing)}" if found.hooks_missing else "")
