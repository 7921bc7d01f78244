"""Implements the `Objects` protocol with pygit2, for processes that write more than once."""

import errno
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import pygit2

from gitnexus.git.child import run_git
from gitnexus.git.discovery import Repo
from gitnexus.git.durability import configured_fsync
from gitnexus.git.lock_notes import RefChangeNote
from gitnexus.git.objects import (
    FILE,
    FOLDER,
    UNMOVED,
    UNREAD,
    Author,
    BlobId,
    Content,
    Entry,
    GitFailed,
    RefLocked,
    blob_id,
    changes_by_folder,
    commit_object_bytes,
)
from gitnexus.git.plumbing import PlumbingObjects, noted_unless_state

# libgit2 caches no tree above 4 KB by itself: a folder of 10,000 records would be inflated again at every look.
_CACHED_TREE = 8 * 1024 * 1024
# The message for an existing lock file. If a lock cannot be created, the system's reason is reported.
_LOCK_HELD = "failed to lock file"
_COMMIT, _TREE, _BLOB = (pygit2.enums.ObjectType[kind] for kind in ("COMMIT", "TREE", "BLOB"))


class NativeObjects:
    """Objects through pygit2. Repositories with SHA-256 or reftable are not supported by libgit2; see `plumbing`."""

    def __init__(self, repo: Repo, handle: pygit2.Repository) -> None:
        self._git = handle
        # Before each write libgit2 looks for new packs. Another handle that knows loose objects only spares that.
        if any(configured_fsync(handle.config)):
            # libgit2 has no setting for a repository alone; whoever else is opened here is flushed, too.
            pygit2.settings.enable_fsync_gitdir(True)
        self._loose = pygit2.Odb()
        self._loose.add_backend(pygit2.OdbBackendLoose(str(repo.common_dir / "objects"), -1, False, 0, 0), 1)
        self._writer = pygit2.Repository(str(repo.common_dir))
        self._writer.set_odb(self._loose)
        self._repo, self._common_dir = repo, repo.common_dir
        self._has_reflog: set[str] = set()
        self._gc_mark = str(repo.common_dir / "gc.pid")
        self._beside_gc = False
        self._read: dict[str, pygit2.Reference] = {}
        # What was written last is what is built on next: its trees need not be read back.
        self._trees: dict[str, str] = {}
        self._builders: dict[str, pygit2.TreeBuilder] = {}

    @classmethod
    def open(cls, repo: Repo) -> Self | None:
        """Return an instance, or None if libgit2 cannot read this repository format."""
        if repo.object_format != "sha1" or (repo.common_dir / "reftable").is_dir():
            return None
        # Every object that a tree or commit of ours names was written or read a moment before.
        pygit2.settings.enable_strict_object_creation(False)
        pygit2.settings.cache_object_limit(_TREE, _CACHED_TREE)
        try:
            return cls(repo, pygit2.Repository(str(repo.common_dir)))
        except pygit2.GitError as exc:
            if "extension" in str(exc):
                return None
            raise GitFailed(f"cannot open {repo.common_dir}: {exc}") from exc

    def tip(self, ref: str) -> str | None:
        found = self._git.references.get(ref)
        if found is None:
            return None
        self._read[ref] = found
        target = found.target
        if not isinstance(target, pygit2.Oid):
            raise GitFailed(f"{ref} is a symbolic ref; writing it would write another")
        return str(target)

    def tree_of(self, commit: str) -> str:
        known = self._trees.get(commit)
        return known if known is not None else str(self._read_object(commit, pygit2.Commit).tree_id)

    def entries(self, tree: str) -> Mapping[str, Entry]:
        found = self._read_object(tree, pygit2.Tree)
        return {_decode_name(item.raw_name): Entry(int(item.filemode), str(item.id)) for item in found}

    def find(self, tree: str, path: str) -> Entry | None:
        try:
            item = self._read_object(tree, pygit2.Tree)[path]
        except (KeyError, UnicodeEncodeError):
            return None
        return Entry(int(item.filemode), str(item.id))

    def blob(self, oid: str) -> bytes:
        data: bytes = self._read_object(oid, pygit2.Blob).data
        return data

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes]:
        return map(self.blob, oids)

    def write_commit(
        self, *, parents: Sequence[str], changes: Mapping[str, Content], message: str, author: Author
    ) -> tuple[str, str]:
        self._beside_gc = os.access(self._gc_mark, os.F_OK)
        try:
            old, self._builders = self._builders, {}
            written = self._write_changed_tree(
                self.tree_of(parents[0]) if parents else None, changes_by_folder(changes), old
            )
            tree = written if written is not None else str(self._writer.TreeBuilder().write())
            raw = commit_object_bytes(tree, parents, message, author)
            commit = str(self._loose.write(_COMMIT, raw))
            self._trees = {commit: tree}
            return commit, tree
        except (pygit2.GitError, OSError) as exc:
            raise GitFailed(f"git could not write the objects: {exc}") from exc

    def holds(self, commit: str, files: Mapping[str, Content]) -> bool:
        # Only a gc takes objects away, and it shows itself as long as it runs: longer than a write takes.
        if not (self._beside_gc or os.access(self._gc_mark, os.F_OK)):
            return True
        ids = [commit, *self._trees.values(), *self._builders]
        ids += [
            data if isinstance(data, BlobId) else blob_id(data, "sha1") for data in files.values() if data is not None
        ]
        # Asked outside: libgit2 remembers objects that are gone.
        asked = run_git("cat-file", "--batch-check", git_dir=self._common_dir, stdin="\n".join(ids).encode() + b"\n")
        return b" missing" not in asked.stdout

    def swap(self, ref: str, old: str | None, new: str | None, why: str) -> bool:
        self._ensure_reflog(ref)
        line = why.splitlines()[0]
        try:
            if old is None:
                if new is not None:
                    with noted_unless_state(self._common_dir, ref) as note:
                        self._git.create_reference(ref, pygit2.Oid(hex=new), force=False, message=line)
                        self._note_locks(ref, note)
                return True
            found = self._read.get(ref)
            if found is None or str(found.target) != old:
                found = self._git.references.get(ref)
            if found is None or str(found.target) != old:
                return False
            with noted_unless_state(self._common_dir, ref) as note:
                if new is None:
                    found.delete()
                else:
                    # libgit2 compares with the target that `found` was read with, under the ref's own lock file.
                    found.set_target(pygit2.Oid(hex=new), line)
                self._note_locks(ref, note)
            self._read.pop(ref, None)
            return True
        except (pygit2.GitError, ValueError, OSError) as exc:
            # libgit2 says "does not match" as GitError, "exists" as ValueError and a held lock as either or OSError;
            # in each case nothing was written, so asking again tells them apart.
            if self.tip(ref) != old:
                return False
            if _LOCK_HELD in str(exc):
                from gitnexus.git.locks import lock_hint, outwait_left_lock  # only where a lock is in the way

                there = [lock for lock in self._locks_of(ref) if os.path.lexists(lock)]
                if there and all(outwait_left_lock(self._common_dir, lock) for lock in there):
                    self._read.pop(ref, None)
                    # By git: libgit2 has dropped a packed ref from its memory already, and would report success.
                    return PlumbingObjects(self._repo).swap(ref, old, new, why)
                # As git would name it.
                named = "".join(f"'{lock}': File exists\n" for lock in there)
                hint = lock_hint(self._common_dir, os.fsencode(named))
                raise RefLocked(f"{ref} is locked by another process", hint=hint) from exc
            raise GitFailed(f"git could not move {ref}: {exc}", hint=UNMOVED) from exc

    def _locks_of(self, ref: str) -> list[Path]:
        return [self._common_dir / name for name in (f"{ref}.lock", "packed-refs.lock")]

    def _note_locks(self, ref: str, note: RefChangeNote | None) -> None:
        """Note the locks that are still there after a change: libgit2 does not tell when it could not remove one."""
        if note is not None:
            note.note_locks(self._locks_of(ref))

    def close(self) -> None:
        self._git.free()
        self._writer.free()

    def _read_object(self, oid: str, kind: Any) -> Any:
        try:
            found = self._git[oid]
        except (KeyError, ValueError, pygit2.GitError) as exc:
            raise GitFailed(f"the object {oid} cannot be read: it is missing or damaged", hint=UNREAD) from exc
        if not isinstance(found, kind):
            raise GitFailed(f"{oid} is a {found.type_str}, not a {kind.__name__.lower()}")
        return found

    def _write_changed_tree(
        self, base: str | None, changes: Mapping[str, Any], builders: dict[str, pygit2.TreeBuilder]
    ) -> str | None:
        """Return the id of the tree `base` with `changes` applied, or None if it would be empty."""
        builder = builders.pop(base, None) if base else None
        if builder is None:
            builder = self._tree_builder(base) if base else self._writer.TreeBuilder()
        for name, change in changes.items():
            old = builder.get(name)
            row: tuple[pygit2.Oid, int] | None = None
            if isinstance(change, dict):
                below = str(old.id) if old is not None and int(old.filemode) == FOLDER else None
                tree = self._write_changed_tree(below, change, builders)
                if tree is None and old is not None and below is None:
                    continue  # what was to be deleted below a file is not there
                row = None if tree is None else (pygit2.Oid(hex=tree), FOLDER)
            elif isinstance(change, BlobId):
                row = (pygit2.Oid(hex=str(change)), FILE)
            elif change is not None:
                row = (self._loose.write(_BLOB, change), FILE)
            if row is not None:
                builder.insert(name, *row)
            elif old is not None:
                builder.remove(name)
        if not len(builder):
            return None
        written = str(builder.write())
        self._builders[written] = builder
        return written

    def _tree_builder(self, base: str) -> pygit2.TreeBuilder:
        found = self._writer.get(base)
        if isinstance(found, pygit2.Tree):
            return self._writer.TreeBuilder(found)
        return self._git.TreeBuilder(self._read_object(base, pygit2.Tree))  # it is in a pack

    def _ensure_reflog(self, ref: str) -> None:
        """Create the reflog file: refs outside refs/heads only get a reflog if it exists."""
        if ref in self._has_reflog:
            return
        log = self._common_dir / "logs" / ref
        log.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644))
        except OSError as exc:
            if exc.errno != errno.EISDIR:
                raise
        self._has_reflog.add(ref)


def _decode_name(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")
