"""Cleans up one run or all finished ones, and deletes trash older than a week."""

import contextlib
import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Busy, Failed, Invalid, NexusError, NotFound
from gitnexus.base.files import remove_tree
from gitnexus.git.branches import list_refs
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import head_branch_ref, resolve_commit
from gitnexus.runs import store
from gitnexus.runs.claimed_decisions import said_to_be_over
from gitnexus.runs.cleanup.clean import (
    Cleaned,
    CleanupContext,
    EndOfRun,
    clean_run,
    end_refs,
    end_refs_together,
    refuse_used_folders,
    runs_with_leftovers,
    worktrees_of_run,
)
from gitnexus.runs.cleanup.merged_check import Target, run_tips_merged_into
from gitnexus.runs.cleanup.release_rescued import ReleasedRef, release_rescued
from gitnexus.runs.cleanup.rescue_ref import RESCUE
from gitnexus.runs.cleanup.trash import Trash, TrashEntry
from gitnexus.runs.drive import cancel_run
from gitnexus.runs.finish_interrupted import finish_begun
from gitnexus.runs.ids import BRANCHES
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.record import refresh_run_record
from gitnexus.runs.withheld import delete_local_refs
from gitnexus.state import State
from gitnexus.state.home import home_folder

_USUAL = ("refs/heads/main", "refs/heads/master", "refs/remotes/origin/HEAD")
_ASIDE = "left-*"
# So many runs lose their refs in one transaction: one that is killed leaves no more than these to the next clean-up.
_TOGETHER = 100


@dataclass(frozen=True, slots=True)
class CleanUp:
    """The result for each run, the deleted trash entries, and the rescue refs that are not needed any more."""

    runs: list[Cleaned]
    deleted: list[TrashEntry]
    dry_run: bool
    released: list[ReleasedRef] = field(default_factory=list)


def clean_runs(state: State, word: str | None, *, dry_run: bool = False, force: bool = False) -> CleanUp:
    """Clean a run, or all that are landed, integrated, failed or cancelled. Raises: NotFound, Failed, Busy."""
    snapshot, moment = state.required(), utc_now()
    there = runs_with_leftovers(state.repo) | {one.parent.name for one in _runs_folder(state).glob(f"*/{_ASIDE}")}
    runs = (
        [store.read_run(snapshot, word)] if word else [run for run in store.read_all_runs(snapshot) if run.id in there]
    )
    found: list[Cleaned] = []
    waiting: list[EndOfRun] = []
    said = frozenset() if word else said_to_be_over(state, runs)
    if word and not dry_run:
        runs = [finish_begun(state, run) for run in runs]
    merged = {} if word else _merged_tips(state)
    for run in runs:
        try:
            end = _clean_one_run(
                state,
                run,
                moment,
                named=word is not None,
                force=force,
                dry_run=dry_run,
                merged=merged,
                said=run.id in said,
            )
            if isinstance(end, Cleaned):
                found += [*_end_together(state, waiting, moment, dry_run=dry_run), end]
                waiting = []
            else:
                waiting.append(end)
                if len(waiting) == _TOGETHER:
                    found += _end_together(state, waiting, moment, dry_run=dry_run)
                    waiting = []
        except Busy as exc:
            if word:
                raise
            waiting.append(EndOfRun(Cleaned(run=run.id, skipped=exc.message), run))
        except OSError as exc:
            raise Failed(
                f"{run.id} could not be cleaned up: {exc.strerror or exc}: {exc.filename}",
                hint="nothing is lost; fix that, then clean again",
            ) from exc
    found += _end_together(state, waiting, moment, dry_run=dry_run)
    if word and found[0].skipped and not found[0].branch and not found[0].trash:
        raise Failed(
            f"{found[0].run} is left as it is: {found[0].skipped}",
            hint="git nexus runs shows its status",
            fix="git nexus runs",
        )
    trash = Trash(state.repo.common_dir)
    due = trash.list_expired(moment)
    released = _release_rescued(state, named=word is not None, dry_run=dry_run)
    return CleanUp(found, due if dry_run else [row for row in due if trash.delete(row)], dry_run, released)


def _release_rescued(state: State, *, named: bool, dry_run: bool) -> list[ReleasedRef]:
    """Delete the rescue refs whose work is on a branch of the user's; of a clean-up of one run, none."""
    if named or not list_refs(state.repo, RESCUE):
        return []
    runs = {run.id: run for run in store.read_all_runs(state.required())}
    with private_git(state.repo) as git:
        targets = _resolved_targets(state, git, (head_branch_ref(state.repo), *_USUAL))
        return release_rescued(state.repo, git, runs, targets, look_only=dry_run)


