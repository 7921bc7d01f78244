"""Clean-up of one run or of all that are done with, and of a trash that is a week old."""

import contextlib
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import cancelled, recorded
from gitnexus.base.clock import now
from gitnexus.base.errors import Busy, Failed, Invalid, NexusError, NotFound
from gitnexus.base.files import remove_tree
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import branch_of, commit_of
from gitnexus.runs import store
from gitnexus.runs.clean import Around, Cleaned, clean, places_of, refuse_living, with_something
from gitnexus.runs.ids import BRANCHES
from gitnexus.runs.integrated import Target
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.trash import Thrown, Trash
from gitnexus.state import State
from gitnexus.state.home import home_folder

_USUAL = ("refs/heads/main", "refs/heads/master", "refs/remotes/origin/HEAD")
_ASIDE = "left-*"


@dataclass(frozen=True, slots=True)
class CleanUp:
    """What became of each run, and what was a week in the trash and is deleted now."""

    runs: list[Cleaned]
    deleted: list[Thrown]
    dry_run: bool


def clean_up(state: State, word: str | None, *, dry_run: bool = False, force: bool = False) -> CleanUp:
    """Clean a run, or all that are landed, integrated, failed or cancelled. Raises: NotFound, Failed, Busy."""
    snapshot, moment = state.required(), now()
    there = with_something(state.repo) | {one.parent.name for one in _runs(state).glob(f"*/{_ASIDE}")}
    runs = [store.read(snapshot, word)] if word else [run for run in store.runs_in(snapshot) if run.id in there]
    found = []
    for run in runs:
        try:
            found.append(_cleaned(state, run, moment, named=word is not None, force=force, dry_run=dry_run))
        except Busy as exc:
            if word:
                raise
            found.append(Cleaned(run=run.id, skipped=exc.message))
        except OSError as exc:
            raise Failed(
                f"{run.id} could not be put away: {exc.strerror or exc}: {exc.filename}",
                hint="nothing is lost; mend that, then clean again",
            ) from exc
    if word and found[0].skipped and not found[0].branch and not found[0].trash:
        raise Failed(
            f"{found[0].run} is left as it is: {found[0].skipped}",
            hint="git nexus runs shows where it stands",
            fix="git nexus runs",
        )
    trash = Trash(state.repo.common_dir)
    due = trash.expired(moment)
    return CleanUp(found, due if dry_run else [row for row in due if trash.delete(row)], dry_run)


def _cleaned(state: State, run: Run, moment: datetime, *, named: bool, force: bool, dry_run: bool) -> Cleaned:
    aside = sorted(one for one in (_runs(state) / run.id).glob(_ASIDE) if one.is_dir() and not one.is_symlink())
    with contextlib.ExitStack() as held:
        stopped = False
        if run.status not in ENDED and (desk := _undriven(held, state, run, force=force)):
            view = desk.view()
            stopped = view.status == "running"
            if not dry_run and (view.status in ENDED or (stopped and named) or force):
                refuse_living(run, [place.folder for place in places_of(state.repo, run.id) if place.folder] + aside)
                run = _ended(desk)
        # A private git for each: what one wrote and did not keep is nothing to the next.
        git = held.enter_context(private(state.repo))
        around = Around(state.repo, git, state.objects, state.author, moment, dry_run)
        targets = _targets(state, git, run)
        done = clean(around, run, targets, named=named, force=force, stopped=stopped, aside=aside)
    if not dry_run and not done.skipped:
        # Settings and sessions of the agents' programs; all that was worth keeping is in the log.
        for folder in [home_folder() / "private" / run.id, *(home_folder() / "private").glob(f"{run.id}.*")]:
            remove_tree(folder)
    return done


def _undriven(held: contextlib.ExitStack, state: State, run: Run, *, force: bool) -> RunDesk | None:
    """Return a run of this machine that nobody drives, and keep others from it; None if it is none of ours, or driven.

    Raises: Busy for one that is driven and shall be put away all the same.
    """
    desk = RunDesk(state, run)
    try:
        desk.view()
        held.enter_context(desk.driving())
    except Busy:
        if force:
            raise
        return None
    except (NexusError, OSError):
        return None
    return desk


def _ended(desk: RunDesk) -> Run:
    """End a run that never did: what is put away is not gone on with, and its log is whole for the archive."""
    if desk.view().status in ENDED:
        recorded(desk)
    else:
        cancelled(desk, "put away by git nexus clean")
    desk.checkpointed()
    return desk.run


def _runs(state: State) -> Path:
    return state.repo.common_dir / "nexus" / "runs"


def _targets(state: State, git: PrivateGit, run: Run) -> list[Target]:
    """Return the branches that a run's work most likely went to."""
    found = []
    for name in dict.fromkeys((run.onto, branch_of(state.repo), *_USUAL)):
        if name and not name.startswith(BRANCHES):
            try:
                found.append(Target(name, commit_of(state.repo, git, name)))
            except (NotFound, Invalid):
                continue
    return found
