"""Clean up after a run, in an order that loses nothing wherever it is cut: hold what is unreachable, rename, let go."""

import contextlib
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.errors import Busy, Failed
from gitnexus.base.record import Record
from gitnexus.git import Objects, Repo
from gitnexus.git.child import run as run_git
from gitnexus.git.objects import Author
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import PrivateGit
from gitnexus.git.worktrees import worktrees
from gitnexus.runs.archive import LOGS, fold
from gitnexus.runs.ids import BRANCHES, branch_of
from gitnexus.runs.integrated import Target, containing, integrated
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.parked import RESCUE, left_in, park
from gitnexus.runs.trash import Trash, living


class Cleaned(Record):
    """What was done about one run, or would be: each field is empty where there was nothing to do.

    `integrated` says where the work is; `rescue` the ref that holds what is nowhere else; `left` how many files
    differed from the branch; `odd` what fits into no commit and stays in the trash for good; `aside` where the folders
    are that killed attempts left.
    """

    run: str
    integrated: str = ""
    rescue: str = ""
    left: int = 0
    trash: str = ""
    odd: tuple[str, ...] = ()
    branch: str = ""
    aside: tuple[str, ...] = ()
    archive: str = ""
    skipped: str = ""


class Place(NamedTuple):
    """The worktree of a run: its folder, None if that is gone, and where git keeps its HEAD and index."""

    folder: Path | None
    admin: Path


class Around(NamedTuple):
    """What a clean-up works with."""

    repo: Repo
    git: PrivateGit
    objects: Objects
    who: Author
    now: datetime
    look_only: bool


def why_not(run: Run, *, named: bool, force: bool, is_integrated: bool, stopped: bool = False) -> str:
    """Return why a run is left as it is, empty if it can be cleaned.

    One that `stopped`, as who drove it is dead, could be gone on with: it is only put away by its name.
    """
    if stopped and not named and not force:
        return "it stopped; git nexus resume goes on with it, git nexus clean with its name puts it away"
    if run.status not in ENDED and not force and not stopped:
        return f"it is {run.status}" + ("; --force cleans a run that died" if named else "")
    if run.status == "completed" and not named and not is_integrated:
        return "it is not landed yet"
    return ""


def places_of(repo: Repo, run: str) -> list[Place]:
    """Return the worktrees of a run, also those whose folder somebody deleted."""
    folders = {one.git_dir: one.path for one in worktrees(repo) if one.is_linked}
    return [Place(folders.get(admin), admin) for admin, runs in _marked(repo) if run in runs]


def with_something(repo: Repo) -> set[str]:
    """Return the runs that still have a branch, a log of their own or a worktree."""
    asked = run_git("for-each-ref", "--format=%(refname)", BRANCHES, LOGS, git_dir=repo.common_dir)
    names = asked.stdout.decode("utf-8", "replace").split()
    return {name.rpartition("/")[2] for name in names} | {one for _, runs in _marked(repo) for one in runs}


def _marked(repo: Repo) -> Iterator[tuple[Path, set[str]]]:
    """Yield the folders in which git keeps worktrees, each with the runs that it is of by its branch or its mark."""
    top = repo.common_dir / "worktrees"
    for admin in sorted(top.iterdir()) if top.is_dir() else []:
        marks = set()
        for file in (admin / "HEAD", admin / "nexus" / "run"):
            with contextlib.suppress(OSError):
                marks.add(file.read_text(encoding="utf-8", errors="replace").strip().removeprefix(f"ref: {BRANCHES}"))
        yield admin, marks


def clean(
    around: Around, run: Run, targets: Sequence[Target], *, named: bool, force: bool, stopped: bool = False,
    aside: Sequence[Path] = (),
) -> Cleaned:  # fmt: skip
    """Put one run's worktree and branch away, and the folders that killed attempts left `aside`.

    Raises: Busy while somebody works in it, OSError, GitFailed.
    """
    repo, git = around.repo, around.git
    tip = around.objects.tip(branch_of(run.id))
    where = _integrated(git, tip, targets) if tip else ""
    refused = why_not(run, named=named, force=force, is_integrated=bool(where), stopped=stopped)
    if refused:
        return Cleaned(run=run.id, skipped=refused)
    places = places_of(repo, run.id)
    refuse_living(run, [place.folder for place in places if place.folder is not None] + list(aside))
    done = Cleaned(run=run.id, integrated=where)
    for place in places or ([Place(None, repo.common_dir)] if tip else []):
        done = _put_away(around, done, place, tip or run.head or run.base, is_worktree=bool(places))
    for folder in aside:
        done = _aside(around, done, folder, tip or run.head or run.base)
    if tip:
        done = _let_go(around, done, tip)
    if run.status in ENDED and not around.look_only:
        done = done.changed(archive=fold(repo, git, around.objects, run.id, around.who))
    return done


