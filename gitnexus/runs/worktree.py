"""Creates, completes and resets the worktree of a run; an agent's leftovers are moved into the run's folder."""

from gitnexus.base.randomness import random_hex as chance
from gitnexus.events.kinds import shorten_text
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.checkout import (
    add_worktree,
    empty_worktree,
    fill_worktree,
    is_worktree_filled,
    set_unlinked_aside,
)
from gitnexus.runs.foreign_consent import require_agreement
from gitnexus.runs.lost_steps import restart_lost_steps
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.prepare import forget_preparation


def reset_worktree_to_branch(run: OpenRun) -> None:
    """Reset the worktree to the run's branch after another machine continued it; present files are set aside."""
    if run.has_worktree() and is_worktree_filled(run.worktree):
        empty_worktree(run.worktree, run.folder / f"left-{chance(8)}")
        run.stamps = fill_worktree(run.worktree, tip_of_ref(run.repo, run.branch) or run.record.base)
    else:
        ensure_worktree(run)


def make_agreed_worktree(run: OpenRun, *, ends: bool) -> None:
    """Create the worktree, then check the agreement again: from now on nobody else moves the branch."""
    ensure_worktree(run)
    if not ends:
        require_agreement(run)


def ensure_worktree(run: OpenRun) -> None:
    """Create the worktree, or complete one whose creation was killed: missing files would look like a patch."""
    if not run.has_worktree() or not is_worktree_filled(run.worktree):
        head = tip_of_ref(run.repo, run.branch) or run.record.base
        set_unlinked_aside(run.repo, run.worktree_path, run.folder / f"left-{chance(8)}")
        run.stamps = add_worktree(run.repo, run.worktree_path, run.branch, head, run.record.id)
        restart_lost_steps(run)


def reset_worktree_for_retry(run: OpenRun, node: str, attempt: int) -> None:
    """Reset the worktree for a new attempt; files of the killed attempt are moved to the run's folder."""
    aside = run.folder / f"left-{node}-{attempt}-{chance(4)}"
    forget_preparation(run)
    empty_worktree(run.worktree, aside)
    run.stamps = fill_worktree(run.worktree, tip_of_ref(run.repo, run.branch) or run.record.base)
    text = f"what {f'attempt {attempt}' if attempt else 'the one before'} left lies in {aside}"
    run.log.append("agent.progress", "nexus", {"text": shorten_text(text, 1000), "node": node})
