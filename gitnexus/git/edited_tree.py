"""Writes the tree of a commit with some files replaced, using a private index. No file on disk changes."""

import os
from collections.abc import Mapping

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.git.child import git_error_line
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.patches import AppliedPatch
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import diff_trees, drop_from_index, list_tree_files

_PLAIN = ("100644", "100755")


def tree_with_files(git: PrivateGit, base_commit: str, contents: Mapping[str, bytes | None]) -> AppliedPatch:
    """Return the tree of a commit with `contents` replacing its files; None deletes a file.

    The new objects are in `git`. Raises: Invalid, NotFound.
    """
    base_tree = tree_of_commit(git, base_commit)
    before = {entry.path: entry.mode for entry in list_tree_files(git, base_tree)}
    git.must("read-tree", base_tree)
    drop_from_index(git, [path for path, content in contents.items() if content is None and path in before])
    wanted: dict[str, str] = {}
    rows = []
    for path, content in contents.items():
        mode = before.get(path, "100644")
        if mode not in _PLAIN:
            raise Invalid(f"{one_line(path, 80)} is not a plain file")
        if content is not None:
            oid = git.must("hash-object", "-w", "--stdin", "--no-filters", stdin=content).decode("ascii").strip()
            wanted[path] = oid
            rows.append(b"%s %s\t%s\0" % (mode.encode(), oid.encode(), os.fsencode(path)))
    done = git.run("update-index", "-z", "--add", "--replace", "--index-info", stdin=b"".join(rows))
    tree = git.run("write-tree") if done.returncode == 0 else done
    if tree.returncode != 0:
        raise Invalid(f"the result is not a valid tree: {git_error_line(tree.stderr)}")
    result = tree.stdout.decode("ascii").strip()
    made = tuple(list_tree_files(git, result))
    # Git passes over a name that some system takes for .git and says so only to a person.
    held = {entry.path: entry.oid for entry in made}
    for path, oid in wanted.items():
        if held.get(path) != oid:
            raise Invalid(f"{one_line(path, 80)} is refused: git does not accept such a name")
    return AppliedPatch(base_commit, base_tree, result, diff_trees(git, base_tree, result), made)
