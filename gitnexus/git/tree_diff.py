"""Returns the raw difference of two trees, the entries of one tree, and blob contents. Diff text is never parsed."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from gitnexus.git.child import GitFailed
from gitnexus.git.private import PrivateGit

# The difference of two trees in git's own words: nothing that a user configured has a part in it.
PLAIN_DIFF = (
    "-r",
    "--no-renames",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
LINK = "120000"
GITLINK = "160000"
_LONGEST_TARGET = 4096
# As many are looked for in files of their own before git is asked for all of them.
_FEW = 4


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """A file of a tree with its full path; a name that is not UTF-8 keeps its bytes as surrogates."""

    path: str
    mode: str
    oid: str


@dataclass(frozen=True, slots=True)
class TreeChange:
    """One path that differs; mode and blob are empty on the side where it is absent.

    `link_target` is the target of a new link. `binary` is git's own guess by content. `reveals` names a hidden file
    whose content the new side would contain.
    """

    path: str
    old_mode: str = ""
    new_mode: str = ""
    old_blob: str = ""
    new_blob: str = ""
    link_target: str = ""
    binary: bool = False
    reveals: str = ""


def list_tree_files(git: PrivateGit, tree: str) -> Iterator[TreeEntry]:
    """Yield every file, link and submodule of a tree."""
    for line in git.must("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, oid = head.decode("ascii").split(" ")
        yield TreeEntry(os.fsdecode(path), mode, oid)


def list_index_files(git: PrivateGit) -> Iterator[TreeEntry]:
    """Yield every file of the index."""
    for line in git.must("ls-files", "--stage", "-z").split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, oid, _ = head.decode("ascii").split(" ")
        yield TreeEntry(os.fsdecode(path), mode, oid)


def diff_trees(git: PrivateGit, old: str, new: str) -> tuple[TreeChange, ...]:
    """Return the differences between two trees, ordered by the bytes of the path."""
    said = git.must(
        "diff-tree",
        *PLAIN_DIFF,
        "--raw",
        "--numstat",
        "-z",
        "--no-abbrev",
        old,
        new,
        "--",
    )
    fields = said.split(b"\0")[:-1]
    raw, binary, at = [], set(), 0
    while at < len(fields):
        if fields[at].startswith(b":"):
            raw.append((fields[at][1:].decode("ascii"), os.fsdecode(fields[at + 1])))
            at += 2
        else:
            added, _, path = fields[at].split(b"\t", 2)
            if added == b"-":
                binary.add(os.fsdecode(path))
            at += 1
    rows = [_parse_change(head, path, path in binary) for head, path in raw]
    return tuple(_with_link_targets(git, sorted(rows, key=lambda row: os.fsencode(row.path))))


def read_blob(git: PrivateGit, oid: str) -> bytes:
    """Return a blob's bytes. Raises: GitFailed."""
    loose = git.read_loose(oid)
    return loose[1] if loose is not None and loose[0] == "blob" else git.must("cat-file", "blob", oid)


def read_blobs(git: PrivateGit, oids: list[str]) -> Iterator[bytes]:
    """Yield the bytes of many blobs in order, all held in memory at once. Raises: GitFailed."""
    said = git.must("cat-file", "--batch", stdin="".join(f"{oid}\n" for oid in oids).encode())
    at = 0
    for oid in oids:
        end = said.index(b"\n", at)
        head = said[at:end].split(b" ")
        if len(head) != 3 or head[1] != b"blob":
            raise GitFailed(f"the object {oid} cannot be read as a file")
        at = end + 1 + int(head[2]) + 1
        yield said[end + 1 : at - 1]


def drop_from_index(git: PrivateGit, paths: Iterable[str]) -> None:
    """Remove some files from the index."""
    order = b"".join(b"0 %s\t%s\0" % (git.zero.encode(), os.fsencode(path)) for path in paths)
    if order:
        git.must("update-index", "-z", "--index-info", stdin=order)


def tree_without_files(git: PrivateGit, tree: str, paths: Iterable[str]) -> str:
    """Return the id of `tree` without some files."""
    git.must("read-tree", tree)
    drop_from_index(git, paths)
    return git.must("write-tree").decode("ascii").strip()


def object_sizes(git: PrivateGit, oids: list[str]) -> list[int]:
    """Return the size of each object, -1 for a missing one."""
    if not oids:
        return []
    loose = [git.read_loose(oid) for oid in oids] if len(oids) <= _FEW else [None]
    if None not in loose:
        return [len(one[1]) for one in loose if one is not None]
    asked = git.must("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in oids).encode())
    rows = [line.split(b" ") for line in asked.splitlines()]
    return [int(row[2]) if len(row) == 3 else -1 for row in rows]


def _parse_change(head: str, path: str, binary: bool) -> TreeChange:
    old_mode, new_mode, old, new, _ = head.split(" ")
    gone, made = not new.strip("0") and new_mode == "000000", not old.strip("0") and old_mode == "000000"
    return TreeChange(
        path,
        "" if made else old_mode,
        "" if gone else new_mode,
        "" if made else old,
        "" if gone else new,
        binary=binary,
    )


def link_targets(git: PrivateGit, oids: Iterable[str]) -> dict[str, str]:
    """Return the targets of links by their blob ids. An impossibly long one is not read and is given as '/…'."""
    wanted = sorted(set(oids))
    found = {}
    for oid, size in zip(wanted, object_sizes(git, wanted), strict=True):
        found[oid] = os.fsdecode(read_blob(git, oid)) if 0 <= size <= _LONGEST_TARGET else "/" * (_LONGEST_TARGET + 1)
    return found


def _with_link_targets(git: PrivateGit, rows: list[TreeChange]) -> Iterator[TreeChange]:
    found = link_targets(git, (row.new_blob for row in rows if row.new_mode == LINK))
    for row in rows:
        yield replace(row, link_target=found[row.new_blob]) if row.new_mode == LINK else row
