"""Detects hand edits in `.nexus/`, validates them, and commits them to the state ref. No edit is ever discarded."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitnexus.base.errors import Invalid
from gitnexus.git import GitFailed, blob_id, exclude
from gitnexus.git.child import run_git
from gitnexus.state import disk
from gitnexus.state.layout import (
    FORMAT_FILE,
    IGNORE_FILE,
    KEPT,
    LARGEST_FILE,
    OWNED,
    STRUCTURAL,
    belongs_to_state,
    why_left_out,
)
from gitnexus.state.locate import STATE_REF
from gitnexus.state.lock import StateLock
from gitnexus.state.merge import Unmergeable, merge_file, why_unreadable
from gitnexus.state.projection import FOLDER, Projection, Seen
from gitnexus.state.snapshot import Snapshot
from gitnexus.state.store import Change, Keeper, State

# More files than this are not deleted one by one, by hand.
_MOST_DELETED = 20
# What vanishes so soon after it was put back is still being cleaned away, in nanoseconds.
_SETTLING = 5_000_000_000
_NOT_BY_HAND = "git nexus writes this file itself; delete it to get it back"


@dataclass(frozen=True, slots=True)
class HandEdit:
    """A file that differs from what we last wrote: `base` is what we wrote, `mine` the content now (None: deleted).

    `anew`: it was written after all of ours were cleaned away, by somebody who did not see what it held.
    """

    path: str
    base: str | None
    mine: bytes | None
    anew: bool = False


@dataclass(slots=True)
class SettleResult:
    """What settling changed, and what the user has to resolve."""

    taken: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    clashes: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
    restored: int = 0
    tracked: bool = False
    postponed: str | None = None
    commit: str | None = None


def settle_hand_edits(state: State) -> SettleResult:
    """Commit the hand edits in this worktree's `.nexus/`, then update the folder to the tip of the ref."""
    settled = SettleResult()
    own = own_projection(state)
    if own is None or not state.exists:
        return settled
    if _is_unchanged(own, state.latest()):
        return settled
    if state.snapshot.oid(FORMAT_FILE) is None:
        settled.postponed = f"{STATE_REF} names a commit without a state"
        return settled
    with state.lock() as lock:
        if not lock.held:
            settled.postponed = "another process holds the state"  # reading goes to the ref and does not need us
            return settled
        own.journal.reload()
        edits, touched = find_edits(own, state.latest(), settled)
        if edits and exclude.tracked_nexus_paths(state.repo):
            settled.tracked = True
            return settled
        if own.takes_in:
            _take_in_edits(state, own, _without_old_versions(state, own, edits), lock, settled)
        _update_to_tip(state, own, state.latest(), touched, settled)
        _mark_run_worktree(own)
    return settled


def own_projection(state: State) -> Projection | None:
    """Return the projection of the worktree that the state was opened from."""
    return next((p for p in state.projections if p.worktree.git_dir == state.repo.git_dir), None)


def find_leftover_files(projection: Projection) -> tuple[list[str], dict[str, str]]:
    """Return the copies that wait to be merged, and the files that are not stored, with the reason."""
    copies, left_out = [], {}
    for path, _ in disk.scan_files(projection.root, _names_in_folder(projection)):
        if KEPT.search(path):
            copies.append(path)
        else:
            why = why_left_out(path)
            if why:
                left_out[path] = why
    return sorted(copies), left_out


def _names_in_folder(projection: Projection) -> frozenset[str]:
    try:
        return frozenset(os.listdir(projection.root)) - {"state"}
    except OSError:
        return OWNED


def _is_unchanged(own: Projection, tip: Snapshot) -> bool:
    """Return True if nothing changed: the usual case, and the only one on the path of a plain command."""
    own.journal.reload()
    if own.journal.commit != tip.commit or own.journal.head != own.worktree.head or own.journal.moved:
        return False
    known, met = own.journal.files, 0
    for path, stat in disk.scan_files(own.root, OWNED):
        before = known.get(path)
        if before is None:
            if belongs_to_state(path):
                return False
        elif stat is None or not before.matches_stat(stat):
            return False
        else:
            met += 1
    return met == len(known)


