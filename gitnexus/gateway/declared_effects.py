"""Holds the command of a project's tool to the files that it declares: hides others, and undoes what else it wrote."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.gateway.apply_to_worktree import apply_changes
from gitnexus.git import Repo
from gitnexus.git.private import private_git
from gitnexus.git.revisions import resolve_head
from gitnexus.git.tree_diff import diff_trees
from gitnexus.git.worktree_tree import write_worktree_tree
from gitnexus.policy.model import CommandRequest
from gitnexus.policy.patterns import narrow_regex

_NEVER = (".git", ".nexus")
_MOST_HIDDEN = 2000


def undeclared_paths(root: str, request: CommandRequest) -> list[Path]:
    """Return the files and folders of a worktree that a command may not see: what it neither reads nor writes.

    Its own program stays. Empty if it does not declare what it reads. Raises: Failed.
    """
    if request.reads is None:
        return []
    declared = [re.compile(narrow_regex(one)) for one in (*request.reads, *(request.writes or ()))]
    folders = [_fixed_folder(one) for one in request.writes or ()]
    program = os.path.relpath(request.program, root)
    found: list[Path] = []

    def visible_below(folder: str, below: str) -> bool:
        """Return True if anything in a folder may be seen; note what may not, as few paths as there can be."""
        mine: list[Path] = []
        # A folder in which it may make files stays, empty as it may be.
        seen = any(below.startswith(one) or one.startswith(below) for one in folders)
        for entry in sorted(os.scandir(folder), key=lambda one: one.name):
            path = f"{below}{entry.name}"
            if not below and entry.name in _NEVER:
                continue
            if entry.is_dir(follow_symlinks=False):
                before = len(found)
                if visible_below(entry.path, f"{path}/"):
                    seen = True
                    continue
                del found[before:]
            elif path == program or any(one.fullmatch(path) for one in declared):
                seen = True
                continue
            mine.append(Path(entry.path))
        found.extend(mine)
        if len(found) > _MOST_HIDDEN:
            raise Failed(
                f"more than {_MOST_HIDDEN:,} paths lie outside of what this tool declares to read",
                hint="declare it by folders, as in src/**",
            )
        return seen

    visible_below(root, "")
    return found


def _fixed_folder(pattern: str) -> str:
    """Return the folder in which everything that a pattern matches lies, as in src/ for src/*.py."""
    whole = pattern.split("/")
    fixed = next((at for at, part in enumerate(whole) if re.search(r"[*?\[]", part)), len(whole) - 1)
    return "".join(f"{part}/" for part in whole[:fixed])


@contextmanager
def undo_undeclared_writes(repo: Repo, root: Path, writes: Sequence[str] | None) -> Iterator[None]:
    """Undo what is changed meanwhile in other files than `writes`, and refuse it; None is no limit.

    Files that git ignores are nobody's work, and are left alone. Raises: Failed.
    """
    if writes is None:
        yield
        return
    declared = [re.compile(narrow_regex(one)) for one in writes]
    with private_git(repo) as git:
        head = resolve_head(repo, git)
        before = write_worktree_tree(git, root, head).result_tree
        yield
        after = write_worktree_tree(git, root, head).result_tree
        beyond = tuple(
            row for row in diff_trees(git, after, before) if not any(one.fullmatch(row.path) for one in declared)
        )
        if beyond:
            apply_changes(git, root, beyond)
            names = one_line(", ".join(row.path for row in beyond), 300)
            raise Failed(f"it changed what its tool does not declare to write, and that was undone: {names}")
