"""Cleans up one run without losing work if interrupted: keeps unreachable commits by a ref, then moves and deletes."""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from gitnexus.base.errors import Busy, Failed
from gitnexus.base.record import Record
from gitnexus.git import GitFailed, Objects, Repo
from gitnexus.git.branches import list_refs
from gitnexus.git.objects import Author
from gitnexus.git.patchid import patch_ids
from gitnexus.git.private import PrivateGit
from gitnexus.git.worktrees import list_worktrees
from gitnexus.runs.archive import LOGS, EndedRun, archive_log, archive_logs
from gitnexus.runs.cleanup.merged_check import Target, branches_containing, how_integrated
from gitnexus.runs.cleanup.rescue_ref import RESCUE, commit_leftovers, hold_by_rescue_ref
from gitnexus.runs.cleanup.trash import Trash, processes_in_folder
from gitnexus.runs.ids import BRANCHES, run_branch_ref
from gitnexus.runs.model import ENDED, Run


class Cleaned(Record):
    """What was, or would be, done about one run; a field is empty if there was nothing to do.

    `integrated` says where the work is; `rescue` is the ref that keeps what is nowhere else; `left` the number of files
    that differed from the branch; `odd` what no commit can hold, which stays in the trash; `aside` the folders of
    killed attempts; `unlanded` is True for completed work that is on none of the user's branches.
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
    unlanded: bool = False


class RunWorktree(NamedTuple):
    """A run's worktree: its folder, None if deleted, and git's folder with its HEAD and index."""

    folder: Path | None
    admin: Path


class CleanupContext(NamedTuple):
    """The repository and options of a clean-up."""

    repo: Repo
    git: PrivateGit
    objects: Objects
    who: Author
    now: datetime
    look_only: bool
    merged: Mapping[str, str] = MappingProxyType({})  # tips of runs that a branch of the user's is known to hold


class EndOfRun(NamedTuple):
    """A run that is put away but for its refs: what was done, the run, and the tip of its branch, "" if it has none."""

    done: Cleaned
    run: Run
    tip: str = ""


def why_not_cleaned(run: Run, *, named: bool, force: bool, is_integrated: bool, stopped: bool = False) -> str:
    """Return why a run is not cleaned, "" if it can be.

    A run that `stopped`, because its driver died, could be resumed: it is only cleaned by name.
    """
    if stopped and not named and not force:
        return "it stopped; git nexus resume RUN continues it, git nexus clean RUN removes it"
    if run.status not in ENDED and not force and not stopped:
        return f"it is {run.status}" + ("; --force cleans a run that died" if named else "")
    if run.status == "completed" and not named and not is_integrated:
        return f"it is not landed yet; git nexus land {run.id} lands it, git nexus clean {run.id} removes its worktree"
    return ""


def worktrees_of_run(repo: Repo, run: str) -> list[RunWorktree]:
    """Return the worktrees of a run, including those whose folder was deleted."""
    folders = {one.git_dir: one.path for one in list_worktrees(repo) if one.is_linked}
    return [RunWorktree(folders.get(admin), admin) for admin, runs in _marked_worktrees(repo) if run in runs]


def runs_with_leftovers(repo: Repo, refs: Iterable[str] | None = None) -> set[str]:
    """Return the runs that still have a branch, a log ref or a worktree; `refs` are all refs of runs, if known."""
    names = list_refs(repo, BRANCHES, LOGS) if refs is None else refs
    below = (name for name in names if name.startswith((BRANCHES, LOGS)))
    return {name.rpartition("/")[2] for name in below} | {one for _, runs in _marked_worktrees(repo) for one in runs}


def _marked_worktrees(repo: Repo) -> Iterator[tuple[Path, set[str]]]:
    """Yield git's worktree folders, each with the runs it belongs to by branch or mark."""
    top = repo.common_dir / "worktrees"
    for admin in sorted(top.iterdir()) if top.is_dir() else []:
        marks = set()
        for file in (admin / "HEAD", admin / "nexus" / "run"):
            with contextlib.suppress(OSError):
                marks.add(file.read_text(encoding="utf-8", errors="replace").strip().removeprefix(f"ref: {BRANCHES}"))
        yield admin, marks


