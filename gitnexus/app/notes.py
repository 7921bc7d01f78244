"""The notes of a project, joined with the cycles that were closed in it."""

import hashlib
import os
from collections.abc import Mapping
from datetime import UTC, datetime

from gitnexus.base.errors import ApprovalNeeded, DeniedByPolicy
from gitnexus.cycle import Session
from gitnexus.cycle.model import Cycle
from gitnexus.memory import Notes
from gitnexus.memory.model import ClosedCycle
from gitnexus.state import State
from gitnexus.state.format import id_of


def notes_of(state: State, session: Session | None = None) -> Notes:
    """Return the notes for who works here: the agent that NEXUS_AGENT names, else the harness, else a person."""
    harness = session.harness if session else os.environ.get("NEXUS_HARNESS") or "git-nexus"
    reader = os.environ.get("NEXUS_AGENT") or (harness if session else "person")
    bare = state.repo.worktree is None
    closed = session or (None if bare else Session(state, harness=harness))
    return Notes(
        state,
        reader=reader,
        harness=harness,
        closed=lambda: closed_cycles(closed) if closed else (),
        refuse_deletion=lambda notes: refuse_unasked_deletion(state, notes),
    )


def refuse_unasked_deletion(state: State, notes: Mapping[str, str]) -> None:
    """Refuse to delete notes for an agent where the policy asks or denies. Raises: DeniedByPolicy, ApprovalNeeded."""
    from gitnexus.app.policy import policy_here  # only who deletes pays
    from gitnexus.policy.gate import decide
    from gitnexus.policy.model import MemoryDeleteRequest

    digests = {name: f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" for name, text in notes.items()}
    request = MemoryDeleteRequest(project=id_of(state.latest()) or "unknown", run="session", notes=digests)
    found = decide(request, policy_here(state).law)
    names = " ".join(notes)
    if found.verdict == "deny":
        raise DeniedByPolicy(f"{found.rule} denies to delete {names}: {found.why}", hint=found.instead or None)
    if found.verdict == "ask":
        raise ApprovalNeeded(
            f"a person has to delete notes here: {found.why}; git nexus memory gc {names} asks them",
            hint=f"git nexus memory gc {names}",
        )


def closed_cycles(session: Session) -> list[ClosedCycle]:
    """Return the history as the notes need it; a close of nothing was no cycle of work."""
    rows = enumerate(session.history().cycles, 1)
    return [_told(number, cycle) for number, cycle in rows if cycle.plan or cycle.tasks]


def _told(number: int, cycle: Cycle) -> ClosedCycle:
    plan = cycle.plan
    lines = [f"{issue.title}: {issue.decision or ''}" for issue in plan.issues] if plan else []
    lines += [f"{task.title}. {task.context} {task.acceptance or ''}" for task in cycle.tasks]
    return ClosedCycle(
        at=_moment(cycle.completed_at),
        name=f"cycle {number}, {cycle.completed_at[:10]} on {cycle.branch}",
        title=plan.topic if plan else "",
        text="\n".join([*lines, (plan.research_summary or "") if plan else ""]),
    )


def _moment(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
