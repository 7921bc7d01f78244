"""The transaction on the state ref: reads the tip, computes changes, writes objects and swaps the ref by its old id."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Literal, TypeVar

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Busy, Conflict, NotFound
from gitnexus.base.randomness import random_fraction
from gitnexus.git import Author, Objects, RefLocked, Repo, discover, open_objects
from gitnexus.git.identity import current_author, with_current_time
from gitnexus.git.objects import Content
from gitnexus.state import format as state_format
from gitnexus.state.layout import require_state_path
from gitnexus.state.locate import STATE_REF
from gitnexus.state.lock import StateLock
from gitnexus.state.projection import Projection, list_projections
from gitnexus.state.secrets import reason_without_secrets, without_secrets
from gitnexus.state.snapshot import Snapshot

T = TypeVar("T")
# Long enough for any honest queue, short enough that nobody wonders.
_DEADLINE = 30.0
_GRACE = 0.5
_ANCIENT = 60.0
# What a room makes of an edit below its folder: the path, what it is now (None: deleted), what the ref holds; returns
# what the ref should hold and raises Invalid for what must be left alone.
Keeper = Callable[[str, bytes | None, bytes | None], bytes | None]


@dataclass(frozen=True, slots=True)
class Change(Generic[T]):
    """The result of a decision: files to write (None deletes), the reason, and the caller's return value.

    `joins` is a commit of another clone that is merged in: the second parent. `onto` is a commit to fast-forward to
    instead of writing anything.
    """

    files: Mapping[str, Content]
    why: str
    value: T
    joins: str | None = None
    onto: str | None = None


class State:
    """The files of one ref. `read` answers from the tip that was last read; a write updates it."""

    def __init__(self, repo: Repo, objects: Objects, projections: Sequence[Projection] = ()) -> None:
        self.repo = repo
        self.objects = objects
        self.projections = projections
        self.keepers: Mapping[str, Keeper] = {}
        # Whether an approver signed the file that has to be (a project's settings, the home's permissions), and what to
        # write beside new bytes of it so that they count; None where nobody can sign.
        self.trusts: Callable[[Snapshot, bytes], bool] = lambda _snapshot, _raw: False
        self.signs: Callable[[Snapshot, bytes], Mapping[str, bytes]] | None = None
        self._author: Author | None = None
        self._lock = StateLock(repo.common_dir / "nexus" / "lock")
        self._snapshot = self._read_tip_snapshot()

    @classmethod
    def open(cls, place: Path | Repo, life: Literal["short", "long"] | None = None) -> "State":
        """Return the state of the repository at `place`, initialised or not."""
        repo = place if isinstance(place, Repo) else discover(place)
        return cls(repo, open_objects(repo, life), list_projections(repo))

    @property
    def exists(self) -> bool:
        """True once something was written."""
        return self._snapshot.commit is not None

    @property
    def snapshot(self) -> Snapshot:
        """The snapshot that was last read."""
        return self._snapshot

    def latest(self) -> Snapshot:
        """Read the tip again and return its snapshot. Raises: Failed for a newer format."""
        self._snapshot = self._read_tip_snapshot()
        return self._snapshot

    def required(self) -> Snapshot:
        """Return the latest snapshot of an initialised project. Raises: NotFound."""
        if self.latest().commit is None:
            raise NotFound(
                f"no git nexus project here: {self.repo.folder}",
                hint="make it one with: git nexus init",
                fix="git nexus init",
            )
        state_format.refuse_foreign(self._snapshot)
        return self._snapshot

    def read(self, path: str) -> bytes | None:
        """Return the bytes at `path`, or None if there is no such file."""
        return self._snapshot.read(path)

    def write(self, files: Mapping[str, bytes | None], *, why: str) -> str:
        """Write `files` on top of exactly what was read, and return the commit. Raises: Conflict, Busy."""
        read = self._snapshot.commit

        def unchanged(tip: Snapshot) -> Change[None]:
            if tip.commit != read:
                raise Conflict("the state changed while this was decided", hint="run the command again")
            return Change(files, why, None)

        self.transact(unchanged)
        return self._snapshot.commit or ""

    def transact(self, decide: Callable[[Snapshot], Change[T]]) -> T:
        """Commit what `decide` returns for the tip; call `decide` again each time another process was faster.

        `decide` has no side effects and raises an error to refuse. Raises: Busy, and what `decide` raises.
        """
        with self.lock() as lock:
            return self.transact_locked(decide, lock)

    @property
    def author(self) -> Author:
        """The author of our commits, from the user's git config; cached."""
        if self._author is None:
            self._author = current_author(self.repo)
        return self._author

    def lock(self) -> StateLock:
        """Return the lock of this repository's state, which saves retries."""
        return self._lock

    def transact_locked(self, decide: Callable[[Snapshot], Change[T]], lock: StateLock) -> T:
        """Do the same as `transact` while the caller holds the lock."""
        deadline = time.monotonic() + _DEADLINE
        pause = 0.001
        while time.monotonic() < deadline:
            before = self.latest()
            change = decide(before)
            files = {require_state_path(path): data for path, data in change.files.items()}
            if change.joins is None:  # what other clones have published is not ours to change: all would differ
                files, change = without_secrets(files), replace(change, why=reason_without_secrets(change.why))
            if change.onto is not None:
                if self._fast_forward(before, change.onto, change.why, lock):
                    return change.value
            elif (not files and change.joins is None) or self._publish_commit(before, files, change, lock):
                return change.value
            time.sleep(pause * random_fraction())
            pause = min(pause * 2, 0.05)
        raise Busy("other processes kept writing the state", hint="run the command again")

    def _publish_commit(
        self, before: Snapshot, files: Mapping[str, Content], change: Change[T], lock: StateLock
    ) -> bool:
        """Write one commit and move the ref to it; return False if another process was faster."""
        joins = [change.joins] if change.joins else []
        commit, tree = self._write_commit(before, files, change.why, joins)
        after = Snapshot(self.objects, commit, tree)
        if after.tree == before.tree and not joins:
            return True  # nothing new: no commit in the diary
        if not self._swap_ref(before.commit, commit, change.why, lock):
            return False
        self._rewrite_pruned_objects(before, commit, files, change.why, joins)
        self._snapshot = after
        self._refresh_projections(before, files, lock)
        return True

    def _fast_forward(self, before: Snapshot, onto: str, why: str, lock: StateLock) -> bool:
        after = Snapshot(self.objects, onto)
        state_format.check_format(after)
        if not self._swap_ref(before.commit, onto, why, lock):
            return False
        self._snapshot = after
        self._refresh_projections(before, None, lock)
        return True

    def _refresh_projections(self, before: Snapshot, files: Mapping[str, Content] | None, lock: StateLock) -> None:
        if lock.held:  # without it two writers could put their files in the wrong order
            for projection in self.projections:
                projection.refresh(self._snapshot, before.commit, files)

    def close(self) -> None:
        """Close the git access and the lock file."""
        self.objects.close()
        self._lock.close()

    def _read_tip_snapshot(self) -> Snapshot:
        tip = self.objects.tip(STATE_REF)
        known: Snapshot | None = getattr(self, "_snapshot", None)
        if known is not None and known.commit == tip:
            return known
        fresh = Snapshot(self.objects, tip)
        state_format.check_format(fresh)
        return fresh

    def _write_commit(
        self,
        before: Snapshot,
        files: Mapping[str, Content],
        why: str,
        joins: Sequence[str] = (),
        *,
        keep_time: bool = False,
    ) -> tuple[str, str]:
        who = self.author if keep_time else with_current_time(self.author)
        parents = [before.commit, *joins] if before.commit else [*joins]
        written = self.objects.write_commit(parents=parents, changes=files, message=_format_message(why), author=who)
        self._author = who
        return written

    def _rewrite_pruned_objects(
        self, before: Snapshot, commit: str, files: Mapping[str, Content], why: str, joins: Sequence[str]
    ) -> None:
        """Write the objects again if `git gc --prune=now` removed them before the ref pointed to them."""
        for _ in range(5):
            if self.objects.holds(commit, files):
                return
            again, _tree = self._write_commit(before, files, why, joins, keep_time=True)
            if again != commit:
                return

    def _swap_ref(self, old: str | None, new: str, why: str, lock: StateLock) -> bool:
        deadline, last = 0.0, 0.0
        while True:
            try:
                return self.objects.swap(STATE_REF, old, new, why)
            except RefLocked as exc:
                deadline = deadline or time.monotonic() + _GRACE
                last = last or time.monotonic() + _DEADLINE
                if time.monotonic() < deadline:
                    time.sleep(0.005)
                elif time.monotonic() >= last or not self._break_ref_lock(lock):
                    raise Busy(
                        f"{STATE_REF} is locked by another git process",
                        hint="try again; if no git runs here, git nexus doctor shows how to continue",
                    ) from exc
                else:
                    deadline = time.monotonic() + _GRACE

    def _break_ref_lock(self, lock: StateLock) -> bool:
        """Move aside a ref lock that a killed process left; only the holder of our own lock can know that."""
        left = self.ref_lock_file()
        try:
            old = time.time() - left.stat().st_mtime
        except FileNotFoundError:
            return True
        if not lock.held or not (old > _ANCIENT or (lock.previous_died and old > _GRACE)):
            return False
        self.put_ref_lock_aside()
        return True

    def ref_lock_file(self) -> Path:
        """Return the path of git's lock file of the state ref."""
        return self.repo.common_dir / f"{STATE_REF}.lock"

    def put_ref_lock_aside(self) -> Path:
        """Move the lock file of the state ref into the trash and return its new path."""
        aside = self.repo.common_dir / "nexus" / "trash" / f"state.lock-{utc_now():%Y%m%dT%H%M%S%f}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        return self.ref_lock_file().rename(aside)


def _format_message(why: str) -> str:
    return why if why.endswith("\n") else why + "\n"