def clean_run(
    context: CleanupContext,
    run: Run,
    targets: Callable[[], Sequence[Target]],
    *,
    named: bool,
    force: bool,
    stopped: bool = False,
    aside: Sequence[Path] = (),
) -> EndOfRun:
    """Move one run's worktree and the folders of killed attempts (`aside`) to the trash; its refs stay for `end_refs`.

    `targets` returns the branches that most likely hold its work, asked only where that is not known yet.
    Raises: Busy while a process works in it, OSError, GitFailed.
    """
    repo, git = context.repo, context.git
    tip = context.objects.tip(run_branch_ref(run.id))
    where = _how_integrated(git, tip, targets()) if tip and tip not in context.merged else ""
    if tip and tip in context.merged:
        where = f"it is in {context.merged[tip]}"
    refused = why_not_cleaned(run, named=named, force=force, is_integrated=bool(where), stopped=stopped)
    if refused:
        return EndOfRun(Cleaned(run=run.id, skipped=refused), run)
    places = worktrees_of_run(repo, run.id)
    refuse_used_folders(run, [place.folder for place in places if place.folder is not None] + list(aside))
    done = Cleaned(run=run.id, integrated=where, unlanded=bool(tip) and run.status == "completed" and not where)
    for place in places or ([RunWorktree(None, repo.common_dir)] if tip else []):
        done = _trash_worktree(
            context, done, place, tip or run.head or run.base, base=run.base, is_worktree=bool(places)
        )
    for folder in aside:
        done = _trash_attempt_folder(context, done, folder, tip or run.head or run.base, run.base)
    return EndOfRun(done, run, tip or "")


def end_refs_together(context: CleanupContext, ends: Sequence[EndOfRun]) -> list[Cleaned]:
    """Delete the branches of runs and archive their logs, many in one ref transaction; one by one where that fails."""
    checked_out = {one.head for one in list_worktrees(context.repo)}
    together = [one for one in ends if not context.look_only and _may_delete(one, checked_out)]
    wanted = [
        EndedRun(one.run.id, one.tip or one.run.head, run_branch_ref(one.run.id) if one.tip else "") for one in together
    ]
    found: dict[str, Cleaned] = {}
    with contextlib.suppress(Busy, GitFailed):
        archives = archive_logs(context.repo, context.git, context.objects, wanted, context.who)
        for one, asked in zip(together, wanted, strict=True):
            found[one.run.id] = one.done.changed(branch=asked.branch, archive=archives.get(one.run.id, ""))
    return [found.get(one.run.id) or _end_refs_or_skip(context, one) for one in ends]


def _end_refs_or_skip(context: CleanupContext, end: EndOfRun) -> Cleaned:
    try:
        return end_refs(context, end)
    except Busy as exc:
        return Cleaned(run=end.run.id, skipped=exc.message)


def _may_delete(end: EndOfRun, checked_out: Collection[str]) -> bool:
    """True if the refs of a run can go without another look: its work is safe, and its branch not checked out."""
    if end.done.skipped or end.run.status not in ENDED:
        return False
    is_safe = bool(end.done.integrated or end.done.rescue)
    return not end.tip or (is_safe and f"ref: {run_branch_ref(end.run.id)}" not in checked_out)


def end_refs(context: CleanupContext, end: EndOfRun) -> Cleaned:
    """Delete the branch of a run and archive its log. Raises: Busy, GitFailed."""
    done, run = end.done, end.run
    if done.skipped:
        return done
    if end.tip:
        done = _delete_branch(context, done, end.tip)
    if run.status in ENDED and not context.look_only:
        tip = end.tip or run.head
        done = done.changed(archive=archive_log(context.repo, context.git, context.objects, run.id, context.who, tip))
    return done


