"""Applies a patch to a base tree in a private index, completely or not at all, and returns the resulting tree."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from gitnexus.base.errors import Conflict, Invalid
from gitnexus.base.text import one_line
from gitnexus.git import binaryparts, patchtext
from gitnexus.git.child import git_error_line
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.discovery import Repo
from gitnexus.git.objects import blob_id
from gitnexus.git.patchtext import LARGEST_BINARY
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.tree_diff import (
    GITLINK,
    TreeChange,
    TreeEntry,
    diff_trees,
    drop_from_index,
    list_index_files,
    list_tree_files,
    object_sizes,
    read_blob,
)

MOST_FILES = 5000
# What git says when the patch is well formed and the base is another one than it was made for.
_DOES_NOT_FIT = ("patch failed", "does not apply", "does not exist in index", "already exists in index",
                 "does not match index", "wrong type", "has type", "No such file")  # fmt: skip

Hidden = Callable[[str], bool]


class FileEdit(NamedTuple):
    """The new content and mode of a file; without content it is deleted."""

    path: str
    content: bytes | None
    mode: str


# Returns the edits for the files that may be seen, by path; the second argument reads one of them.
EditMaker = Callable[[Mapping[str, TreeEntry], Callable[[str], bytes]], Sequence[FileEdit]]


class HiddenFile(Conflict):
    """The patch would read, move or delete a file that is hidden from it."""


@dataclass(frozen=True, slots=True)
class AppliedPatch:
    """The tree before and after, and the complete difference, ordered by the bytes of the path.

    `present` are all files of the result except the hidden ones.
    """

    base: str
    base_tree: str
    result_tree: str
    changes: tuple[TreeChange, ...]
    present: tuple[TreeEntry, ...] = field(repr=False)


def apply_patch(repo: Repo, base_commit: str, patch: bytes, hidden: Hidden | None = None) -> AppliedPatch:
    """Return the result of applying `patch` to a commit; nothing is kept. Raises: Invalid, Conflict, HiddenFile."""
    with private_git(repo) as git:
        return apply_patch_in(git, base_commit, patch, hidden)


def apply_patch_in(git: PrivateGit, base_commit: str, patch: bytes, hidden: Hidden | None = None) -> AppliedPatch:
    """Return the result of applying `patch` to a commit; new objects are in `git` until it is closed or kept.

    A `hidden` file does not exist for the patch: its lines cannot be guessed by trying hunks on it, and it cannot be
    copied or renamed. It stays in the result unchanged.
    """
    refused = patchtext.why_patch_refused(patch)
    if refused:
        raise Invalid(f"the patch is refused: {refused}")

    def change_index(_before: Mapping[str, TreeEntry], unseen: Iterable[str]) -> None:
        _apply_to_index(git, patch, unseen)

    done, visible = _change_tree(git, base_commit, change_index, hidden)
    if patchtext.says_binary(patch):
        _refuse_known_objects(git, patch, done.changes, visible)
    return done


def apply_edits_in(
    git: PrivateGit, base_commit: str, make_edits: EditMaker, hidden: Hidden | None = None
) -> AppliedPatch:
    """Return the result of edits to the files of a commit, which `make_edits` computes; as for a patch otherwise."""

    def change_index(before: Mapping[str, TreeEntry], _unseen: Iterable[str]) -> None:
        def read(path: str) -> bytes:
            oid = before[path].oid
            if object_sizes(git, [oid])[0] > patchtext.LARGEST_PATCH:
                raise Invalid(f"{one_line(path, 80)} is larger than {patchtext.LARGEST_PATCH // 2**20} MiB")
            return read_blob(git, oid)

        edits = make_edits(before, read)
        if len(edits) > MOST_FILES:
            raise Invalid(f"the patch changes more than {MOST_FILES} files", hint="split it")
        drop_from_index(git, (edit.path for edit in edits if edit.content is None))
        rows = [
            (edit, git.must("hash-object", "-w", "--stdin", stdin=edit.content).strip())
            for edit in edits
            if edit.content is not None
        ]
        order = b"".join(b"%s %s\t%s\0" % (edit.mode.encode(), oid, os.fsencode(edit.path)) for edit, oid in rows)
        if order:
            git.must("update-index", "-z", "--index-info", stdin=order)
        # Git leaves out a path that it does not like, and takes away a file where a folder is needed, without an error.
        wanted = {path: entry.oid for path, entry in before.items()}
        wanted |= {edit.path: oid.decode("ascii") for edit, oid in rows}
        gone = {edit.path for edit in edits if edit.content is None} - {edit.path for edit, _ in rows}
        made = {entry.path: entry.oid for entry in list_index_files(git)}
        wrong = next((path for path, oid in wanted.items() if path not in gone and made.get(path) != oid), None)
        if wrong is not None:
            raise Invalid(
                f"the patch is refused for {one_line(wrong, 80)!r}: git cannot have such a file beside the others"
            )

    return _change_tree(git, base_commit, change_index, hidden)[0]


def _change_tree(
    git: PrivateGit,
    base_commit: str,
    change_index: Callable[[Mapping[str, TreeEntry], Iterable[str]], None],
    hidden: Hidden | None,
) -> tuple[AppliedPatch, set[str]]:
    """Return the tree after `change_index` changed an index without the hidden files, and the blobs seen before."""
    base_tree = tree_of_commit(git, base_commit)
    before = list(list_tree_files(git, base_tree))
    unseen = {entry.path: entry for entry in before if hidden(entry.path)} if hidden else {}
    git.must("read-tree", base_tree)
    drop_from_index(git, unseen)
    change_index({entry.path: entry for entry in before if entry.path not in unseen}, unseen)
    made = list(list_index_files(git))
    # A hidden file that the patch creates is a row like any other, which the gate denies.
    _restore_hidden_files(git, [entry for path, entry in unseen.items() if path not in {one.path for one in made}])
    result = _write_result_tree(git)
    rows = diff_trees(git, base_tree, result)
    if len(rows) > MOST_FILES:
        raise Invalid(f"the patch changes more than {MOST_FILES} files", hint="split it")
    visible = {entry.oid for entry in before if entry.path not in unseen}
    changes = _mark_revealing_rows(rows, unseen.values(), visible, git)
    return AppliedPatch(base_commit, base_tree, result, changes, tuple(made)), visible


def _apply_to_index(git: PrivateGit, patch: bytes, unseen: Iterable[str]) -> None:
    # Not one lenient flag: whole context, one -p, no whitespace repair, no three-way merge.
    done = git.run("apply", "--cached", "-p1", "--whitespace=nowarn", "-", stdin=patch)
    if done.returncode == 0:
        return
    said = git_error_line(done.stderr)
    for path in unseen:
        if done.stderr.startswith(b"error: %s: " % os.fsencode(path)):
            raise HiddenFile(f"the patch reads or moves {path}", context={"path": path})
    if any(words in said for words in _DOES_NOT_FIT):
        raise Conflict(f"the patch does not apply: {said}", hint="create it again from the current files")
    raise Invalid(f"git does not accept the patch: {said}", hint="send a unified diff with a/ and b/ before the paths")


def _write_result_tree(git: PrivateGit) -> str:
    done = git.run("write-tree")
    if done.returncode != 0:
        raise Invalid(f"the result of the patch is not a valid tree: {git_error_line(done.stderr)}")
    return done.stdout.decode("ascii").strip()


def _restore_hidden_files(git: PrivateGit, entries: Iterable[TreeEntry]) -> None:
    rows = ((entry.mode.encode(), entry.oid.encode(), os.fsencode(entry.path)) for entry in entries)
    order = b"".join(b"%s %s\t%s\0" % row for row in rows)
    if order and git.run("update-index", "-z", "--index-info", stdin=order).returncode != 0:
        raise Conflict("the patch puts a file in place of a folder with files that agents must not see")


def _refuse_known_objects(git: PrivateGit, patch: bytes, rows: tuple[TreeChange, ...], visible: set[str]) -> None:
    """Refuse binary content that came from the object store and not from the patch.

    Git takes the result of a binary part from its store if an object with the announced id is there, whatever the part
    contains: anyone who knows the id of a secret in an old commit could have it written into a file.
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
    before = (
        read_blob(git, oid) for oid, size in zip(old, object_sizes(git, old), strict=True) if size <= LARGEST_BINARY
    )
    brought = binaryparts.blob_ids_in_patch(patch, before, git.object_format)
    for row in known:
        if row.path in parts and row.new_blob not in brought:
            raise Invalid(
                f"the patch is refused: what {one_line(row.path, 80)} would hold is not in the patch but in history",
                hint="send binary changes with their content: git diff --binary",
            )


def _mark_revealing_rows(
    rows: tuple[TreeChange, ...], unseen: Iterable[TreeEntry], visible: set[str], git: PrivateGit
) -> tuple[TreeChange, ...]:
    """Mark each row that would copy the content of a hidden file into a file of another name."""
    empty = blob_id(b"", git.object_format)
    secret = {entry.oid: entry.path for entry in unseen if entry.oid not in visible and entry.oid != empty}
    return tuple(replace(row, reveals=secret.get(row.new_blob, "")) if secret else row for row in rows)