def _clean_one_run(
    state: State,
    run: Run,
    moment: datetime,
    *,
    named: bool,
    force: bool,
    dry_run: bool,
    merged: Mapping[str, str],
    said: bool = False,
) -> Cleaned | EndOfRun:
    """Put one run away; its refs at once if it was named or had to be ended, else later, with those of others."""
    aside = sorted(one for one in (_runs_folder(state) / run.id).glob(_ASIDE) if one.is_dir() and not one.is_symlink())
    with contextlib.ExitStack() as held:
        stopped = False
        if said:
            return Cleaned(
                run=run.id,
                skipped=f"no known machine signed that it is {run.status}; git nexus clean {run.id} cleans it up",
            )
        if run.status not in ENDED and (open_run := _lock_undriven_run(held, state, run, force=force)):
            view = open_run.view()
            stopped = view.status == "running"
            if not dry_run and (view.status in ENDED or (stopped and named) or force):
                refuse_used_folders(
                    run, [place.folder for place in worktrees_of_run(state.repo, run.id) if place.folder] + aside
                )
                run = _end_run(open_run)
        # A private git for each run: temporary objects of one do not matter to the next.
        git = held.enter_context(private_git(state.repo))
        context = CleanupContext(state.repo, git, state.objects, state.author, moment, dry_run, merged)
        targets = functools.partial(_likely_targets, state, git, run)
        end = clean_run(context, run, targets, named=named, force=force, stopped=stopped, aside=aside)
        if not named and not stopped and not force:
            return end
        done = end_refs(context, end)
    if not dry_run:
        _forget_here(state, [done])
    return done


def _end_together(state: State, ends: Sequence[EndOfRun], moment: datetime, *, dry_run: bool) -> list[Cleaned]:
    """Delete the branches and archive the logs of runs that were put away. Raises: Failed, GitFailed."""
    if not ends:
        return []
    with private_git(state.repo) as git:
        context = CleanupContext(state.repo, git, state.objects, state.author, moment, dry_run)
        found = end_refs_together(context, ends)
    if not dry_run:
        _forget_here(state, found)
    return found


def _forget_here(state: State, cleaned: Sequence[Cleaned]) -> None:
    """Delete what this machine alone has of runs: withheld proposals, settings and sessions of the agents.

    Everything worth keeping is in the log.
    """
    private = home_folder() / "private"
    for done in cleaned:
        if not done.skipped:
            delete_local_refs(state.repo, done.run)
            for folder in [private / done.run, *private.glob(f"{done.run}.*")]:
                remove_tree(folder)


def _lock_undriven_run(held: contextlib.ExitStack, state: State, run: Run, *, force: bool) -> OpenRun | None:
    """Lock and return a local run that no process drives; None if it is not local or is driven.

    Raises: Busy for a driven run that must be cleaned anyway.
    """
    open_run = OpenRun(state, run)
    try:
        open_run.view()
        held.enter_context(open_run.undriven())
    except Busy:
        if force:
            raise
        return None
    except (NexusError, OSError):
        return None
    return open_run


def _end_run(run: OpenRun) -> Run:
    """End an unfinished run: a cleaned run is not resumed, and its log is complete for the archive."""
    if run.view().status in ENDED:
        refresh_run_record(run)
    else:
        cancel_run(run, "cleaned up by git nexus clean")
    run.write_checkpoint()
    return run.record


def _runs_folder(state: State) -> Path:
    return state.repo.common_dir / "nexus" / "runs"


def _merged_tips(state: State) -> dict[str, str]:
    """Return the tips of runs that the checked-out or a usual branch holds, each with its name."""
    found: dict[str, str] = {}
    with private_git(state.repo) as git:
        for name in dict.fromkeys((head_branch_ref(state.repo), *_USUAL)):
            if name and not name.startswith(BRANCHES):
                with contextlib.suppress(NotFound, Invalid):
                    tips = run_tips_merged_into(git, resolve_commit(state.repo, git, name))
                    found = {**dict.fromkeys(tips, name), **found}
    return found


def _likely_targets(state: State, git: PrivateGit, run: Run) -> list[Target]:
    """Return the branches that most likely contain a run's work."""
    return _resolved_targets(state, git, (run.onto, head_branch_ref(state.repo), *_USUAL))


def _resolved_targets(state: State, git: PrivateGit, names: Iterable[str | None]) -> list[Target]:
    """Return the branches that exist, but those of runs."""
    found = []
    for name in dict.fromkeys(names):
        if name and not name.startswith(BRANCHES):
            try:
                found.append(Target(name, resolve_commit(state.repo, git, name)))
            except (NotFound, Invalid):
                continue
    return found
