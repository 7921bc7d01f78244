"""The difference of two trees as people read it: text and counts, with nothing that is configured taking part."""

from typing import NamedTuple

from gitnexus.git.private import PrivateGit

_DIFF = ("diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--full-index")


class Count(NamedTuple):
    """How many lines of a file come and go; None of both for a binary one."""

    path: str
    added: int | None
    removed: int | None


def diff_text(git: PrivateGit, old: str, new: str, most: int, context: int = 3) -> tuple[bytes, bool]:
    """Return the first `most` bytes of the difference, and whether there is more. Raises: GitFailed."""
    return git.beginning(*_DIFF, "-p", f"-U{context}", old, new, most=most)


def diff_size(git: PrivateGit, old: str, new: str, most: int, context: int = 3) -> tuple[int, bool]:
    """Return how many bytes the difference has, counted up to `most`, and whether there is more. Raises: GitFailed."""
    return git.count(*_DIFF, "-p", f"-U{context}", old, new, most=most)


def counts(git: PrivateGit, old: str, new: str) -> list[Count]:
    """Return the lines that each file gains and loses. Raises: GitFailed."""
    found = []
    for row in git.must(*_DIFF, "--numstat", "-z", old, new).split(b"\0"):
        if row:
            added, removed, path = row.split(b"\t", 2)
            is_binary = added == b"-"
            found.append(
                Count(
                    path.decode("utf-8", "surrogateescape"),
                    None if is_binary else int(added),
                    None if is_binary else int(removed),
                )
            )
    return found