def _integrated(git: PrivateGit, tip: str, targets: Sequence[Target]) -> str:
    holding = containing(git, tip, BRANCHES)
    if holding:
        return f"it is in {holding[0].name}"
    with patch_ids(git) as ids:
        return integrated(git, ids, tip, targets)


def refuse_living(run: Run, folders: Sequence[Path]) -> None:
    """Refuse while somebody works in one of a run's folders. Raises: Busy."""
    for folder in folders:
        found = living(folder)
        if found:
            shown = ", ".join(str(pid) for pid in found[:5])
            raise Busy(
                f"somebody works in the worktree of {run.id}: process {shown}",
                hint=f"leave {folder} or end what runs there, then clean again",
                context={"processes": found},
            )


def _put_away(around: Around, done: Cleaned, place: Place, tip: str, *, is_worktree: bool) -> Cleaned:
    """Hold what would be lost, then rename the folder and what git keeps of it."""
    log = around.repo.common_dir / "logs" / branch_of(done.run)
    admin = place.admin if is_worktree else None
    left = left_in(around.git, place.folder, admin, log, tip, look_only=around.look_only)
    wanted = left.commit or ("" if done.integrated else tip)
    if wanted:
        name = f"{RESCUE}{done.run}"
        if not around.look_only:
            name = park(around.git, around.objects, done.run, wanted)
        done = done.changed(rescue=name, left=done.left + left.files)
    odd = (*done.odd, *(one.path for one in left.odd))
    if not is_worktree:
        return done
    trash = Trash(around.repo.common_dir)
    if around.look_only:
        return done.changed(trash=str(trash.folder), odd=odd)
    if place.folder is not None:
        kept = trash.put(place.folder, done.run, around.now, keep=bool(left.odd))
        done = done.changed(trash=str(kept), odd=odd)
    # Without its folder git would keep the branch from being deleted or checked out, and a lock keeps it from pruning.
    trash.put(place.admin, f"{done.run}-admin", around.now)
    with contextlib.suppress(OSError):
        place.admin.parent.rmdir()
    return done


def _aside(around: Around, done: Cleaned, folder: Path, tip: str) -> Cleaned:
    """Hold what a killed attempt left, then rename its folder into the trash."""
    log = around.repo.common_dir / "logs" / branch_of(done.run)
    left = left_in(around.git, folder, None, log, tip, look_only=around.look_only)
    rescue = done.rescue
    if left.commit:
        rescue = f"{RESCUE}{done.run}" if around.look_only else park(around.git, around.objects, done.run, left.commit)
    kept = str(folder)
    if not around.look_only:
        kept = str(Trash(around.repo.common_dir).put(folder, done.run, around.now, keep=bool(left.odd)))
    return done.changed(rescue=done.rescue or rescue, aside=(*done.aside, kept))


def _let_go(around: Around, done: Cleaned, tip: str) -> Cleaned:
    """Delete the branch, if it is where it was held or proved to be and nobody has it checked out."""
    ref = branch_of(done.run)
    if around.look_only:
        return done.changed(branch=ref)
    if not (done.integrated or done.rescue):
        raise Failed(f"{ref} is neither parked nor integrated; it stays", hint="this should not happen: report it")
    if any(one.head == f"ref: {ref}" for one in worktrees(around.repo)):
        return done.changed(skipped=f"{ref} stays: it is checked out elsewhere")
    if not around.objects.swap(ref, tip, None, f"clean: {done.run}"):
        return done.changed(skipped=f"{ref} stays: it moved meanwhile")
    return done.changed(branch=ref)
