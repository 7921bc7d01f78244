"""Implements `Objects` with git children: reads with `cat-file --batch`, writes loose files or with `fast-import`."""

import contextlib
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from gitnexus.git.child import QUIET, GitFailed, clean_environment, git_error_line, is_lock_held, run_git, spawn_git
from gitnexus.git.discovery import Repo
from gitnexus.git.disk_errors import with_disk_error
from gitnexus.git.lock_notes import RefChangeNote, noted_ref_change
from gitnexus.git.loose import is_plainly_written, read_loose, tree_object_bytes, write_loose
from gitnexus.git.objects import (
    FILE,
    FOLDER,
    UNMOVED,
    UNREAD,
    Author,
    BlobId,
    Content,
    Entry,
    RefLocked,
    changes_by_folder,
    commit_object_bytes,
)
from gitnexus.git.refs import read_loose_ref, read_tip

# Questions that are not answered yet fill no more than the smallest pipe there is: writing them never waits for us to
# read. Half of them are asked ahead, so that git looks for the next while we work on these.
_AHEAD_BYTES = 2048
# More files than this go through fast-import, which packs them.
_MOST_LOOSE = 50
# fast-import wants a ref to build on; it is cleared again in the same stream and never written.
_SCRATCH_REF = "refs/nexus/never-written"
_STATE = "refs/nexus/state"


def noted_unless_state(common_dir: Path, ref: str) -> "contextlib.AbstractContextManager[RefChangeNote | None]":
    """Hold a note while a ref changes, except for the state ref, whose own lock shows a killed writer faster."""
    if ref == _STATE:
        return contextlib.nullcontext()
    return noted_ref_change(common_dir)


