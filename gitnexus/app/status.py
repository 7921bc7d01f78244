"""`git nexus status`: collects the facts about a project for text and JSON output."""

import contextlib
import os
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitnexus.app.sandbox_level import describe_sandbox_level
from gitnexus.base.clock import time_from_seconds
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.git import Repo, exclude, hookfiles, remotes
from gitnexus.git.child import run_git_or_raise
from gitnexus.git.worktrees import list_worktrees
from gitnexus.policy.signed import SignedFiles
from gitnexus.projects.grants import is_in_force, trust_nobody
from gitnexus.projects.open_project import Nexus
from gitnexus.state import STATE_REF, Snapshot
from gitnexus.state.home import home_folder, open_home
from gitnexus.state.intake import find_leftover_files, own_projection
from gitnexus.state.layout import SESSION_FOLDER

# The rooms of the state tree that a person counts in files.
MOST_COUNTED = 1000
COUNTED = ("memory", "context", "rules", "backlog", "plans", "research", "runs")


@dataclass(frozen=True, slots=True)
class ProjectStatus:
    """The facts of one status screen."""

    commit: str
    changes: int
    last_why: str
    last_at: datetime
    counts: dict[str, int]
    plan: dict[str, Any] | None
    tasks: dict[str, Any] | None
    worktrees: int
    hooks: list[str]
    hooks_missing: list[str]
    held: dict[str, str]
    copies: list[str]
    left_out: dict[str, str]
    untrusted: dict[str, str]
    runs: dict[str, int]
    foreign: dict[str, int]
    claimed: dict[str, int]
    mode: str
    sandbox: str
    warnings: list[str]
    next_steps: list[str]


def gather_status(nexus: Nexus) -> ProjectStatus:
    """Return the status of a project."""
    snapshot = nexus.state.required()
    commit = snapshot.commit or ""
    count, last_at, last_why = _count_and_last_change(nexus, commit)
    hooks = hookfiles.hook_statuses(nexus.repo) if nexus.repo.worktree else []
    own = own_projection(nexus.state)
    copies, left_out = find_leftover_files(own) if own else ([], {})
    missing = [hook.event for hook in hooks if not hook.runs]
    warnings = _setup_warnings(nexus)
    untrusted = {**SignedFiles(snapshot, nexus.repo.common_dir).untrusted(), **_unsigned_permissions()}
    runs, foreign, claimed = _run_counts(nexus, snapshot)
    return ProjectStatus(
        commit=commit,
        changes=count,
        last_why=last_why,
        last_at=last_at,
        counts={room: len(snapshot.names(room)) for room in COUNTED},
        **_cycle_summary(nexus),
        worktrees=len(list_worktrees(nexus.repo)),
        hooks=[hook.event for hook in hooks if hook.runs],
        hooks_missing=missing,
        held=nexus.settled.held,
        copies=copies,
        left_out=left_out,
        untrusted=untrusted,
        runs=runs,
        foreign=foreign,
        claimed=claimed,
        mode=_mode_in_force(nexus, snapshot),
        sandbox=_sandbox_level(nexus),
        warnings=warnings,
        next_steps=_next_steps(nexus, copies, missing, warnings, untrusted, _next_steps_for_runs(runs, foreign)),
    )


def _count_and_last_change(nexus: Nexus, commit: str) -> tuple[int, datetime, str]:
    """Return the number of changes, up to a limit that keeps this fast, and the last one."""
    options = (f"--max-count={MOST_COUNTED + 1}", "--no-show-signature", "--no-color", "--format=%ct %s")
    told = run_git_or_raise("log", *options, commit, "--", git_dir=nexus.repo.common_dir)
    lines = told.decode("utf-8", "replace").split("\n")[:-1]
    when, _, why = lines[0].partition(" ")
    return len(lines), time_from_seconds(int(when)), why


def _cycle_summary(nexus: Nexus) -> dict[str, Any]:
    """Return plan and tasks of this worktree; files that cannot be parsed are reported elsewhere."""
    found: dict[str, Any] = {"plan": None, "tasks": None}
    if nexus.repo.worktree is None or not os.path.lexists(nexus.repo.worktree / ".nexus" / SESSION_FOLDER):
        return found
    from gitnexus.cycle.plan import plan_status  # most worktrees have no session
    from gitnexus.cycle.session import Session
    from gitnexus.cycle.tasks import summarize_tasks

    session = Session(nexus.state)
    with contextlib.suppress(Invalid):
        plan = plan_status(session, {})
        found["plan"] = {"topic": plan["topic"], **plan["summary"]} if plan["active"] else None
    with contextlib.suppress(Invalid):
        file = session.tasks()
        found["tasks"] = {"goal": file.goal, **summarize_tasks(file)} if file else None
    return found


