"""A patch as two trees: applied to a base in a private index, all of it or nothing, and judged by what came out."""

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from gitnexus.base.errors import Conflict, Invalid
from gitnexus.base.text import one_line
from gitnexus.git import binaryparts, patchtext
from gitnexus.git.child import reason
from gitnexus.git.commits import tree_of
from gitnexus.git.discovery import Repo
from gitnexus.git.patchtext import LARGEST_BINARY
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.rows import GITLINK, TreeChange, TreeEntry, blob, difference, drop, files, indexed, sizes

MOST_FILES = 5000
# What git says when the patch is well formed and the base is another one than it was made for.
_DOES_NOT_FIT = ("patch failed", "does not apply", "does not exist in index", "already exists in index",
                 "does not match index", "wrong type", "has type", "No such file")  # fmt: skip

Hidden = Callable[[str], bool]


class HiddenFile(Conflict):
    """The patch wants to read, move or delete a file that is hidden from it."""


@dataclass(frozen=True, slots=True)
class Applied:
    """From which tree to which, and the whole difference by the bytes of the path.

    `present` are all files of the result but the hidden ones.
    """

    base: str
    base_tree: str
    result_tree: str
    changes: tuple[TreeChange, ...]
    present: tuple[TreeEntry, ...] = field(repr=False)


def applied(repo: Repo, base_commit: str, patch: bytes, hidden: Hidden | None = None) -> Applied:
    """Return what `patch` would make of a commit; nothing stays behind. Raises: Invalid, Conflict, HiddenFile."""
    with private(repo) as git:
        return applied_in(git, base_commit, patch, hidden)


def applied_in(git: PrivateGit, base_commit: str, patch: bytes, hidden: Hidden | None = None) -> Applied:
    """Return what `patch` makes of a commit; the new objects are in `git` until it is closed or kept.

    A file that is `hidden` is not there for the patch: neither its lines can be guessed by trying hunks on it, nor
    can it be copied or renamed. It stays in the result as it was.
    """
    refused = patchtext.why_refused(patch)
    if refused:
        raise Invalid(f"the patch is refused: {refused}")
    base_tree = tree_of(git, base_commit)
    before = list(files(git, base_tree))
    unseen = {entry.path: entry for entry in before if hidden(entry.path)} if hidden else {}
    git.must("read-tree", base_tree)
    drop(git, unseen)
    _apply(git, patch, unseen)
    made = list(indexed(git))
    # A hidden file that the patch made anew is a row like any other, for the gate to deny.
    _restore(git, [entry for path, entry in unseen.items() if path not in {one.path for one in made}])
    result = _written(git)
    rows = difference(git, base_tree, result)
    if len(rows) > MOST_FILES:
        raise Invalid(f"the patch changes more than {MOST_FILES} files", hint="split it")
    visible = {entry.oid for entry in before if entry.path not in unseen}
    if patchtext.says_binary(patch):
        _refuse_known_objects(git, patch, rows, visible)
    return Applied(base_commit, base_tree, result, _marked(rows, unseen.values(), visible, git), tuple(made))


def _apply(git: PrivateGit, patch: bytes, unseen: Iterable[str]) -> None:
    # Not one lenient flag: whole context, one -p, no whitespace repair, no three-way merge.
    done = git.run("apply", "--cached", "-p1", "--whitespace=nowarn", "-", stdin=patch)
    if done.returncode == 0:
        return
    said = reason(done.stderr)
    for path in unseen:
        if done.stderr.startswith(b"error: %s: " % os.fsencode(path)):
            raise HiddenFile(f"the patch reads or moves {path}", context={"path": path})
    if any(words in said for words in _DOES_NOT_FIT):
        raise Conflict(f"the patch does not apply: {said}", hint="make it anew from the files as they are now")
    raise Invalid(f"git does not accept the patch: {said}", hint="send a unified diff with a/ and b/ before the paths")


def _written(git: PrivateGit) -> str:
    done = git.run("write-tree")
    if done.returncode != 0:
        raise Invalid(f"the result of the patch is no proper tree: {reason(done.stderr)}")
    return done.stdout.decode("ascii").strip()


def _restore(git: PrivateGit, entries: Iterable[TreeEntry]) -> None:
    rows = ((entry.mode.encode(), entry.oid.encode(), os.fsencode(entry.path)) for entry in entries)
    order = b"".join(b"%s %s\t%s\0" % row for row in rows)
    if order and git.run("update-index", "-z", "--index-info", stdin=order).returncode != 0:
        raise Conflict("the patch puts a file where a folder holds files that are not to be seen")


def _refuse_known_objects(git: PrivateGit, patch: bytes, rows: tuple[TreeChange, ...], visible: set[str]) -> None:
    """Refuse binary content that came out of the object store and not out of the patch.

    Git takes the result of a binary part from its store if an object of the announced id is there, whatever the part
    holds: whoever knows the id of a secret in some old commit could have it written into a file.
    """
    known = [row for row in rows if row.new_blob not in visible and row.new_mode not in ("", GITLINK)]
    known = [row for row in known if not git.fresh(row.new_blob)]
    if not known:
        return
    # Git's own reading of which files have a binary part; it is asked without touching index or objects.
    counts = git.must("apply", "--numstat", "-z", "-p1", "-", stdin=patch).split(b"\0")
    parts = {os.fsdecode(row.split(b"\t", 2)[2]) for row in counts if row.startswith(b"-\t-\t")}
    old = [
        row.old_blob for row in rows if row.old_mode not in ("", GITLINK) and (row.path in parts or not row.new_mode)
    ]
    before = (blob(git, oid) for oid, size in zip(old, sizes(git, old), strict=True) if size <= LARGEST_BINARY)
    brought = binaryparts.brought(patch, before, git.object_format)
    for row in known:
        if row.path in parts and row.new_blob not in brought:
            raise Invalid(
                f"the patch is refused: what {one_line(row.path, 80)} would hold is not in the patch but in history",
                hint="send binary changes with their content: git diff --binary",
            )


def _marked(
    rows: tuple[TreeChange, ...], unseen: Iterable[TreeEntry], visible: set[str], git: PrivateGit
) -> tuple[TreeChange, ...]:
    """Say of each row if it would put what is hidden elsewhere into a file of another name."""
    from gitnexus.git.objects import blob_id

    empty = blob_id(b"", git.object_format)
    secret = {entry.oid: entry.path for entry in unseen if entry.oid not in visible and entry.oid != empty}
    return tuple(replace(row, reveals=secret.get(row.new_blob, "")) if secret else row for row in rows)
