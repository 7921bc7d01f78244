"""Hand edits in `.nexus/`: noticed, judged, taken into the ref as their own commit, and never dropped."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from gitnexus.base.errors import Invalid
from gitnexus.git import GitFailed, blob_id, exclude
from gitnexus.git.child import run
from gitnexus.state import disk
from gitnexus.state.layout import (
    FORMAT_FILE,
    IGNORE_FILE,
    KEPT,
    LARGEST_FILE,
    OWNED,
    STRUCTURAL,
    belongs,
    why_left_out,
)
from gitnexus.state.lock import StateLock
from gitnexus.state.merge import Unmergeable, merged, why_unreadable
from gitnexus.state.projection import FOLDER, Projection, Seen
from gitnexus.state.snapshot import Snapshot
from gitnexus.state.store import Change, Keeper, State

# More files than this are not deleted one by one, by hand.
_MOST_DELETED = 20
# What vanishes so soon after it was put back is still being cleaned away, in nanoseconds.
_SETTLING = 5_000_000_000
_NOT_BY_HAND = "git nexus writes this file itself; delete it to get it back"


@dataclass(frozen=True, slots=True)
class Edit:
    """A file that is not what we last put there: `base` is what that was, `mine` what it is (None: deleted)."""

    path: str
    base: str | None
    mine: bytes | None


@dataclass(slots=True)
class Settled:
    """What settling did, and what waits for a person."""

    taken: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    clashes: set[str] = field(default_factory=set)
    kept: list[str] = field(default_factory=list)
    restored: int = 0
    tracked: bool = False
    postponed: str | None = None
    commit: str | None = None


def settle(state: State) -> Settled:
    """Take in what was edited in this worktree's `.nexus/`, then bring the folder to the tip."""
    settled = Settled()
    own = own_projection(state)
    if own is None or not state.exists:
        return settled
    if _is_quiet(own, state.latest()):
        return settled
    with state.lock() as lock:
        if not lock.held:
            settled.postponed = "another process holds the state"  # reading goes to the ref and does not need us
            return settled
        own.journal.reload()
        edits, touched = find_edits(own, settled)
        if edits and exclude.tracked(state.repo):
            settled.tracked = True
            return settled
        if own.takes_in:
            _take_in(state, own, _without_old_versions(state, own, edits), lock, settled)
        _catch_up(state, own, state.latest(), touched, settled)
        _mark_run(own)
    return settled


def own_projection(state: State) -> Projection | None:
    """Return the projection of the worktree that the state was opened from."""
    return next((p for p in state.projections if p.worktree.git_dir == state.repo.git_dir), None)


def left_aside(projection: Projection) -> tuple[list[str], dict[str, str]]:
    """Return the copies that wait to be merged, and the files that are not kept, with the reason."""
    copies, left_out = [], {}
    for path, _ in disk.scan(projection.root, _everything(projection)):
        if KEPT.search(path):
            copies.append(path)
        else:
            why = why_left_out(path)
            if why:
                left_out[path] = why
    return sorted(copies), left_out


def _everything(projection: Projection) -> frozenset[str]:
    try:
        return frozenset(os.listdir(projection.root)) - {"state"}
    except OSError:
        return OWNED


def _is_quiet(own: Projection, tip: Snapshot) -> bool:
    """True if nothing moved: the common case, and the only one on the path of a plain command."""
    own.journal.reload()
    if own.journal.commit != tip.commit or own.journal.head != own.worktree.head or own.journal.moved:
        return False
    known, met = own.journal.files, 0
    for path, stat in disk.scan(own.root, OWNED):
        before = known.get(path)
        if before is None:
            if belongs(path):
                return False
        elif stat is None or not before.same_as(stat):
            return False
        else:
            met += 1
    return met == len(known)


def find_edits(own: Projection, settled: Settled) -> tuple[list[Edit], Seen]:
    """Return the edits of a `.nexus/`, and the files whose stat moved without their content."""
    edits: list[Edit] = []
    touched: Seen = {}
    known, met = own.journal.files, set()
    for path, stat in disk.scan(own.root, OWNED):
        before = known.get(path)
        if before is None and not belongs(path):
            continue
        met.add(path)
        if stat is not None and before is not None and before.same_as(stat):
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
        else:
            edits.append(Edit(path, before.oid if before else None, held[0]))
    missing = [path for path in known if path not in met]
    deleted = _deleted(own, missing)
    edits += [Edit(path, known[path].oid, None) for path in deleted]
    touched |= {path: None for path in missing if path not in deleted}  # to be written again
    return edits, touched


