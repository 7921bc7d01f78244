"""Opens a project's notes together with its closed cycles, and checks the policy before notes are deleted."""

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
from gitnexus.state.format import project_id_of


def open_notes(state: State, session: Session | None = None) -> Notes:
    """Return the notes for the current reader: the agent in NEXUS_AGENT, else the harness, else a person."""
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
    """Raise an error if the policy asks or denies deleting notes. Raises: DeniedByPolicy, ApprovalNeeded."""
    from gitnexus.policy.gate import decide_request
    from gitnexus.policy.in_force import read_policy_in_force  # only who deletes pays
    from gitnexus.policy.model import MemoryDeleteRequest

    digests = {name: f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" for name, text in notes.items()}
    request = MemoryDeleteRequest(project=project_id_of(state.latest()) or "unknown", run="session", notes=digests)
    found = decide_request(request, read_policy_in_force(state).compiled)
    names = " ".join(notes)
    if found.verdict == "deny":
        raise DeniedByPolicy(f"{found.rule} denies deleting {names}: {found.why}", hint=found.instead or None)
    if found.verdict == "ask":
        raise ApprovalNeeded(
            f"a person has to delete notes here: {found.why}; git nexus memory gc {names} asks them",
            hint=f"git nexus memory gc {names}",
        )


def closed_cycles(session: Session) -> list[ClosedCycle]:
    """Return the closed cycles for the notes, without empty ones."""
    rows = enumerate(session.history().cycles, 1)
    return [_closed_cycle(number, cycle) for number, cycle in rows if cycle.plan or cycle.tasks]


def _closed_cycle(number: int, cycle: Cycle) -> ClosedCycle:
    plan = cycle.plan
    lines = [f"{issue.title}: {issue.decision or ''}" for issue in plan.issues] if plan else []
    lines += [f"{task.title}. {task.context} {task.acceptance or ''}" for task in cycle.tasks]
    return ClosedCycle(
        at=_parse_time(cycle.completed_at),
        name=f"cycle {number}, {cycle.completed_at[:10]} on {cycle.branch}",
        title=plan.topic if plan else "",
        text="\n".join([*lines, (plan.research_summary or "") if plan else ""]),
    )


def _parse_time(text: str) -> datetime:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return datetime(1970, 1, 1, tzinfo=UTC)
    return found if found.tzinfo else found.replace(tzinfo=UTC)
