"""git.status and git.diff: what differs, told by trees; what is denied is left out, and that is said."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.gateway.bench import Bench
from gitnexus.gateway.patching import change_of
from gitnexus.git.commits import tree_of
from gitnexus.git.ondisk import worktree_tree
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.revisions import commit_of, head_of
from gitnexus.git.rows import TreeChange, difference, without

MOST_ROWS = 1000
MOST_BYTES = 256 * 1024
_MASKED_AT_MOST = 2**20


def status(bench: Bench, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Tell how the worktree differs from HEAD; there is no index in it."""
    with private(bench.repo) as git:
        found = worktree_tree(git, bench.worktree, head_of(bench.repo, git))
    shown, hidden = _parted(bench, found.changes)
    answer = {
        "base": found.base,
        "changes": [{"path": row.path, "change": change_of(row)} for row in shown[:MOST_ROWS]],
        "odd": [{"path": odd.path, "why": odd.why} for odd in found.odd if not bench.hides(odd.path)],
        "more": len(shown) > MOST_ROWS,
        "hidden": len(hidden),
    }
    return bench.read("git.status", answer)


def diff(bench: Bench, params: Mapping[str, Any]) -> dict[str, Any]:
    """Show the difference between two commits, or between one and the worktree."""
    paths = [bench.readable(path.removesuffix("/")) for path in params.get("paths", ())]
    context = int(params.get("context", 3))
    if not 0 <= context <= 100:
        raise Invalid("context should be 0 to 100 lines")
    with _two_trees(bench, params) as (git, *trees):
        _, hidden = _parted(bench, difference(git, trees[0], trees[1]))
        # Out of both trees, so that no path, however it is written, can ask for them.
        old, new = (without(git, tree, [row.path for row in hidden]) if hidden else tree for tree in trees)
        text, cut = git.beginning(
            "diff-tree", "-p", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color",
            "--src-prefix=a/", "--dst-prefix=b/", f"-U{context}", old, new, "--", *paths, most=_MASKED_AT_MOST,
        )  # fmt: skip
    shown = bench.door.mask(text.decode("utf-8", "backslashreplace"))
    answer = {"diff": shown[:MOST_BYTES], "more": cut or len(shown) > MOST_BYTES, "hidden": len(hidden)}
    asked = {"revision": params.get("revision", "HEAD"), "to": params.get("to", ""), "paths": paths}
    return bench.read("git.diff", answer, **asked)


@contextmanager
def _two_trees(bench: Bench, params: Mapping[str, Any]) -> Iterator[tuple[PrivateGit, str, str]]:
    with private(bench.repo) as git:
        old = commit_of(bench.repo, git, params.get("revision") or "HEAD")
        if to := params.get("to"):
            yield git, tree_of(git, old), tree_of(git, commit_of(bench.repo, git, to))
        else:
            yield git, tree_of(git, old), worktree_tree(git, bench.worktree, head_of(bench.repo, git)).result_tree


def _parted(bench: Bench, rows: tuple[TreeChange, ...]) -> tuple[list[TreeChange], list[TreeChange]]:
    """Return the rows that may be seen, and the others."""
    shown: list[TreeChange] = []
    hidden: list[TreeChange] = []
    for row in rows:
        (hidden if bench.hides(row.path) else shown).append(row)
    return shown, hidden