def _unsigned_permissions() -> dict[str, str]:
    """Return the permissions file if it is not in force; an unreadable home is reported elsewhere."""
    home = open_home()
    if home is None:
        return {}
    with contextlib.suppress(NexusError), contextlib.closing(home):
        if not is_in_force(home.snapshot, trust_nobody):
            from gitnexus.projects.signed_permissions import (
                list_unsigned_permissions,  # only where somebody was granted something
            )

            return list_unsigned_permissions()
    return {}


def _run_counts(nexus: Nexus, snapshot: Snapshot) -> tuple[dict[str, int], dict[str, int], dict[str, int]]:
    """Return the number of runs by status, of other people's runs, and of runs with unproved claims."""
    if not snapshot.names("runs"):
        return {}, {}, {}
    from gitnexus.runs.list import count_runs  # most projects have none yet

    return count_runs(nexus.state)


def _mode_in_force(nexus: Nexus, snapshot: Snapshot) -> str:
    """Return the mode in force; the files are parsed only if one mentions a mode, because parsing is slow."""
    mine = home_folder() / "policy.md"
    texts = (snapshot.read("policy.md") or b"", mine.read_bytes() if mine.is_file() else b"")
    if not any(b"mode:" in text for text in texts):
        return "default"
    from gitnexus.policy.in_force import read_policy_in_force

    try:
        return read_policy_in_force(nexus.state).compiled.mode
    except Invalid:
        return "default"


def _sandbox_level(nexus: Nexus) -> str:
    try:
        return describe_sandbox_level(nexus.state)
    except NexusError as exc:
        return f"none: {exc.message}"


def _setup_warnings(nexus: Nexus) -> list[str]:
    said = [f"git fetch {remote} would overwrite {STATE_REF}" for remote in remotes.overwriting_remotes(nexus.repo)]
    if nexus.repo.worktree and not nexus.settled.tracked and not exclude.has_exclude_block(nexus.repo):
        said.append(".nexus/ is not ignored by git")
    return said


def _next_steps_for_runs(runs: dict[str, int], foreign: dict[str, int]) -> list[str]:
    """Return suggested steps for runs; other people's runs are marked and listed first."""
    steps = []
    if runs.get("waiting"):
        steps.append(
            f"git nexus review shows what waits for your answer{format_foreign_count(foreign.get('waiting', 0))}"
        )
    if runs.get("ready") or runs.get("blocked", 0) > foreign.get("blocked", 0):
        steps.append("git nexus runs shows which run was answered and can continue; git nexus resume RUN continues it")
    if runs.get("stopped", 0) > foreign.get("stopped", 0):
        steps.append("git nexus runs shows which run stopped; git nexus resume RUN continues it")
    if foreign.get("blocked") or foreign.get("stopped"):
        steps.append(
            "git nexus runs shows which foreign run can continue; git nexus resume RUN shows what it will do, and asks"
        )
    return steps


def has_landing_note(repo: Repo) -> bool:
    """Return True if a landing in this checkout is in progress, or was killed."""
    return (repo.git_dir / "nexus" / "landing.json").exists()


def _next_steps_for_landing(nexus: Nexus) -> list[str]:
    if not has_landing_note(nexus.repo):
        return []
    from gitnexus.runs.landing.unfinished import unfinished_landing  # only if a landing was stopped here

    run = unfinished_landing(nexus.repo)
    return (
        [f"git nexus land {run} completes a landing that was stopped half-way; do not commit what it left"]
        if run
        else []
    )


def format_foreign_count(count: int) -> str:
    """Return the mark for other people's runs, "" if there are none."""
    return f" ({count} foreign)" if count else ""


def _next_steps(
    nexus: Nexus,
    copies: list[str],
    missing: list[str],
    warnings: list[str],
    untrusted: dict[str, str],
    about_runs: list[str],
) -> list[str]:
    steps = [*_next_steps_for_landing(nexus), *about_runs]
    if copies:
        steps.append("merge what was kept aside in .nexus/, then delete the .mine-… copies")
    if nexus.settled.held:
        steps.append("repair the files that are left as they are")
    if untrusted:
        steps.append("git nexus policy trust shows what is not signed, and signs it")
    if warnings:
        steps.append("git nexus doctor --fix")
    if missing:
        steps.append("git nexus hooks install")
    if not nexus.registered:
        steps.append("git nexus init --name NAME registers this project with your others")
    return steps or ["nothing waits for you"]
