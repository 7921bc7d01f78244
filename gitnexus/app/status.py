"""Where a project stands, gathered once for people and for JSON."""

import contextlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gitnexus.app.open import Nexus
from gitnexus.base.clock import moment
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.cycle.plan import status as plan_status
from gitnexus.cycle.session import Session
from gitnexus.cycle.tasks import summary
from gitnexus.git import exclude, hookfiles, remotes
from gitnexus.git.child import must
from gitnexus.git.worktrees import worktrees
from gitnexus.policy.signed import Signed
from gitnexus.projects.grants import is_in_force, nobody
from gitnexus.state import STATE_REF, Snapshot
from gitnexus.state.home import home_folder, open_home
from gitnexus.state.intake import left_aside, own_projection

# The rooms of the state tree that a person counts in files.
MOST_COUNTED = 1000
COUNTED = ("memory", "context", "rules", "backlog", "plans", "research", "runs")


@dataclass(frozen=True, slots=True)
class Standing:
    """One screen's worth of facts."""

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
    mode: str
    sandbox: str
    warnings: list[str]
    next_steps: list[str]


def standing(nexus: Nexus) -> Standing:
    """Look at everything a person asks about first."""
    snapshot = nexus.state.required()
    commit = snapshot.commit or ""
    count, last_at, last_why = _diary_head(nexus, commit)
    hooks = hookfiles.status(nexus.repo) if nexus.repo.worktree else []
    own = own_projection(nexus.state)
    copies, left_out = left_aside(own) if own else ([], {})
    missing = [hook.event for hook in hooks if not hook.runs]
    warnings = _warnings(nexus)
    untrusted = {**Signed(snapshot, nexus.repo.common_dir).untrusted(), **_at_home()}
    runs, foreign = _runs(nexus, snapshot)
    return Standing(
        commit=commit,
        changes=count,
        last_why=last_why,
        last_at=last_at,
        counts={room: len(snapshot.names(room)) for room in COUNTED},
        **_cycle(nexus),
        worktrees=len(worktrees(nexus.repo)),
        hooks=[hook.event for hook in hooks if hook.runs],
        hooks_missing=missing,
        held=nexus.settled.held,
        copies=copies,
        left_out=left_out,
        untrusted=untrusted,
        runs=runs,
        foreign=foreign,
        mode=_mode(nexus, snapshot),
        sandbox=_sandbox(nexus),
        warnings=warnings,
        next_steps=_next(nexus, copies, missing, warnings, untrusted, _about_runs(runs, foreign)),
    )


def _diary_head(nexus: Nexus, commit: str) -> tuple[int, datetime, str]:
    """Return how many changes there were, up to a limit that keeps this quick, and the last one."""
    options = (f"--max-count={MOST_COUNTED + 1}", "--no-show-signature", "--no-color", "--format=%ct %s")
    told = must("log", *options, commit, "--", git_dir=nexus.repo.common_dir)
    lines = told.decode("utf-8", "replace").split("\n")[:-1]
    when, _, why = lines[0].partition(" ")
    return len(lines), moment(int(when)), why


def _cycle(nexus: Nexus) -> dict[str, Any]:
    """Return where plan and tasks of this worktree stand; a file that does not parse is told by who needs it."""
    found: dict[str, Any] = {"plan": None, "tasks": None}
    if nexus.repo.worktree is None:
        return found
    session = Session(nexus.state)
    with contextlib.suppress(Invalid):
        plan = plan_status(session, {})
        found["plan"] = {"topic": plan["topic"], **plan["summary"]} if plan["active"] else None
    with contextlib.suppress(Invalid):
        file = session.tasks()
        found["tasks"] = {"goal": file.goal, **summary(file)} if file else None
    return found


def _at_home() -> dict[str, str]:
    """Return the permissions between projects, if they do not count; a home that cannot be read is told elsewhere."""
    home = open_home()
    if home is None:
        return {}
    with contextlib.suppress(NexusError), contextlib.closing(home):
        if not is_in_force(home.snapshot, nobody):
            from gitnexus.app.homeseal import unsigned  # only where somebody was granted something

            return unsigned()
    return {}


def _runs(nexus: Nexus, snapshot: Snapshot) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many runs there are of each status, and how many of those somebody else began."""
    if not snapshot.names("runs"):
        return {}, {}
    from gitnexus.app.runlist import counted  # most projects have none yet

    return counted(nexus.state)


def _mode(nexus: Nexus, snapshot: Snapshot) -> str:
    """Return the mode in force. The files are only understood if one of them speaks of a mode: that takes time."""
    mine = home_folder() / "policy.md"
    texts = (snapshot.read("policy.md") or b"", mine.read_bytes() if mine.is_file() else b"")
    if not any(b"mode:" in text for text in texts):
        return "default"
    from gitnexus.app.policy import policy_here

    try:
        return policy_here(nexus.state).law.mode
    except Invalid:
        return "default"


def _sandbox(nexus: Nexus) -> str:
    from gitnexus.app.sandboxline import level_told

    try:
        return level_told(nexus.state)
    except NexusError as exc:
        return f"none: {exc.message}"


def _warnings(nexus: Nexus) -> list[str]:
    said = [f"git fetch {remote} would overwrite {STATE_REF}" for remote in remotes.overwriting(nexus.repo)]
    if nexus.repo.worktree and not nexus.settled.tracked and not exclude.is_listed(nexus.repo):
        said.append(".nexus/ is not ignored by git")
    return said


def _about_runs(runs: dict[str, int], foreign: dict[str, int]) -> list[str]:
    """Return what to do about runs; what somebody else began is marked, and shown before it goes on."""
    steps = []
    if runs.get("waiting"):
        steps.append(f"git nexus review shows what waits for your answer{foreign_words(foreign.get('waiting', 0))}")
    if runs.get("blocked", 0) > foreign.get("blocked", 0):
        steps.append("git nexus runs shows which run is answered and can go on; git nexus resume RUN lets it")
    if runs.get("stopped", 0) > foreign.get("stopped", 0):
        steps.append("git nexus runs shows which run stopped; git nexus resume RUN goes on with it")
    if foreign.get("blocked") or foreign.get("stopped"):
        steps.append(
            "git nexus runs shows which foreign run could go on; git nexus resume RUN shows what it is to do, and asks"
        )
    return steps


def foreign_words(count: int) -> str:
    """Return the mark of runs that somebody else began, nothing where there are none."""
    return f" ({count} foreign)" if count else ""


def _next(
    nexus: Nexus,
    copies: list[str],
    missing: list[str],
    warnings: list[str],
    untrusted: dict[str, str],
    about_runs: list[str],
) -> list[str]:
    steps = [*about_runs]
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
