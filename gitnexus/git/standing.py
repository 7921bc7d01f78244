"""Whether a change still stands in a later tree: line by line where it was made, not wherever its lines are found."""

import re

from gitnexus.git.private import PrivateGit
from gitnexus.git.rows import TreeChange, difference, files

# More files than this that went on since are not looked into: then it is not proved to stand.
_MOST_FILES = 200
_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@", re.MULTILINE)

Lines = tuple[int, int]


def stands_in(git: PrivateGit, tree: str, old: str, new: str) -> bool:
    """True if nothing in `tree` touches the lines that the change from `old` to `new` made, nor those beside them."""
    changed = difference(git, old, new)
    now = {entry.path: (entry.mode, entry.oid) for entry in files(git, tree)}
    went_on = [row for row in changed if now.get(row.path, ("", "")) != (row.new_mode, row.new_blob)]
    return len(went_on) <= _MOST_FILES and all(_stands_in_file(git, row, now) for row in went_on)


def _stands_in_file(git: PrivateGit, row: TreeChange, now: dict[str, tuple[str, str]]) -> bool:
    mode, blob = now.get(row.path, ("", ""))
    if row.binary or not blob or not row.new_blob or mode != row.new_mode:
        return False
    made = [(start, end) for _, (start, end) in _hunks(git, row.old_blob or _empty(git), row.new_blob)]
    since = [(start, end) for (start, end), _ in _hunks(git, row.new_blob, blob)]
    return not any(
        start <= end_made + 1 and end >= start_made - 1 for start, end in since for start_made, end_made in made
    )


def _hunks(git: PrivateGit, old: str, new: str) -> list[tuple[Lines, Lines]]:
    """Return the lines that differ between two blobs, first and last, in the old and in the new one."""
    said = git.must("diff", "-U0", "--minimal", "--no-ext-diff", "--no-textconv", "--no-color", "--text", old, new)
    found = []
    for one in _HUNK.finditer(said):
        first, count, new_first, new_count = (int(part) if part is not None else 1 for part in one.groups())
        found.append(((first, first + max(count, 1) - 1), (new_first, new_first + max(new_count, 1) - 1)))
    return found


def _empty(git: PrivateGit) -> str:
    return git.must("hash-object", "-w", "-t", "blob", "--stdin").decode("ascii").strip()
