"""Which files differ between two trees, and where two lines of commits part: one git child each, nothing is read."""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.git.child import GitFailed, must, reason, run
from gitnexus.git.discovery import Repo

# Git knows these without having them.
_EMPTY = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_FILES = ("100644", "100755")


class Differs(NamedTuple):
    """One path: the blob id before and after, None for what is not there; `odd` for what is no plain file after."""

    before: str | None
    after: str | None
    odd: bool = False


def differences(repo: Repo, old: str | None, new: str | None) -> dict[str, Differs]:
    """Return the files that differ between two trees or commits; None is the empty tree. Raises: GitFailed."""
    empty = _EMPTY[repo.object_format]
    raw = must("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", old or empty, new or empty,
               git_dir=repo.common_dir)  # fmt: skip
    fields = raw.decode("utf-8", "surrogateescape").split("\0")
    found = {}
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, before, after, _ = head[1:].split(" ")
        odd = new_mode != "000000" and new_mode not in _FILES
        found[path] = Differs(
            before if old_mode in _FILES else None, None if new_mode == "000000" or odd else after, odd
        )
    return found


def bases(repo: Repo, one: str, other: str) -> list[str]:
    """Return the best common ancestors of two commits, sorted; none where they have nothing in common."""
    asked = run("merge-base", "--all", one, other, git_dir=repo.common_dir)
    if asked.returncode not in (0, 1):
        raise GitFailed(f"git could not compare two histories: {reason(asked.stderr)}")
    return sorted(asked.stdout.decode("ascii").split())


def is_ancestor(repo: Repo, older: str, newer: str) -> bool:
    """True if one commit is the other or comes before it."""
    return older == newer or run("merge-base", "--is-ancestor", older, newer, git_dir=repo.common_dir).returncode == 0


class Weight(NamedTuple):
    """How much there is: objects, bytes in all, and of the largest blob."""

    objects: int
    total: int
    largest: int


def weight(repo: Repo, tips: Sequence[str], without: Sequence[str]) -> Weight:
    """Return what `tips` reach and `without` do not, by its sizes alone: nothing is unpacked. Raises: GitFailed."""
    asked = [*tips, *(f"^{one}" for one in without)]
    listed = must("rev-list", "--objects", "--no-object-names", "--stdin", git_dir=repo.common_dir,
                  stdin="\n".join([*asked, ""]).encode())  # fmt: skip
    sized = must("cat-file", "--batch-check=%(objecttype) %(objectsize)", "--buffer", git_dir=repo.common_dir,
                 stdin=listed)  # fmt: skip
    rows = [row.split(b" ") for row in sized.splitlines()]
    if any(len(row) != 2 or row[1] == b"missing" for row in rows):
        raise GitFailed("objects are missing from what was fetched", hint="git fsck tells what the repository lacks")
    sizes = [int(size) for _, size in rows]
    return Weight(len(rows), sum(sizes), max((int(size) for kind, size in rows if kind == b"blob"), default=0))
