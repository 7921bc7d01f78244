"""Returns the difference of two trees as diff text and line counts. No configured filter or diff driver is used."""

import contextlib
import subprocess
from collections.abc import Iterator
from typing import NamedTuple

from gitnexus.git.child import GitFailed
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import PLAIN_DIFF

_DIFF = ("diff-tree", *PLAIN_DIFF, "--full-index")
_END = b"END\n"


class LineCount(NamedTuple):
    """How many lines of a file are added and removed; None for both if it is binary."""

    path: str
    added: int | None
    removed: int | None


def diff_text(git: PrivateGit, old: str, new: str, most: int, context: int = 3) -> tuple[bytes, bool]:
    """Return the first `most` bytes of the diff, and whether there is more. Raises: GitFailed."""
    return git.read_beginning(*_DIFF, "-p", f"-U{context}", old, new, most=most)


def diff_size(git: PrivateGit, old: str, new: str, most: int, context: int = 3) -> tuple[int, bool]:
    """Return the size of the diff in bytes, counted up to `most`, and whether there is more. Raises: GitFailed."""
    return git.count(*_DIFF, "-p", f"-U{context}", old, new, most=most)


def read_difference(child: "subprocess.Popen[bytes]", old: str, new: str) -> Iterator[bytes]:
    """Yield the lines that a `git diff-tree --stdin` prints for two trees. Raises: GitFailed."""
    asking, answering = child.stdin, child.stdout
    if asking is None or answering is None:
        raise GitFailed("git was started without pipes")
    with contextlib.suppress(BrokenPipeError):
        # Git repeats a line that names no object, and flushes: this marks the end of the answer. No line of a
        # difference begins with such a letter.
        asking.write(f"{old} {new}\n".encode() + _END)
        asking.flush()
    if answering.readline().split() != [old.encode(), new.encode()]:
        raise GitFailed(f"the trees {old} and {new} cannot be compared", hint="git fsck shows what is missing")
    while (line := answering.readline()) != _END:
        if not line:
            raise GitFailed(f"git ended while it compared {old} and {new}")
        yield line


class LineCounter:
    """One git child that counts the changed lines of any number of pairs of trees; created by `line_counter`."""

    def __init__(self, child: "subprocess.Popen[bytes]") -> None:
        self._child = child

    def count(self, old: str, new: str) -> tuple[int, int]:
        """Return how many lines are added and removed; those of binary files do not count. Raises: GitFailed."""
        added = removed = 0
        for line in read_difference(self._child, old, new):
            more, less, _ = line.split(b"\t", 2)
            if more != b"-":
                added, removed = added + int(more), removed + int(less)
        return added, removed


@contextlib.contextmanager
def line_counter(git: PrivateGit) -> Iterator[LineCounter]:
    """Start the git child, and end it afterwards."""
    with git.started(*_DIFF, "--numstat", "--stdin") as child:
        try:
            yield LineCounter(child)
        finally:
            child.kill()


def changed_line_counts(git: PrivateGit, old: str, new: str) -> list[LineCount]:
    """Return the number of lines added and removed in each file. Raises: GitFailed."""
    found = []
    for row in git.must(*_DIFF, "--numstat", "-z", old, new).split(b"\0"):
        if row:
            added, removed, path = row.split(b"\t", 2)
            is_binary = added == b"-"
            found.append(
                LineCount(
                    path.decode("utf-8", "surrogateescape"),
                    None if is_binary else int(added),
                    None if is_binary else int(removed),
                )
            )
    return found