def _how_integrated(git: PrivateGit, tip: str, targets: Sequence[Target]) -> str:
    holding = branches_containing(git, tip)
    if holding:
        return f"it is in {holding[0].name}"
    with patch_ids(git) as ids:
        return how_integrated(git, ids, tip, targets)


def refuse_used_folders(run: Run, folders: Sequence[Path]) -> None:
    """Raise an error while a process works in one of a run's folders. Raises: Busy."""
    for folder in folders:
        found = processes_in_folder(folder)
        if found:
            shown = ", ".join(str(pid) for pid in found[:5])
            raise Busy(
                f"a process is working in the worktree of {run.id}: {shown}",
                hint=f"end the process, or leave {folder}, then clean again",
                context={"processes": found},
            )


def _trash_worktree(
    context: CleanupContext, result: Cleaned, worktree: RunWorktree, tip: str, *, base: str, is_worktree: bool
) -> Cleaned:
    """Keep unreachable work by a ref, then move the folder and git's data about it to the trash."""
    log = context.repo.common_dir / "logs" / run_branch_ref(result.run)
    admin = worktree.admin if is_worktree else None
    left = commit_leftovers(context.git, worktree.folder, admin, log, tip, base=base, look_only=context.look_only)
    wanted = left.commit or ("" if result.integrated else tip)
    if wanted:
        name = f"{RESCUE}{result.run}"
        if not context.look_only:
            name = hold_by_rescue_ref(context.git, context.objects, result.run, wanted)
        result = result.changed(rescue=name, left=result.left + left.files)
    odd = (*result.odd, *(one.path for one in left.odd))
    if not is_worktree:
        return result
    trash = Trash(context.repo.common_dir)
    if context.look_only:
        return result.changed(trash=str(trash.folder), odd=odd)
    if worktree.folder is not None:
        kept = trash.put(worktree.folder, result.run, context.now, keep=bool(left.odd))
        result = result.changed(trash=str(kept), odd=odd)
    # Without its folder, git would not let the branch be deleted or checked out, and a lock prevents pruning.
    trash.put(worktree.admin, f"{result.run}-admin", context.now)
    with contextlib.suppress(OSError):
        worktree.admin.parent.rmdir()
    return result


def _trash_attempt_folder(context: CleanupContext, result: Cleaned, folder: Path, tip: str, base: str) -> Cleaned:
    """Keep the work of a killed attempt by a ref, then move its folder to the trash."""
    log = context.repo.common_dir / "logs" / run_branch_ref(result.run)
    left = commit_leftovers(context.git, folder, None, log, tip, base=base, look_only=context.look_only)
    rescue = result.rescue
    if left.commit:
        rescue = (
            f"{RESCUE}{result.run}"
            if context.look_only
            else hold_by_rescue_ref(context.git, context.objects, result.run, left.commit)
        )
    kept = str(folder)
    if not context.look_only:
        kept = str(Trash(context.repo.common_dir).put(folder, result.run, context.now, keep=bool(left.odd)))
    return result.changed(rescue=result.rescue or rescue, aside=(*result.aside, kept))


def _delete_branch(context: CleanupContext, result: Cleaned, tip: str) -> Cleaned:
    """Delete the branch if it is still at the checked commit and not checked out."""
    ref = run_branch_ref(result.run)
    if context.look_only:
        return result.changed(branch=ref)
    if not (result.integrated or result.rescue):
        raise Failed(f"{ref} is neither parked nor integrated; it stays", hint="this should not happen: report it")
    if any(one.head == f"ref: {ref}" for one in list_worktrees(context.repo)):
        return result.changed(skipped=f"{ref} stays: it is checked out elsewhere")
    if not context.objects.swap(ref, tip, None, f"clean: {result.run}"):
        return result.changed(skipped=f"{ref} stays: it moved meanwhile")
    return result.changed(branch=ref)
