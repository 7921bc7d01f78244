"""Records the content of each file in one `.nexus/` when it was last read or written: a cache, and the base for merges.

The journal is appended line by line, so a write costs a few bytes however many files there are. A torn last line is
ignored and its file is read again. Deleting the journal loses no state: files are then compared by content.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import NamedTuple

from gitnexus.state.disk import FileStat

# File times move on with the kernel's tick, 10 ms at the slowest: a file changed within one tick of being looked at
# may change again and show the same times.
_RACY = 11_000_000


class KnownFile(NamedTuple):
    """A file as last seen: the id of its content and its stat."""

    oid: str
    stat: FileStat
    seen: int

    def matches_stat(self, stat: FileStat) -> bool:
        """Return True if `stat` proves that the content is unchanged."""
        return stat == self.stat and stat.mtime < self.seen - _RACY


class ProjectionJournal:
    """The journal of one worktree, at `<git-dir>/nexus/projection`."""

    def __init__(self, path: Path, root: str) -> None:
        """`root` is the folder that the journal describes; a copied journal names another folder and is ignored."""
        self._path = path
        self._root = root
        self._identity: tuple[int, int] | None = None
        self._lines = 0
        self._torn = False
        self._fd = -1
        self.commit: str | None = None
        self.head = ""
        self.refilled = 0
        # It speaks of another folder (copied along, or moved): good as a base, no witness of what was deleted.
        self.moved = False
        self.files: dict[str, KnownFile] = {}

    @property
    def exists(self) -> bool:
        return self._path.exists()

    def reload(self) -> None:
        """Read the file again if another process has written it."""
        try:
            found = os.fstat(self._fd) if self._fd >= 0 else os.stat(self._path)
            if found.st_nlink == 0:  # written anew, or removed
                found = os.stat(self._path)
        except FileNotFoundError:
            self._close_file()
            self._identity, self._lines, self.commit, self.head, self.files = None, 0, None, "", {}
            return
        if (found.st_ino, found.st_size) != self._identity:
            self._close_file()
            self._parse_lines(self._path.read_bytes())
            self._identity = (found.st_ino, found.st_size)

    def record(self, commit: str | None, seen: dict[str, tuple[str, FileStat] | None]) -> None:
        """Record the current content of files (None: gone) and the commit they come from."""
        now = time.time_ns()
        lines = []
        for path, state in seen.items():
            if state is None:
                self.files.pop(path, None)
                lines.append(f"-\t{path}\n")
            else:
                oid, stat = state
                self.files[path] = KnownFile(oid, stat, now)
                lines.append(f"{oid}\t{stat.size}\t{stat.mtime}\t{stat.ctime}\t{now}\t{path}\n")
        if commit is not None and commit != self.commit:
            self.commit = commit
            lines.append(f"commit\t{commit}\n")
        if lines:
            self._append_lines("".join(lines), len(lines))

    def note_head(self, head: str) -> None:
        """Record the worktree's branch: files that vanish with a branch switch were not deleted by hand."""
        if head != self.head:
            self.head = head
            self._append_lines(f"head\t{head}\n", 1)

    def note_refill(self) -> None:
        """Record that missing files have just been restored."""
        self.refilled = time.time_ns()
        self._append_lines(f"refilled\t{self.refilled}\n", 1)

    def forget(self) -> None:
        """Delete the journal together with its worktree's checkout."""
        with contextlib.suppress(FileNotFoundError):
            self._path.unlink()

    def __del__(self) -> None:
        self._close_file()

    def _close_file(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def _append_lines(self, text: str, count: int) -> None:
        self._lines += count
        if self._identity is None or self.moved or self._lines > 1000 + 3 * len(self.files):
            self._rewrite_file()
            return
        raw = (b"\n" if self._torn else b"") + text.encode("utf-8", "surrogateescape")
        if self._fd < 0:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        os.write(self._fd, raw)
        self._identity, self._torn = (self._identity[0], self._identity[1] + len(raw)), False

    def _rewrite_file(self) -> None:
        lines = [f"commit\t{self.commit}\n"] if self.commit else []
        lines += [f"head\t{self.head}\n", f"root\t{self._root}\n"]
        for path, known in self.files.items():
            s = known.stat
            lines.append(f"{known.oid}\t{s.size}\t{s.mtime}\t{s.ctime}\t{known.seen}\t{path}\n")
        self._path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        temporary.write_text("".join(lines), encoding="utf-8", errors="surrogateescape")
        temporary.replace(self._path)
        self._close_file()
        self.moved = False
        found = os.stat(self._path)
        self._identity, self._lines, self._torn = (found.st_ino, found.st_size), len(lines), False

    def _parse_lines(self, raw: bytes) -> None:
        self.commit, self.head, self.files = None, "", {}
        rows = raw.decode("utf-8", "surrogateescape").split("\n")
        roots = [row for row in rows if row.startswith("root\t")]
        self.moved = not roots or roots[-1] != f"root\t{self._root}"
        self._torn = rows.pop() != ""
        self._lines = len(rows)
        for row in rows:
            fields = row.split("\t")
            if len(fields) == 6:
                with contextlib.suppress(ValueError):
                    size, mtime, ctime, seen = map(int, fields[1:5])
                    self.files[fields[5]] = KnownFile(fields[0], FileStat(size, mtime, ctime), seen)
            elif len(fields) == 2 and fields[0] == "-":
                self.files.pop(fields[1], None)
            elif len(fields) == 2 and fields[0] == "commit":
                self.commit = fields[1]
            elif len(fields) == 2 and fields[0] == "head":
                self.head = fields[1]
            elif len(fields) == 2 and fields[0] == "refilled":
                self.refilled = int(fields[1]) if fields[1].isdecimal() else 0
