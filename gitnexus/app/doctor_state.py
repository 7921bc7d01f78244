"""Checks the state ref, its objects and locks for `git nexus doctor`, and repairs them with `--fix`."""

from collections.abc import Iterator

from gitnexus.app.doctor_finding import DoctorFinding
from gitnexus.app.rescue import (
    Mended,
    damaged_files,
    incomplete_refs,
    is_commit_whole,
    mend_refs,
    mend_state,
)
from gitnexus.base.errors import NexusError
from gitnexus.git.child import run_git
from gitnexus.git.locks import find_locks, put_lock_aside, what_to_do, who_left
from gitnexus.projects.open_project import lost_tip
from gitnexus.state import STATE_REF, Snapshot, State
from gitnexus.state.format import refuse_foreign

REPAIR_HINT = "git nexus doctor --fix restores what it can, and names what it cannot"
UNREPAIRED_HINT = "no earlier state can be read here; run git nexus sync with a clone that has it, or git fsck"
# Another program may hold a lock of its own for so long, in seconds.
_OLD_LOCK = 60


def check_state_ref(state: State, fix: bool) -> Iterator[DoctorFinding]:
    if not state.exists:
        yield from _check_lost_ref(state, fix)
        return
    yield from _check_objects(state, fix)
    yield from _check_other_refs(state, fix)
    tip = state.snapshot
    for path in tip.unsafe()[:5]:
        yield DoctorFinding("state", "warning", f"{path!r} on the ref is not a safe path and is ignored")
    logged = run_git("reflog", "exists", STATE_REF, git_dir=state.repo.common_dir)
    if logged.returncode != 0:
        yield DoctorFinding("reflog", "warning", f"{STATE_REF} has no reflog", "the next change starts one")


def _check_lost_ref(state: State, fix: bool) -> Iterator[DoctorFinding]:
    """Restore a deleted state ref whose commit a worktree still names."""
    lost = lost_tip(state)
    if lost and fix and (mended := mend_state(state.repo)):
        state.latest()
        yield from report_repair(mended, f"{STATE_REF} was gone; it was at {lost[:12]}")
    elif lost:
        yield DoctorFinding("state", "problem", f"{STATE_REF} is gone; it was at {lost[:12]}", "git nexus doctor --fix")
    else:
        yield DoctorFinding("state", "problem", "no git nexus project here", "git nexus init")


def _check_objects(state: State, fix: bool) -> Iterator[DoctorFinding]:
    """Check every object that the ref needs, and repair missing or damaged ones."""
    tip = state.latest()
    wrong, whole = _describe_damage(state, tip), is_commit_whole(state.repo, tip.commit or "")
    if not wrong and whole:
        yield DoctorFinding("state", "ok", f"{STATE_REF} at {(tip.commit or '')[:12]}, {len(tip.ids())} files")
        return
    mended = mend_state(state.repo) if fix else None
    if mended is not None:
        state.objects.close()
        whole = is_commit_whole(state.repo, state.latest().commit or "")
        if whole or wrong:
            yield from report_repair(mended, wrong or "objects of earlier changes were missing")
    elif wrong:
        yield DoctorFinding("state", "problem", wrong, UNREPAIRED_HINT if fix else REPAIR_HINT)
        return
    if not whole:
        yield DoctorFinding(
            "state",
            "warning",
            f"objects of earlier changes of {STATE_REF} are missing",
            "git nexus doctor --fix fetches them if a remote has them; the current content is complete",
        )


def _check_other_refs(state: State, fix: bool) -> Iterator[DoctorFinding]:
    """Check the old tips that a repair kept, and what was fetched: what they lack a remote may have by now."""
    lacking = incomplete_refs(state.repo)
    brought = mend_refs(state.repo, lacking) if fix else {}
    left = incomplete_refs(state.repo) if fix else lacking
    for ref in lacking:
        count = brought.get(ref, 0)
        if count:
            words = f"{count} {'object is' if count == 1 else 'objects are'} back that {ref} lacked"
            yield DoctorFinding("state", "fixed", words, "git nexus sync takes back what was left out")
        elif ref in left:
            yield DoctorFinding(
                "state",
                "warning",
                f"{ref} lacks objects",
                "git nexus doctor --fix, once a remote that has them answers; then git nexus sync",
            )


def _describe_damage(state: State, tip: Snapshot) -> str:
    """Return what is wrong with the ref's commit, "" if nothing is."""
    try:
        refuse_foreign(tip)
        damaged = damaged_files(state.repo, state.objects, tip.ids())
    except NexusError as exc:
        return exc.message
    more = f" and {len(damaged) - 5} more" if len(damaged) > 5 else ""
    return f"missing or damaged in git: {', '.join(damaged[:5])}{more}" if damaged else ""


def report_repair(mended: Mended, wrong: str) -> Iterator[DoctorFinding]:
    """Yield findings about a repair: every restored file, and every lost one."""
    if mended.went_back:
        yield DoctorFinding("state", "fixed", f"repaired {STATE_REF}, now at {mended.commit[:12]}: {wrong}")
    else:
        yield DoctorFinding("state", "fixed", f"repaired what {STATE_REF} names: {wrong}")
    for path, where in mended.brought.items():
        yield DoctorFinding("state", "fixed", f"restored {path} from {where}")
    for path in mended.lost:
        yield DoctorFinding(
            "state",
            "warning",
            f"{path} is lost: neither this repository nor a remote has its content; it is left out",
            f"git nexus log {path} shows earlier versions; git nexus sync with a clone that has it restores it",
        )
    for name in mended.unasked if mended.lost else ():
        yield DoctorFinding(
            "state",
            "warning",
            f"{name} could not be asked, and may have what is lost",
            "once it answers, git nexus doctor --fix again, then git nexus sync",
        )
    if mended.kept:
        yield DoctorFinding(
            "state",
            "warning",
            f"where the ref was is kept as {mended.kept}",
            f"git update-ref -d {mended.kept}, when nothing of it is needed",
        )


def check_locks(state: State, fix: bool) -> Iterator[DoctorFinding]:
    for lock in find_locks(state.repo.common_dir):
        since = f"{lock.name} has existed for {int(lock.seconds)} s"
        if lock.holder:
            yield DoctorFinding("lock", "warning", f"{since}, perhaps of {lock.holder}", what_to_do(lock))
        elif not lock.is_left or (not lock.ours and lock.seconds < _OLD_LOCK):
            yield DoctorFinding("lock", "warning", since, "look again in a minute")
        elif fix:
            aside = put_lock_aside(state.repo.common_dir, lock)
            yield DoctorFinding("lock", "fixed", f"{since}, {who_left(lock)}: it is now {aside}")
        else:
            yield DoctorFinding("lock", "problem", f"{since}, {who_left(lock)}", "git nexus doctor --fix")
