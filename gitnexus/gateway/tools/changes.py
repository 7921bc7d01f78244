"""git.status and git.diff: compare trees, leave out denied files and report that they were left out."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.gateway.patching import change_word
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.revisions import resolve_commit, resolve_head
from gitnexus.git.tree_diff import PLAIN_DIFF, TreeChange, diff_trees, tree_without_files
from gitnexus.git.worktree_tree import write_worktree_tree

MOST_ROWS = 1000
MOST_BYTES = 256 * 1024
_MASKED_AT_MOST = 2**20


def git_status(context: ToolContext, _params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the differences of the worktree and HEAD; it has no index."""
    with private_git(context.repo) as git:
        found = write_worktree_tree(git, context.worktree, resolve_head(context.repo, git))
    shown, hidden = _split_visible(context, found.changes)
    answer = {
        "base": found.base,
        "changes": [{"path": row.path, "change": change_word(row)} for row in shown[:MOST_ROWS]],
        "odd": [{"path": odd.path, "why": odd.why} for odd in found.odd if not context.hides_path(odd.path)],
        "more": len(shown) > MOST_ROWS,
        "hidden": len(hidden),
    }
    return context.read("git.status", answer)


def git_diff(tool_context: ToolContext, params: Mapping[str, Any]) -> dict[str, Any]:
    """Show the difference between two commits, or between a commit and the worktree."""
    paths = [tool_context.readable(path.removesuffix("/")) for path in params.get("paths", ())]
    context = int(params.get("context", 3))
    if not 0 <= context <= 100:
        raise Invalid("context should be 0 to 100 lines")
    with _two_trees(tool_context, params) as (git, *trees):
        _, hidden = _split_visible(tool_context, diff_trees(git, trees[0], trees[1]))
        # Removed from both trees, so that no path, however written, can show them.
        old, new = (tree_without_files(git, tree, [row.path for row in hidden]) if hidden else tree for tree in trees)
        text, cut = git.read_beginning(
            "diff-tree",
            *PLAIN_DIFF,
            "-p",
            f"-U{context}",
            old,
            new,
            "--",
            *paths,
            most=_MASKED_AT_MOST,
        )
    shown = tool_context.gate.mask(text.decode("utf-8", "backslashreplace"))
    answer = {"diff": shown[:MOST_BYTES], "more": cut or len(shown) > MOST_BYTES, "hidden": len(hidden)}
    asked = {"revision": params.get("revision", "HEAD"), "to": params.get("to", ""), "paths": paths}
    return tool_context.read("git.diff", answer, **asked)


@contextmanager
def _two_trees(context: ToolContext, params: Mapping[str, Any]) -> Iterator[tuple[PrivateGit, str, str]]:
    with private_git(context.repo) as git:
        old = resolve_commit(context.repo, git, params.get("revision") or "HEAD")
        if to := params.get("to"):
            yield git, tree_of_commit(git, old), tree_of_commit(git, resolve_commit(context.repo, git, to))
        else:
            yield (
                git,
                tree_of_commit(git, old),
                write_worktree_tree(git, context.worktree, resolve_head(context.repo, git)).result_tree,
            )


def _split_visible(context: ToolContext, rows: tuple[TreeChange, ...]) -> tuple[list[TreeChange], list[TreeChange]]:
    """Return the visible rows, and the others."""
    shown: list[TreeChange] = []
    hidden: list[TreeChange] = []
    for row in rows:
        (hidden if context.hides_path(row.path) else shown).append(row)
    return shown, hidden
