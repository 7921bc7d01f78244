"""Writes commits from existing trees, and reads one or many commits in one pass. No hook runs and no config is read."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.git.child import GitFailed, git_error_line, run_git_or_raise
from gitnexus.git.discovery import Repo
from gitnexus.git.objects import Author, commit_object_bytes
from gitnexus.git.private import EMPTY_TREE, PrivateGit
from gitnexus.git.revisions import resolve_commit, resolve_head

_ID = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
# The commits alone, whatever a user configured to be shown with them.
_PLAIN_LOG = ("--no-patch", "--no-notes", "--no-color", "--no-show-signature", "--no-mailmap", "--encoding=UTF-8")
# The mark tells a commit that was asked for from a parent of one that was not.
_FORMAT = "%m%x00%H%x00%T%x00%P%x00%B"
_PIECE = 1 << 16
_ODD = re.compile(r"[<>\n\0]")


class CommitRow(NamedTuple):
    """One commit; `parent_trees` in the order of its parents. At the edge of a shallow clone there are no parents."""

    id: str
    tree: str
    parents: tuple[str, ...]
    parent_trees: tuple[str, ...]
    message: str


class CommitRange(NamedTuple):
    """A range of commits by full ids: all commits that `tip` reaches and none of `without` reaches."""

    tip: str
    without: tuple[str, ...] = ()


def parse_commit_range(repo: Repo, git: PrivateGit, text: str) -> CommitRange:
    """Parse a range: A..B, A.., ..B, or B for all that B reaches. Raises: Invalid, NotFound."""
    if "..." in text:
        raise Invalid("three dots are not a range here", hint="A..B is what is on B and not on A")
    start, dots, end = text.partition("..")

    def named(word: str) -> str:
        return resolve_head(repo, git) if word in ("", "@") else resolve_commit(repo, git, word)

    if not dots:
        return CommitRange(named(start))
    return CommitRange(named(end), (named(start),))


def iterate_commits(git: PrivateGit, wanted: CommitRange, *, most: int = 0) -> Iterator[CommitRow]:
    """Yield the commits of a range, parents first, from one git child. Raises: GitFailed."""
    for word in (wanted.tip, *wanted.without):
        if not _ID.fullmatch(word):
            raise Invalid("a range is named by whole ids")
    limit = [f"--max-count={most}"] if most else []
    argv = [
        "log",
        "-z",
        "--reverse",
        "--topo-order",
        "--boundary",
        *_PLAIN_LOG,
        f"--format={_FORMAT}",
        *limit,
        wanted.tip,
        *(f"^{word}" for word in wanted.without),
        "--",
    ]
    trees: dict[str, str] = {}
    for mark, oid, tree, parents, message in _iterate_log_records(git, argv, 5):
        trees[oid] = tree
        if mark == "-":
            continue
        above = tuple(parents.split())
        missing = [parent for parent in above if parent not in trees]
        if missing:
            trees |= {parent: _read_tree_id(git, parent) for parent in missing}
        yield CommitRow(oid, tree, above, tuple(trees[parent] for parent in above), message)


def write_commit_object(
    git: PrivateGit, tree: str, parents: Sequence[str], message: str, author: Author, committer: Author | None = None
) -> str:
    """Write a commit of an existing tree into the repository and return its id. No ref moves.

    Raises: Invalid, NotFound, GitFailed.
    """
    for word in (tree, *parents):
        if not _ID.fullmatch(word):
            raise Invalid("a commit names its tree and its parents by whole ids")
    if "\0" in message:
        raise Invalid("a message cannot hold a NUL")
    kinds = git.must("cat-file", "--batch-check=%(objecttype)", stdin="\n".join((tree, *parents, "")).encode())
    if kinds.split() != [b"tree", *(b"commit" for _ in parents)]:
        raise NotFound("the tree or a parent of the new commit is not in the repository")
    above = "".join(f"parent {parent}\n" for parent in parents)
    people = f"author {_format_ident(author)}\ncommitter {_format_ident(committer or author)}"
    raw = f"tree {tree}\n{above}{people}\n\n{message}".encode("utf-8", "replace")
    done = git.run("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw)
    if done.returncode != 0:
        raise GitFailed(f"git could not write the commit: {git_error_line(done.stderr)}")
    made = done.stdout.decode("ascii").strip()
    git.keep_object(made)
    return made


def write_own_commit(repo: Repo, tree: str, parents: Sequence[str], message: str, author: Author) -> str:
    """Write a git nexus commit of an existing tree, whatever its parents contain. Raises: GitFailed."""
    raw = commit_object_bytes(tree, parents, message, author)
    stored = run_git_or_raise("hash-object", "-t", "commit", "-w", "--stdin", git_dir=repo.common_dir, stdin=raw)
    return stored.decode("ascii").strip()


def read_commit(git: PrivateGit, commit: str) -> bytes:
    """Return the bytes of a commit. Raises: GitFailed."""
    loose = git.read_loose(commit)
    return loose[1] if loose is not None and loose[0] == "commit" else git.must("cat-file", "commit", commit)


def _format_ident(who: Author) -> str:
    # Names come from agents and configs: what ends a name or a line must not.
    name, email = (_ODD.sub("", word).strip() for word in (who.name, who.email))
    return f"{name or 'unknown'} <{email}> {who.seconds} {who.zone}"


def _read_tree_id(git: PrivateGit, commit: str) -> str:
    raw = read_commit(git, commit)
    return raw[5 : raw.index(b"\n")].decode("ascii")


def messages_containing(
    git: PrivateGit, words: str, tips: Sequence[str], *, most: int = 0, merges: bool = True
) -> Iterator[tuple[str, str]]:
    """Yield id and message of commits that `tips` reach and whose message contains `words`, of the newest `most` only.

    Raises: GitFailed.
    """
    if not tips or not all(_ID.fullmatch(tip) for tip in tips):
        return
    # --grep would look on through the whole history until it had found so many.
    wanted = [f"--max-count={most}"] if most else ["--fixed-strings", f"--grep={words}"]
    wanted += ["--no-merges"] if not merges else []
    argv = [
        "log",
        "-z",
        *_PLAIN_LOG,
        "--format=%H%x00%B",
        *wanted,
        *tips,
        "--",
    ]
    for oid, message in _iterate_log_records(git, argv, 2):
        if words in message:
            yield oid, message


def _iterate_log_records(git: PrivateGit, argv: list[str], count: int) -> Iterator[list[str]]:
    """Yield the fields of each commit as git prints them, without holding the whole log in memory."""
    with git.started(*argv) as child:
        stream = child.stdout
        if child.stdin is not None:
            child.stdin.close()
        fields: list[bytes] = []
        rest = b""
        while stream is not None and (piece := stream.read(_PIECE)):
            *whole, rest = (rest + piece).split(b"\0")
            fields += whole
            ready = len(fields) - len(fields) % count
            for at in range(0, ready, count):
                yield [field.decode("utf-8", "replace") for field in fields[at : at + count]]
            del fields[:ready]
    if child.returncode != 0 or fields or rest:
        raise GitFailed("git could not read the commits of that range", hint="git fsck shows what is missing")


def tree_of_commit(git: PrivateGit, commit: str) -> str:
    """Return the tree of a commit given by its full id. Raises: Invalid, NotFound."""
    if not _ID.fullmatch(commit):
        raise Invalid(f"{one_line(commit, 80)!r} is not the whole id of a commit")
    loose = git.read_loose(commit)
    if loose is not None and loose[0] == "commit":
        return loose[1][len(b"tree ") : loose[1].index(b"\n")].decode("ascii")
    asked = git.run("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}^{{tree}}")
    if asked.returncode != 0:
        raise NotFound(f"there is no commit {commit}")
    return asked.stdout.decode("ascii").strip()


def trees_before_and_after(git: PrivateGit, commit: str) -> tuple[str, str]:
    """Return the tree of a commit's first parent and its own tree. Raises: Invalid, NotFound, GitFailed."""
    first = re.match(rb"tree \S+\nparent (\S+)\n", read_commit(git, commit))
    return tree_of_commit(git, first[1].decode("ascii")) if first else EMPTY_TREE[git.object_format], tree_of_commit(
        git, commit
    )
