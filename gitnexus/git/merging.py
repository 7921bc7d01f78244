"""What a merge would be, and a change on another base: worked out in a private git, no checkout is touched."""

from collections.abc import Sequence

from gitnexus.base.errors import Conflict
from gitnexus.git.child import GitFailed, reason
from gitnexus.git.commits import tree_of
from gitnexus.git.private import PrivateGit

# Each parent costs a merge: git itself writes no octopus of more than this, and a commit can claim a million.
MOST_PARENTS = 25
_PERSON = "git nexus <git-nexus@localhost> 0 +0000"


def is_ancestor(git: PrivateGit, older: str, newer: str) -> bool:
    """True if one commit is the other or comes before it."""
    return older == newer or git.run("merge-base", "--is-ancestor", older, newer).returncode == 0


def merge_base(git: PrivateGit, one: str, other: str) -> str | None:
    """Return the commit at which two lines part, None where they have none in common."""
    asked = git.run("merge-base", one, other)
    return asked.stdout.decode("ascii").split()[0] if asked.returncode == 0 else None


def clean_merge(git: PrivateGit, ours: str, theirs: str) -> str | None:
    """Return the tree that git makes of two commits by itself; None for a conflict, or a git that cannot tell."""
    if is_ancestor(git, ours, theirs):
        return tree_of(git, theirs)
    if is_ancestor(git, theirs, ours):
        return tree_of(git, ours)
    return _merged_apart(git, ours, theirs)


def _merged_apart(git: PrivateGit, ours: str, theirs: str) -> str | None:
    """Return the tree of two commits of which neither comes before the other; git before 2.38 cannot, and fails too."""
    done = git.run("merge-tree", "--write-tree", "--no-messages", ours, theirs)
    return done.stdout.decode("ascii").split()[0] if done.returncode == 0 else None


def clean_merge_of_all(git: PrivateGit, parents: Sequence[str]) -> str | None:
    """Return the tree that git makes of all parents of a commit, one after the other; None as for `clean_merge`.

    What two of them make is a commit of the private git alone, and the next one is merged with that.
    """
    if not 2 <= len(parents) <= MOST_PARENTS:
        return None
    merged = parents[0]
    for at, parent in enumerate(parents[1:], 2):
        if is_ancestor(git, parent, merged):
            continue
        if is_ancestor(git, merged, parent):
            merged = parent
            continue
        tree = _merged_apart(git, merged, parent)
        if tree is None or at == len(parents):
            return tree
        raw = f"tree {tree}\nparent {merged}\nparent {parent}\nauthor {_PERSON}\ncommitter {_PERSON}\n\nmerged\n"
        merged = git.must("hash-object", "-t", "commit", "-w", "--stdin", stdin=raw.encode()).decode().strip()
    return tree_of(git, merged)


def count_lost(git: PrivateGit, old: str, new: str) -> int:
    """Return how many commits `old` has and `new` has not: what is lost where a branch moves from one to the other."""
    return int(git.must("rev-list", "--count", old, f"^{new}", "--"))


def replayed(git: PrivateGit, onto: str, old: str, new: str) -> str:
    """Return the tree that the change from `old` to `new` makes of the tree `onto`, whole context and no guess.

    The objects are in `git` until they are kept. Raises: Conflict where it does not fit.
    """
    if onto == old:
        return new
    return _applied(git, onto, patch_between(git, old, new))


def patch_between(git: PrivateGit, old: str, new: str) -> bytes:
    """Return the whole difference of two trees as a patch that git applies, binary files too."""
    return git.must("diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames", "--no-ext-diff",
                    "--no-textconv", "--no-color", "--src-prefix=a/", "--dst-prefix=b/", old, new, "--")  # fmt: skip


def recounted(git: PrivateGit, onto: str, patch: bytes) -> bytes:
    """Return a patch to the tree `onto` that was edited by hand, as git writes it: its hunks need not count right.

    Raises: Conflict where it does not fit.
    """
    return patch_between(git, onto, _applied(git, onto, patch, "--recount"))


def _applied(git: PrivateGit, onto: str, patch: bytes, *options: str) -> str:
    git.must("read-tree", onto)
    if patch:
        done = git.run("apply", "--cached", *options, "-p1", "--whitespace=nowarn", "-", stdin=patch)
        if done.returncode != 0:
            raise Conflict(f"the change does not fit: {reason(done.stderr)}")
    written = git.run("write-tree")
    if written.returncode != 0:
        raise GitFailed(f"the result is no proper tree: {reason(written.stderr)}")
    return written.stdout.decode("ascii").strip()
