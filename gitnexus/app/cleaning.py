"""Clean-up of one run or of all that are done with, and of a trash that is a week old."""

import shutil
from dataclasses import dataclass

from gitnexus.base.clock import now
from gitnexus.base.errors import Busy, Failed, Invalid, NotFound
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import branch_of, commit_of
from gitnexus.runs import store
from gitnexus.runs.clean import Around, Cleaned, clean, with_something
from gitnexus.runs.ids import BRANCHES
from gitnexus.runs.integrated import Target
from gitnexus.runs.model import Run
from gitnexus.runs.trash import Thrown, Trash
from gitnexus.state import State
from gitnexus.state.home import home_folder

_USUAL = ("refs/heads/main", "refs/heads/master", "refs/remotes/origin/HEAD")


@dataclass(frozen=True, slots=True)
class CleanUp:
    """What became of each run, and what was a week in the trash and is deleted now."""

    runs: list[Cleaned]
    deleted: list[Thrown]
    dry_run: bool


def clean_up(state: State, word: str | None, *, dry_run: bool = False, force: bool = False) -> CleanUp:
    """Clean a run, or all that are landed, integrated, failed or cancelled. Raises: NotFound, Failed, Busy."""
    snapshot, moment = state.required(), now()
    there = with_something(state.repo)
    runs = [store.read(snapshot, word)] if word else [run for run in store.runs_in(snapshot) if run.id in there]
    found = []
    for run in runs:
        # A private git for each: what one wrote and did not keep is nothing to the next.
        with private(state.repo) as git:
            around = Around(state.repo, git, state.objects, state.author, moment, dry_run)
            try:
                done = clean(around, run, _targets(state, git, run), named=word is not None, force=force)
                found.append(done)
                if not dry_run and not done.skipped:
                    # Settings and sessions of the agent's program; all that was worth keeping is in the log.
                    shutil.rmtree(home_folder() / "private" / run.id, ignore_errors=True)
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
