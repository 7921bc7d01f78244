"""The transaction: read the tip, decide, write objects, and swap the ref against the id that was read."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Generic, Literal, TypeVar

from gitnexus.base.chance import fraction
from gitnexus.base.clock import now
from gitnexus.base.errors import Busy, Conflict, NotFound
from gitnexus.git import Author, Objects, RefLocked, Repo, discover, open_objects
from gitnexus.git.identity import again, author
from gitnexus.git.objects import Content
from gitnexus.state import format as state_format
from gitnexus.state.layout import STATE_REF, checked
from gitnexus.state.lock import StateLock
from gitnexus.state.projection import Projection, projections_of
from gitnexus.state.secrets import without_secrets, without_secrets_in
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
    """What a decision wants written (None deletes), the one reason for it, and what its caller gets back.

    `joins` is a commit of another clone that this one takes in: a second parent. `onto` is one to go forward to as it
    is, instead of writing anything.
    """

    files: Mapping[str, Content]
    why: str
    value: T
    joins: str | None = None
    onto: str | None = None


class State:
    """The files of one ref. `read` answers from the tip that was last read; writing brings it up to date."""

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
        self._snapshot = self._fetch()

    @classmethod
    def open(cls, place: Path | Repo, life: Literal["short", "long"] = "short") -> "State":
        """Return the state of the repository at `place`, initialised or not."""
        repo = place if isinstance(place, Repo) else discover(place)
        return cls(repo, open_objects(repo, life), projections_of(repo))

    @property
    def exists(self) -> bool:
        """True once something was written."""
        return self._snapshot.commit is not None

    @property
    def snapshot(self) -> Snapshot:
        """What was last read."""
        return self._snapshot

    def latest(self) -> Snapshot:
        """Read the tip again and return it. Raises: Failed for a newer format."""
        self._snapshot = self._fetch()
        return self._snapshot

    def required(self) -> Snapshot:
        """Return the latest snapshot of an initialised project. Raises: NotFound."""
        if self.latest().commit is None:
            raise NotFound(
                f"no git nexus project here: {self.repo.place}",
                hint="make it one with: git nexus init",
                fix="git nexus init",
            )
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
        """Publish what `decide` makes of the tip, asking it again as often as somebody else was first.

        `decide` has no side effects and raises to refuse. Raises: Busy, and what `decide` raises.
        """
        with self.lock() as lock:
            return self.transact_locked(decide, lock)

    @property
    def author(self) -> Author:
        """Who writes here, as the user's git knows them; asked once."""
        if self._author is None:
            self._author = author(self.repo)
        return self._author

    def lock(self) -> StateLock:
        """Return the courtesy lock of this repository's state."""
        return self._lock

    def transact_locked(self, decide: Callable[[Snapshot], Change[T]], lock: StateLock) -> T:
        """The same for who holds the lock already."""
        deadline = time.monotonic() + _DEADLINE
        pause = 0.001
        while time.monotonic() < deadline:
            before = self.latest()
            change = decide(before)
            files = {checked(path): data for path, data in change.files.items()}
            if change.joins is None:  # what other clones have published is not ours to change: all would differ
                files, change = without_secrets(files), replace(change, why=without_secrets_in(change.why))
            if change.onto is not None:
                if self._went_forward(before, change.onto, change.why, lock):
                    return change.value
            elif (not files and change.joins is None) or self._published(before, files, change, lock):
                return change.value
            time.sleep(pause * fraction())
            pause = min(pause * 2, 0.05)
        raise Busy("others kept writing the state", hint="run the command again")

    def _published(self, before: Snapshot, files: Mapping[str, Content], change: Change[T], lock: StateLock) -> bool:
        """Write one commit and move the ref to it; False if somebody else was first."""
        joins = [change.joins] if change.joins else []
        commit, tree = self._commit(before, files, change.why, joins)
        after = Snapshot(self.objects, commit, tree)
        if after.tree == before.tree and not joins:
            return True  # nothing new: no commit in the diary
        if not self._swap(before.commit, commit, change.why, lock):
            return False
        self._write_again_what_was_pruned(before, commit, files, change.why, joins)
        self._snapshot = after
        self._refresh(before, files, lock)
        return True

    def _went_forward(self, before: Snapshot, onto: str, why: str, lock: StateLock) -> bool:
        after = Snapshot(self.objects, onto)
        state_format.check(after)
        if not self._swap(before.commit, onto, why, lock):
            return False
        self._snapshot = after
        self._refresh(before, None, lock)
        return True

    def _refresh(self, before: Snapshot, files: Mapping[str, Content] | None, lock: StateLock) -> None:
        if lock.held:  # without it two writers could put their files in the wrong order
            for projection in self.projections:
                projection.refresh(self._snapshot, before.commit, files)

    def close(self) -> None:
        """Let go of git and of the lock file."""
        self.objects.close()
        self._lock.close()

    def _fetch(self) -> Snapshot:
        tip = self.objects.tip(STATE_REF)
        known: Snapshot | None = getattr(self, "_snapshot", None)
        if known is not None and known.commit == tip:
            return known
        fresh = Snapshot(self.objects, tip)
        state_format.check(fresh)
        return fresh

    def _commit(
        self,
        before: Snapshot,
        files: Mapping[str, Content],
        why: str,
        joins: Sequence[str] = (),
        *,
        keep_time: bool = False,
    ) -> tuple[str, str]:
        who = self.author if keep_time else again(self.author)
        parents = [before.commit, *joins] if before.commit else [*joins]
        written = self.objects.write_commit(parents=parents, changes=files, message=_message(why), author=who)
        self._author = who
        return written

    def _write_again_what_was_pruned(
        self, before: Snapshot, commit: str, files: Mapping[str, Content], why: str, joins: Sequence[str]
    ) -> None:
        """`git gc --prune=now` beside us may have taken objects before the ref held them: equal bytes, equal ids."""
        for _ in range(5):
            if self.objects.holds(commit, files):
                return
            again, _tree = self._commit(before, files, why, joins, keep_time=True)
            if again != commit:
                return

    def _swap(self, old: str | None, new: str, why: str, lock: StateLock) -> bool:
        deadline = 0.0
        while True:
            try:
                return self.objects.swap(STATE_REF, old, new, why)
            except RefLocked as exc:
                deadline = deadline or time.monotonic() + _GRACE
                if time.monotonic() < deadline:
                    time.sleep(0.005)
                elif not self._break_ref_lock(lock):
                    raise Busy(
                        f"{STATE_REF} is locked by another git process",
                        hint="try again; if no git runs here, git nexus doctor tells how to go on",
                    ) from exc
                else:
                    deadline = time.monotonic() + _GRACE

    def _break_ref_lock(self, lock: StateLock) -> bool:
        """Put a ref's lock file aside that a killed process left; only who holds our own lock can know."""
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
        """Return where git keeps the lock of the state ref."""
        return self.repo.common_dir / f"{STATE_REF}.lock"

    def put_ref_lock_aside(self) -> Path:
        """Move the lock file of the state ref into the trash and return where it is."""
        aside = self.repo.common_dir / "nexus" / "trash" / f"state.lock-{now():%Y%m%dT%H%M%S%f}"
        aside.parent.mkdir(parents=True, exist_ok=True)
        return self.ref_lock_file().rename(aside)


def _message(why: str) -> str:
    return why if why.endswith("\n") else why + "\n"