def _deleted(own: Projection, missing: list[str]) -> set[str]:
    """Return which of the files that are gone a person deleted; the others were cleaned away and come back.

    `git clean` and `rm -rf` also delete file by file. So many files at once, files that were put back a moment ago,
    and a folder that goes on vanishing while we look are no person's decision about one file.
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
    """True if a person deleted this one file; a folder or a whole `.nexus/` that is gone was cleaned away.

    A branch switch may also take files along (where a branch tracks `.nexus/`): then they come back too.
    """
    if "/" not in path or path in STRUCTURAL or own.journal.head != own.worktree.head:
        return False
    if not (own.root / IGNORE_FILE).exists():
        return False
    try:
        with disk.folder(own.root, path.split("/")[:-1]):  # a planted link is no folder
            return True
    except (OSError, disk.Obstructed):
        return False


def _without_old_versions(state: State, own: Projection, edits: list[Edit]) -> list[Edit]:
    """Return the edits that are somebody's: a file the journal does not know may be an earlier version of the ref's."""
    tip = state.snapshot
    unsure = [edit for edit in edits if edit.base is None and edit.mine is not None and tip.oid(edit.path)]
    ids = {edit.path: blob_id(edit.mine or b"", own.object_format) for edit in unsure}
    unsure = [edit for edit in unsure if tip.oid(edit.path) != ids[edit.path]]
    if not unsure:
        return edits
    asked = run("log", "--format=", "--raw", "--no-abbrev", "--no-renames", "-z", "--root", tip.commit or "", "--",
                git_dir=state.repo.common_dir)  # fmt: skip
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


def _take_in(state: State, own: Projection, edits: list[Edit], lock: StateLock, settled: Settled) -> None:
    if not edits:
        return

    def decide(tip: Snapshot) -> Change[Settled]:
        outcome = Settled(held=dict(settled.held))
        files: dict[str, bytes | None] = {}
        going = {edit.path for edit in edits if edit.mine is None}
        for edit in edits:
            if edit.mine is not None and tip.obstructs(edit.path, going):
                outcome.held[edit.path] = "on the ref there is a folder where this is a file, or the other way round"
                continue
            judged = judge(edit, tip, outcome, state.keepers)
            if judged is not None:
                files[edit.path] = judged[0]
                outcome.taken.append(edit.path)
        return Change(files, _why(files), outcome)

    outcome = state.transact_locked(decide, lock)
    settled.taken, settled.held = outcome.taken, outcome.held
    settled.commit = state.snapshot.commit if outcome.taken else None
    _keep_aside(own, edits, outcome, settled)


def judge(edit: Edit, tip: Snapshot, outcome: Settled, keepers: Mapping[str, Keeper]) -> tuple[bytes | None] | None:
    """Return what the ref should hold for an edited file, or None to leave the ref as it is."""
    judged = _judged(edit, tip, outcome)
    keeper = keepers.get(edit.path.partition("/")[0])
    if judged is None or keeper is None:
        return judged
    try:
        return (keeper(edit.path, judged[0], tip.read(edit.path)),)
    except Invalid as exc:
        outcome.held[edit.path] = exc.message
        return None


def _judged(edit: Edit, tip: Snapshot, outcome: Settled) -> tuple[bytes | None] | None:
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
        return (merged(edit.path, _base(edit, tip), edit.mine, theirs),)
    except Unmergeable:
        outcome.clashes.add(edit.path)
        return None


def _base(edit: Edit, tip: Snapshot) -> bytes | None:
    try:
        return tip.blob(edit.base) if edit.base else None
    except GitFailed:
        return None  # pruned: the ref was rewritten since


def _why(files: dict[str, bytes | None]) -> str:
    names = [f"{path} (deleted)" if data is None else path for path, data in sorted(files.items())]
    if len(names) == 1:
        return f"state: take in the edit of {names[0]}"
    return f"state: take in {len(names)} edits\n\n" + "\n".join(names)


def _keep_aside(own: Projection, edits: list[Edit], outcome: Settled, settled: Settled) -> None:
    """Put the ref's version in place of each edited file that was judged, a version that did not merge beside it."""
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
            with disk.folder(own.root, parts, make=True) as fd:
                disk.store(fd, name, edit.mine)
            settled.kept.append(aside)
        if edit.mine is None:
            seen[edit.path] = None
        elif held is not None and held[0] == edit.mine:
            # From now on this content is known to be safe elsewhere, so the refresh may replace it.
            seen[edit.path] = (blob_id(edit.mine, own.object_format), held[1])
    own.journal.record(None, seen)


def _catch_up(state: State, own: Projection, tip: Snapshot, touched: Seen, settled: Settled) -> None:
    if own.root.is_symlink() or (own.root.exists() and not own.root.is_dir()):
        settled.held[FOLDER] = "it is a link or a file where a folder must be"
        return
    if not own.root.exists():
        exclude.add(state.repo)  # state may have come with a mirror or a fetch, without any init here
        own.root.mkdir(exist_ok=True)
    if own.journal.files and any(seen is None for seen in touched.values()):
        own.journal.note_refill()
    own.journal.record(None, touched)
    left = own.update(tip, {path: want for path, want in own.stale(tip).items() if path not in settled.held})
    gone = [path for path, seen in touched.items() if seen is None and tip.oid(path) is not None]
    settled.restored = sum(path not in left for path in gone)
    settled.held |= dict.fromkeys(left, "it could not be written")
    own.journal.note_head(own.worktree.head)


def _mark_run(own: Projection) -> None:
    """Remember that this worktree was born as a run's, also after its agent switches the branch."""
    mark = own.worktree.run_mark
    if own.worktree.is_run and not mark.exists():
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.write_text(own.worktree.head.rpartition("/")[2] + "\n", encoding="utf-8")
