"""Tells whether a change is still present in a later tree, comparing line by line at the place where it was made."""

import re

from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import PLAIN_DIFF, diff_trees, list_tree_files

# If more files than this changed since, they are not compared, and the change does not count as intact.
_MOST_FILES = 200
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

Lines = tuple[int, int]


def is_change_intact(git: PrivateGit, tree: str, old: str, new: str) -> bool:
    """Return True if `tree` keeps the lines that the change from `old` to `new` made, and the lines next to them."""
    changed = diff_trees(git, old, new)
    now = {entry.path: (entry.mode, entry.oid) for entry in list_tree_files(git, tree)}
    went_on = [row for row in changed if now.get(row.path, ("", "")) != (row.new_mode, row.new_blob)]
    if len(went_on) > _MOST_FILES:
        return False
    for row in went_on:
        mode, _ = now.get(row.path, ("", ""))
        if row.binary or not row.new_mode or mode != row.new_mode:
            return False
        made = [lines for _, lines in _changed_line_ranges(git, old, new, row.path)]
        since = [lines for lines, _ in _changed_line_ranges(git, new, tree, row.path)]
        if any(_lines_touch(one, other) for one in since for other in made):
            return False
    return True


def _lines_touch(one: Lines, other: Lines) -> bool:
    return one[0] <= other[1] + 1 and one[1] >= other[0] - 1


def _changed_line_ranges(git: PrivateGit, old: str, new: str, path: str) -> list[tuple[Lines, Lines]]:
    """Return the line ranges of a file that differ between two trees, first and last, in the old and the new one."""
    said = git.must(
        "diff-tree",
        *PLAIN_DIFF,
        "-p",
        "-U0",
        "--minimal",
        "--text",
        old,
        new,
        "--",
        path,
    )
    found = []
    for one in _HUNK.finditer(said):
        first, count, new_first, new_count = (int(part) if part is not None else 1 for part in one.groups())
        found.append(((first, first + max(count, 1) - 1), (new_first, new_first + max(new_count, 1) - 1)))
    return found