class PlumbingObjects:
    """Objects through git children: no slow imports, and every format that the installed git supports."""

    def __init__(self, repo: Repo) -> None:
        self._git_dir = repo.common_dir
        self._format = repo.object_format
        self._objects = repo.common_dir / "objects"
        self._oid_bytes = 32 if repo.object_format == "sha256" else 20
        self._reader: subprocess.Popen[bytes] | None = None
        self._trees: dict[str, dict[str, Entry]] = {}

    def tip(self, ref: str) -> str | None:
        if read_loose_ref(self._git_dir, ref).startswith("ref:"):
            raise GitFailed(
                f"{ref} is a symbolic ref; writing it would write another",
                hint="git symbolic-ref --delete takes it away",
            )
        return read_tip(self._git_dir, ref, self._format)

    def tree_of(self, commit: str) -> str:
        kind, body = self._read_object(commit)
        if kind != "commit" or not body.startswith(b"tree "):
            raise GitFailed(f"{commit} is a {kind}, not a commit")
        return body[5 : 5 + 2 * self._oid_bytes].decode()

    def entries(self, tree: str) -> Mapping[str, Entry]:
        if tree not in self._trees:
            kind, body = self._read_object(tree)
            if kind != "tree":
                raise GitFailed(f"{tree} is a {kind}, not a tree")
            self._trees[tree] = dict(_parse_tree(body, self._oid_bytes))
        return self._trees[tree]

    def find(self, tree: str, path: str) -> Entry | None:
        *folders, name = path.split("/")
        for folder in folders:
            entry = self.entries(tree).get(folder)
            if entry is None or not entry.is_folder:
                return None
            tree = entry.oid
        return self.entries(tree).get(name)

    def blob(self, oid: str) -> bytes:
        return next(self.blobs([oid]))

    def blobs(self, oids: Sequence[str]) -> Iterator[bytes]:
        for oid, (kind, body) in zip(oids, self._read_objects(oids), strict=True):
            if kind != "blob":
                raise GitFailed(f"{oid} is a {kind}, not a blob")
            yield body

    def write_commit(
        self, *, parents: Sequence[str], changes: Mapping[str, Content], message: str, author: Author
    ) -> tuple[str, str]:
        if len(changes) <= _MOST_LOOSE and is_plainly_written(self._git_dir):
            tree = self._write_tree(self.tree_of(parents[0]) if parents else None, changes_by_folder(changes))
            tree = tree or self._write_object("tree", b"")
            return self._write_object("commit", commit_object_bytes(tree, parents, message, author)), tree
        stream = b"".join(_import_stream(parents, changes, message, author))
        argv = [*QUIET, f"--git-dir={self._git_dir}", "fast-import", "--quiet", "--done", "--date-format=raw"]
        child = spawn_git(argv, None, clean_environment())
        said, complaint = child.communicate(stream)
        oid = said.decode().strip()
        if child.returncode != 0 or len(oid) != 2 * self._oid_bytes:
            (self._git_dir / f"fast_import_crash_{child.pid}").unlink(missing_ok=True)
            raise GitFailed(f"git could not write the objects: {git_error_line(complaint)}")
        return oid, self.tree_of(oid)

    def holds(self, commit: str, files: Mapping[str, Content]) -> bool:
        self._trees.clear()
        try:
            tree = self.tree_of(commit)
            for path, data in files.items():
                entry = self.find(tree, path)
                if data is not None and (entry is None or self._read_object(entry.oid)[0] != "blob"):
                    return False
        except GitFailed:
            self.close()
            return False
        return True

    def swap(self, ref: str, old: str | None, new: str | None, why: str) -> bool:
        zero = "0" * (2 * self._oid_bytes)
        order = f"update {ref} {new} {old or zero}\n" if new else f"delete {ref} {old or zero}\n"
        line = why.splitlines()[0]
        argv = ("update-ref", "--no-deref", "--create-reflog", "-m", line, "--stdin")
        with noted_unless_state(self._git_dir, ref) as note:
            moved = run_git(*argv, git_dir=self._git_dir, stdin=order.encode())
            if note is not None:
                note.note_end(moved)
        if moved.returncode == 0:
            return True
        if self.tip(ref) != old:
            return False
        if b"nonexistent object" in moved.stderr:
            return False  # a prune beside us took what was just written: to be written again
        if is_lock_held(moved.stderr):
            from gitnexus.git.locks import (  # looks at processes: only where a lock is in the way
                break_named_locks,
                lock_hint,
            )

            if break_named_locks(self._git_dir, moved.stderr):
                return self.swap(ref, old, new, why)
            hint = lock_hint(self._git_dir, moved.stderr)
            raise RefLocked(f"{ref} is locked by another process", hint=hint)
        words = f"git could not move {ref}: {git_error_line(moved.stderr)}"
        raise GitFailed(with_disk_error(words, moved.stderr, self._git_dir), hint=UNMOVED)

    def close(self) -> None:
        if self._reader is not None:
            for pipe in (self._reader.stdin, self._reader.stdout, self._reader.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._reader.wait()
            self._reader = None

    def __del__(self) -> None:
        self.close()  # a reader nobody closed ends with its owner, not with the process

    def _write_object(self, kind: str, body: bytes) -> str:
        return write_loose(self._objects, self._format, kind, body)

    def _write_tree(self, base: str | None, changes: Mapping[str, Any]) -> str | None:
        """Write the tree `base` with `changes` and return its id, or None if it would be empty."""
        rows = dict(self.entries(base)) if base else {}
        for name, change in changes.items():
            old = rows.pop(name, None)
            if isinstance(change, dict):
                below = self._write_tree(old.oid if old is not None and old.is_folder else None, change)
                if below is not None:
                    rows[name] = Entry(FOLDER, below)
                elif old is not None and not old.is_folder:
                    rows[name] = old  # what was to be deleted below a file is not there
            elif change is not None:
                rows[name] = Entry(FILE, change if isinstance(change, BlobId) else self._write_object("blob", change))
        if not rows:
            return None
        written = self._write_object("tree", tree_object_bytes(rows))
        self._trees[written] = rows
        return written

    def _read_object(self, oid: str) -> tuple[str, bytes]:
        return next(self._read_objects([oid]))

    def _read_objects(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the objects in order. Nothing else may be read until the last one is taken."""
        for at, oid in enumerate(oids):
            # What was written since git last packed is in files of its own, and no child is needed to read it.
            loose = read_loose(self._objects, oid)
            if loose is None:
                yield from self._read_through_git(oids[at:])
                return
            yield loose

    def _read_through_git(self, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        asking, answering = self._open_reader()
        ahead = _AHEAD_BYTES // (2 * self._oid_bytes + 1)
        asked, whole = 0, False
        try:
            for at, oid in enumerate(oids):
                if asked - at <= ahead and asked < len(oids):
                    more = oids[asked : at + 2 * ahead]
                    asked += len(more)
                    with contextlib.suppress(BrokenPipeError):
                        asking.write("".join(f"{one}\n" for one in more).encode())
                        asking.flush()
                head = answering.readline().split()
                if len(head) != 3 or head[0] != oid.encode():
                    raise GitFailed(f"the object {oid} cannot be read: it is missing or damaged", hint=UNREAD)
                body = answering.read(int(head[2]) + 1)[:-1]
                whole = at + 1 == len(oids)
                yield head[1].decode(), body
        finally:
            if not whole:
                self.close()  # what it was still to answer would be taken for the next answer

    def _open_reader(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._reader is None:
            argv = [*QUIET, f"--git-dir={self._git_dir}", "cat-file", "--batch"]
            self._reader = spawn_git(argv, None, clean_environment())
        return _require_pipes(self._reader)


def _require_pipes(child: "subprocess.Popen[bytes]") -> tuple[IO[bytes], IO[bytes]]:
    if child.stdin is None or child.stdout is None:
        raise GitFailed("git was started without pipes")
    return child.stdin, child.stdout


def _parse_tree(body: bytes, width: int) -> list[tuple[str, Entry]]:
    rows, at = [], 0
    while at < len(body):
        space = body.index(b" ", at)
        nul = body.index(b"\0", space)
        mode = int(body[at:space], 8)
        name = body[space + 1 : nul].decode("utf-8", "surrogateescape")
        at = nul + 1 + width
        rows.append((name, Entry(mode, body[nul + 1 : at].hex())))
    return rows


def _import_stream(parents: Sequence[str], changes: Mapping[str, Content], message: str, author: Author) -> list[bytes]:
    who = author.ident.encode()
    text = message.encode()
    parts = [
        b"commit %s\nmark :1\nauthor %s\ncommitter %s\n" % (_SCRATCH_REF.encode(), who, who),
        b"data %d\n%s\n" % (len(text), text),
    ]
    parts += [b"%s %s\n" % (b"merge" if i else b"from", parent.encode()) for i, parent in enumerate(parents)]
    # Deletions first: a file may make room for a folder of the same name.
    for path in sorted(p for p, data in changes.items() if data is None):
        parts.append(b"D %s\n" % _quote_path(path))
    for path, data in sorted(changes.items()):
        if isinstance(data, BlobId):
            parts.append(b"M 100644 %s %s\n" % (data.encode(), _quote_path(path)))
        elif data is not None:
            parts.append(b"M 100644 inline %s\ndata %d\n%s\n" % (_quote_path(path), len(data), data))
    parts.append(b"\nget-mark :1\nreset %s\n\ndone\n" % _SCRATCH_REF.encode())
    return parts


def _quote_path(path: str) -> bytes:
    raw = path.encode("utf-8", "surrogateescape")
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'