def find_edits(own: Projection, tip: Snapshot, settled: SettleResult) -> tuple[list[HandEdit], Seen]:
    """Return the edits of a `.nexus/`, and the files whose stat changed but not their content.

    A file of ours that a power cut emptied is no edit: it is written again.
    """
    edits: list[HandEdit] = []
    touched: Seen = {}
    known, met = own.journal.files, set()
    anew = {IGNORE_FILE, FORMAT_FILE} <= known.keys() and not any(
        (own.root / name).exists() for name in (IGNORE_FILE, FORMAT_FILE)
    )
    for path, stat in disk.scan_files(own.root, OWNED):
        before = known.get(path)
        if before is None and not belongs_to_state(path):
            continue
        met.add(path)
        if stat is not None and before is not None and before.matches_stat(stat):
            continue
        try:
            held = disk.load_path(own.root, path, LARGEST_FILE)
        except disk.Obstructed as exc:
            settled.held[path] = exc.message
            continue
        if held is None:
            met.discard(path)
            continue
        oid = blob_id(held[0], own.object_format)
        if before is not None and oid == before.oid:
            touched[path] = (oid, held[1])
        elif not held[0] and disk.is_written_here(held[1]) and tip.oid(path) not in (None, oid):
            touched[path] = (oid, held[1])
            settled.restored += 1
        else:
            edits.append(HandEdit(path, before.oid if before and not anew else None, held[0], anew))
    missing = [path for path in known if path not in met]
    deleted = _find_deleted_files(own, missing)
    edits += [HandEdit(path, known[path].oid, None) for path in deleted]
    touched |= {path: None for path in missing if path not in deleted}  # to be written again
    return edits, touched


def _find_deleted_files(own: Projection, missing: list[str]) -> set[str]:
    """Return which of the missing files the user deleted; the others were cleaned away and are restored.

    `git clean` and `rm -rf` also delete file by file. So many files at once, files that were restored a moment ago, and
    a folder that keeps shrinking while it is examined are not a user's decision about one file.
    """
    if own.journal.moved or len(missing) > _MOST_DELETED or time.time_ns() - own.journal.refilled < _SETTLING:
        return set()
    found = {path for path in missing if _was_deleted(own, path)}
    if found:
        time.sleep(0.03)
        found = {path for path in found if _was_deleted(own, path) and _siblings_stay(own, path)}
    return found


def _siblings_stay(own: Projection, path: str) -> bool:
    folder = path.rpartition("/")[0] + "/"
    names = [other for other in own.journal.files if other.startswith(folder) and other != path]
    gone = sum(not (own.root / name).exists() for name in names[: 2 * _MOST_DELETED])
    return gone <= _MOST_DELETED


def _was_deleted(own: Projection, path: str) -> bool:
    """Return True if the user deleted this one file; a missing folder or whole `.nexus/` was cleaned away.

    A branch switch may also remove files (where a branch tracks `.nexus/`): these are restored too.
    """
    if "/" not in path or path in STRUCTURAL or own.journal.head != own.worktree.head:
        return False
    if not (own.root / IGNORE_FILE).exists():
        return False
    try:
        with disk.open_folder(own.root, path.split("/")[:-1]):  # a planted link is no folder
            return True
    except (OSError, disk.Obstructed):
        return False


def _without_old_versions(state: State, own: Projection, edits: list[HandEdit]) -> list[HandEdit]:
    """Return the real edits: a file unknown to the journal may be an earlier version from the ref."""
    tip = state.snapshot
    unsure = [edit for edit in edits if edit.base is None and edit.mine is not None and tip.oid(edit.path)]
    ids = {edit.path: blob_id(edit.mine or b"", own.object_format) for edit in unsure}
    unsure = [edit for edit in unsure if tip.oid(edit.path) != ids[edit.path]]
    if not unsure:
        return edits
    asked = run_git(
        "log",
        "--format=",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "-z",
        "--root",
        tip.commit or "",
        "--",
        git_dir=state.repo.common_dir,
    )
    fields = asked.stdout.decode("utf-8", "surrogateescape").split("\0")
    pairs = zip(fields[::2], fields[1::2], strict=False)
    ever = {(path, row.split(" ")[3]) for row, path in pairs if row.count(" ") == 4}
    stale = [edit for edit in unsure if (edit.path, ids[edit.path]) in ever]
    seen: Seen = {}
    for edit in stale:
        held = disk.load_path(own.root, edit.path, LARGEST_FILE)
        if held is not None and held[0] == edit.mine:
            seen[edit.path] = (ids[edit.path], held[1])
    own.journal.record(None, seen)
    return [edit for edit in edits if edit not in stale]


def _take_in_edits(
    state: State, own: Projection, edits: list[HandEdit], lock: StateLock, settled: SettleResult
) -> None:
    if not edits:
        return

    def decide(tip: Snapshot) -> Change[SettleResult]:
        outcome = SettleResult(held=dict(settled.held))
        files: dict[str, bytes | None] = {}
        going = {edit.path for edit in edits if edit.mine is None}
        for edit in edits:
            if edit.mine is not None and tip.obstructs(edit.path, going):
                outcome.held[edit.path] = "on the ref there is a folder where this is a file, or the other way round"
                continue
            judged = judge_edit(edit, tip, outcome, state.keepers)
            if judged is not None:
                files[edit.path] = judged[0]
                outcome.taken.append(edit.path)
        return Change(files, _commit_message(files), outcome)

    outcome = state.transact_locked(decide, lock)
    settled.taken, settled.held = outcome.taken, outcome.held
    settled.commit = state.snapshot.commit if outcome.taken else None
    _keep_clashes_aside(own, edits, outcome, settled)


