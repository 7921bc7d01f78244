"""Lists files that differ between two trees, finds merge bases and ancestors, measures reachable history. Read-only."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gitnexus.git.child import GitFailed, git_error_line, run_git, run_git_or_raise
from gitnexus.git.discovery import Repo
from gitnexus.git.private import PrivateGit

# Git knows these without having them.
_EMPTY = {
    "sha1": "4b825dc642cb6eb9a060e54bf8d69288fbee4904",
    "sha256": "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321",
}
_FILES = ("100644", "100755")


class FileDifference(NamedTuple):
    """One path with its blob ids before and after (None if absent); `odd` if the new side is not a regular file."""

    before: str | None
    after: str | None
    odd: bool = False


def changed_files_between(repo: Repo, old: str | None, new: str | None) -> dict[str, FileDifference]:
    """Return the files that differ between two trees or commits; None is the empty tree. Raises: GitFailed."""
    empty = _EMPTY[repo.object_format]
    raw = run_git_or_raise(
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-renames",
        "--no-abbrev",
        old or empty,
        new or empty,
        git_dir=repo.common_dir,
    )
    fields = raw.decode("utf-8", "surrogateescape").split("\0")
    found = {}
    for head, path in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, before, after, _ = head[1:].split(" ")
        odd = new_mode != "000000" and new_mode not in _FILES
        found[path] = FileDifference(
            before if old_mode in _FILES else None, None if new_mode == "000000" or odd else after, odd
        )
    return found


def merge_bases(repo: Repo, one: str, other: str) -> list[str]:
    """Return the best common ancestors of two commits, sorted; empty if they have no common history."""
    asked = run_git("merge-base", "--all", one, other, git_dir=repo.common_dir)
    if asked.returncode not in (0, 1):
        raise GitFailed(f"git could not compare two histories: {git_error_line(asked.stderr)}")
    return sorted(asked.stdout.decode("ascii").split())


def is_ancestor(place: Repo | PrivateGit, older: str, newer: str) -> bool:
    """Return True if `older` is `newer` or one of its ancestors."""
    if older == newer:
        return True
    words = ("merge-base", "--is-ancestor", older, newer)
    asked = run_git(*words, git_dir=place.common_dir) if isinstance(place, Repo) else place.run(*words)
    return asked.returncode == 0


def reached_commits(repo: Repo, commits: Iterable[str], holders: Sequence[str]) -> set[str]:
    """Return those of `commits` that one of `holders` is or descends from: `is_ancestor` for many, by two git children.

    A commit that this repository lacks is not reached. Raises: GitFailed.
    """
    asked = sorted(set(commits))
    if not asked or not holders:
        return set()
    stdin = "".join(f"{one}\n" for one in asked).encode()
    kinds = run_git_or_raise(
        "cat-file", "--batch-check=%(objecttype)", "--buffer", git_dir=repo.common_dir, stdin=stdin
    )
    present = [one for one, kind in zip(asked, kinds.splitlines(), strict=True) if kind == b"commit"]
    wanted = "".join(f"{one}\n" for one in [*present, *(f"^{one}" for one in holders)]).encode()
    beyond = run_git_or_raise("rev-list", "--stdin", git_dir=repo.common_dir, stdin=wanted)
    return set(present) - set(beyond.decode("ascii").split())


class ReachableSize(NamedTuple):
    """The number of objects, their total bytes, and the bytes of the largest blob."""

    objects: int
    total: int
    largest: int


def reachable_size(repo: Repo, tips: Sequence[str], without: Sequence[str]) -> ReachableSize:
    """Return the sizes of what `tips` reach and `without` do not. No object is unpacked. Raises: GitFailed."""
    asked = [*tips, *(f"^{one}" for one in without)]
    listed = run_git_or_raise(
        "rev-list",
        "--objects",
        "--no-object-names",
        "--stdin",
        git_dir=repo.common_dir,
        stdin="\n".join([*asked, ""]).encode(),
    )
    sized = run_git_or_raise(
        "cat-file", "--batch-check=%(objecttype) %(objectsize)", "--buffer", git_dir=repo.common_dir, stdin=listed
    )
    rows = [row.split(b" ") for row in sized.splitlines()]
    if any(len(row) != 2 or row[1] == b"missing" for row in rows):
        raise GitFailed("objects are missing from what was fetched", hint="git fsck shows what the repository lacks")
    sizes = [int(size) for _, size in rows]
    return ReachableSize(len(rows), sum(sizes), max((int(size) for kind, size in rows if kind == b"blob"), default=0))