def judge_edit(
    edit: HandEdit, tip: Snapshot, outcome: SettleResult, keepers: Mapping[str, Keeper]
) -> tuple[bytes | None] | None:
    """Return the content that the ref should have for an edited file, or None to leave the ref unchanged."""
    judged = _judge_by_content(edit, tip, outcome)
    keeper = keepers.get(edit.path.partition("/")[0])
    if judged is None or keeper is None:
        return judged
    try:
        return (keeper(edit.path, judged[0], tip.read(edit.path)),)
    except Invalid as exc:
        outcome.held[edit.path] = exc.message
        return None


def _judge_by_content(edit: HandEdit, tip: Snapshot, outcome: SettleResult) -> tuple[bytes | None] | None:
    theirs_id = tip.oid(edit.path)
    theirs = tip.blob(theirs_id) if theirs_id else None
    if edit.mine is None:  # deleted here; an edit made elsewhere meanwhile wins over that
        return (None,) if theirs_id is not None and theirs_id == edit.base else None
    if edit.mine == theirs:
        return None
    unreadable = _NOT_BY_HAND if edit.path == FORMAT_FILE else why_unreadable(edit.path, edit.mine)
    if unreadable:
        outcome.held[edit.path] = unreadable
        return None
    if theirs is None or theirs_id == edit.base:
        return (edit.mine,)
    try:
        return (merge_file(edit.path, _read_base(edit, tip), edit.mine, theirs),)
    except Unmergeable:
        if edit.anew and "/" in edit.path and edit.path.endswith(".md"):
            return (theirs.rstrip(b"\n") + b"\n" + edit.mine,)
        outcome.clashes.add(edit.path)
        return None


def _read_base(edit: HandEdit, tip: Snapshot) -> bytes | None:
    try:
        return tip.blob(edit.base) if edit.base else None
    except GitFailed:
        return None  # pruned: the ref was rewritten since


def _commit_message(files: dict[str, bytes | None]) -> str:
    names = [f"{path} (deleted)" if data is None else path for path, data in sorted(files.items())]
    if len(names) == 1:
        return f"state: commit the edit of {names[0]}"
    return f"state: commit {len(names)} edits\n\n" + "\n".join(names)


def _keep_clashes_aside(own: Projection, edits: list[HandEdit], outcome: SettleResult, settled: SettleResult) -> None:
    """Write the ref's version over each edited file that was judged, and keep an unmergeable version beside it."""
    seen: Seen = {}
    for edit in edits:
        if edit.path in outcome.held:
            continue
        try:
            held = disk.load_path(own.root, edit.path, LARGEST_FILE) if edit.mine is not None else None
        except disk.Obstructed:
            continue  # somebody is writing it again: an edit for next time
        if edit.path in outcome.clashes and edit.mine is not None:
            aside = f"{edit.path}{disk.KEPT_MARK}{blob_id(edit.mine, own.object_format)[:7]}"
            *parts, name = aside.split("/")
            with disk.open_folder(own.root, parts, make=True) as fd:
                disk.store_file(fd, name, edit.mine)
            settled.kept.append(aside)
        if edit.mine is None:
            seen[edit.path] = None
        elif held is not None and held[0] == edit.mine:
            # From now on this content is known to be safe elsewhere, so the refresh may replace it.
            seen[edit.path] = (blob_id(edit.mine, own.object_format), held[1])
    own.journal.record(None, seen)


def _update_to_tip(state: State, own: Projection, tip: Snapshot, touched: Seen, settled: SettleResult) -> None:
    if own.root.is_symlink() or (own.root.exists() and not own.root.is_dir()):
        settled.held[FOLDER] = "it is a link or a file where a folder must be"
        return
    if not own.root.exists():
        exclude.add_exclude_block(state.repo)  # state may have come with a mirror or a fetch, without any init here
        own.root.mkdir(exist_ok=True)
    if own.journal.files and any(seen is None for seen in touched.values()):
        own.journal.note_refill()
    own.journal.record(None, touched)
    left = own.update(tip, {path: want for path, want in own.stale(tip).items() if path not in settled.held})
    gone = [path for path, seen in touched.items() if seen is None and tip.oid(path) is not None]
    settled.restored += sum(path not in left for path in gone)
    settled.held |= dict.fromkeys(left, "it could not be written")
    own.journal.note_head(own.worktree.head)


def _mark_run_worktree(own: Projection) -> None:
    """Mark this worktree as one of a run, so that it stays known if its agent switches the branch."""
    mark = own.worktree.run_mark
    if own.worktree.is_run and not mark.exists():
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(own.worktree.head.rpartition("/")[2] + "\n", encoding="utf-8")
