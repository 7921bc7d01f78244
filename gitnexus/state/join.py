"""Merges two commits of the state ref into one tree. Each room's merge function decides about the files it owns.

The other side is already published, so without a better reason its file keeps the path and ours is stored beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gitnexus.base.errors import Conflict
from gitnexus.base.text import one_line
from gitnexus.git import Objects, Repo, blob_id
from gitnexus.git.ancestry import changed_files_between, merge_bases
from gitnexus.git.objects import Author, BlobId, Content
from gitnexus.state.layout import CONFLICTS, FORMAT_FILE, IGNORE_FILE, OTHER_MARK, why_path_unsafe
from gitnexus.state.merge import Unmergeable, merge_file
from gitnexus.state.snapshot import Snapshot

# Lines that cross each other more often than this are joined on the first base there is.
_DEEPEST = 8


class FileSides(NamedTuple):
    """The blob ids of one file in base, ours and theirs, None if absent."""

    base: str | None
    mine: str | None
    theirs: str | None


@dataclass(slots=True)
class MergedFiles:
    """The result of a merge function: contents that differ from ours, messages, and rejected files with the reason."""

    files: dict[str, Content] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)

    def add(self, other: "MergedFiles") -> None:
        """Add the result of another merge function."""
        self.files |= other.files
        self.said += other.said
        self.held |= other.held
        self.beside += other.beside


class MergeContext:
    """What merge functions can read of the two clones."""

    def __init__(
        self, base: Snapshot, mine: Snapshot, theirs: Snapshot, rows: Mapping[str, FileSides], object_format: str
    ) -> None:
        self.base, self.mine, self.theirs = base, mine, theirs
        self.rows = rows
        self.object_format = object_format
        # Tasks of ours that got another number: references to them are changed.
        self.renumbered: Mapping[str, str] = {}

    def blob(self, oid: str | None) -> bytes | None:
        """Return the bytes of one side of a file."""
        return None if oid is None else self.mine.blob(oid)

    def contents(self, path: str) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Return the bytes of a file on all three sides."""
        base, mine, theirs = self.rows[path]
        return self.blob(base), self.blob(mine), self.blob(theirs)

    def keep_beside(self, path: str, data: bytes, joined: MergedFiles, why: str) -> None:
        """Store a version that could not be merged under a name beside the file; `doctor` lists it."""
        place = path if "/" in path else f"{CONFLICTS}/{path}"
        aside = f"{place}{OTHER_MARK}{blob_id(data, self.object_format)[:7]}"
        if self.mine.read(aside) != data:
            joined.files[aside] = data
        joined.beside.append(aside)
        joined.said.append(f"{path}: {why}; the other version is {aside}")


# What one room makes of its files that differ somewhere.
Merger = Callable[[MergeContext, Sequence[str]], MergedFiles]
# Rows of a table: whether a path is the room's, and its merger. The first that fits has it.
Mergers = Sequence[tuple[Callable[[str], bool], Merger]]


def merge_state_commits(
    repo: Repo,
    objects: Objects,
    sides: tuple[list[str], str, str],
    mergers: Mergers,
    author: Author,
    *,
    adopt: bool = False,
) -> MergedFiles:
    """Return our state with theirs merged in; `sides` are the common ancestors, ours and theirs.

    Raises: Conflict if they have no common history. `adopt` merges even then: theirs is the project, and our files are
    added to it.
    """
    shared, mine, theirs = sides
    if not shared and not adopt:
        raise Conflict(
            "the two states have nothing in common: they were started separately",
            hint="git nexus sync --adopt makes theirs the project and brings yours into it",
        )
    base = _common_base(repo, objects, shared, mergers, author, 0)
    return _merge_commits(repo, objects, base, mine, theirs, mergers)


def _common_base(
    repo: Repo, objects: Objects, found: list[str], mergers: Mergers, author: Author, depth: int
) -> str | None:
    """Return the commit to compare with; several merge bases are merged into one that no ref points to."""
    if len(found) < 2 or depth >= _DEEPEST:
        return found[0] if found else None
    first = found[0]
    for other in found[1:]:
        below = _common_base(repo, objects, merge_bases(repo, first, other), mergers, author, depth + 1)
        made = _merge_commits(repo, objects, below, first, other, mergers)
        first, _ = objects.write_commit(parents=[first, other], changes=made.files, message="base\n", author=author)
    return first


def _merge_commits(
    repo: Repo, objects: Objects, base: str | None, mine: str | None, theirs: str, mergers: Mergers
) -> MergedFiles:
    snapshots = [Snapshot(objects, one) for one in (base, mine, theirs)]
    done = MergedFiles()
    rows = _differing_files(repo, snapshots, done)
    meeting = MergeContext(snapshots[0], snapshots[1], snapshots[2], rows, repo.object_format)
    left = list(rows)
    for wants, merger in mergers:
        paths = [path for path in left if wants(path)]
        left = [path for path in left if not wants(path)]
        if paths:
            done.add(merger(meeting, paths))
    done.add(merge_plain_files(meeting, left))
    _refuse_obstructed_files(snapshots[1], done)
    return done


def _differing_files(repo: Repo, snapshots: Sequence[Snapshot], done: MergedFiles) -> dict[str, FileSides]:
    base, mine, theirs = snapshots
    ours = changed_files_between(repo, base.tree, mine.tree)
    others = changed_files_between(repo, base.tree, theirs.tree)
    rows = {}
    for path in sorted(ours.keys() | others.keys()):
        other = others.get(path)
        unsafe = why_path_unsafe(path)
        if other is not None and (other.odd or unsafe):
            done.held[one_line(path, 80)] = unsafe or "it is a link or a submodule"
            continue
        if unsafe:
            continue
        own = ours.get(path)
        before = own.before if own else other.before if other else None
        row = FileSides(before, own.after if own else before, other.after if other else before)
        if row.mine != row.theirs:
            rows[path] = row
    return rows


def merge_plain_files(meeting: MergeContext, paths: Sequence[str]) -> MergedFiles:
    """Merge files without a special format: JSON by structure, text by lines; both versions are kept on a conflict."""
    done = MergedFiles()
    for path in paths:
        merge_plain_file(meeting, path, done)
    return done


def merge_plain_file(meeting: MergeContext, path: str, done: MergedFiles) -> None:
    """Merge one file without a special format."""
    row = meeting.rows[path]
    if row.theirs == row.base:
        return  # only ours changed
    if row.mine == row.base or path in (FORMAT_FILE, IGNORE_FILE):
        done.files[path] = BlobId(row.theirs) if row.theirs else None
        return
    base, mine, theirs = meeting.contents(path)
    if mine is None:
        if theirs is not None:
            meeting.keep_beside(path, theirs, done, "it was deleted here and changed there")
    elif theirs is None:
        done.files[path] = None
        meeting.keep_beside(path, mine, done, "it was deleted there and changed here")
    else:
        try:
            done.files[path] = merge_file(path, base, mine, theirs)
        except Unmergeable as exc:
            done.files[path] = theirs
            meeting.keep_beside(path, mine, done, str(exc))


def _refuse_obstructed_files(mine: Snapshot, done: MergedFiles) -> None:
    going = {path for path, data in done.files.items() if data is None}
    for path, data in list(done.files.items()):
        if data is not None and mine.oid(path) is None and mine.obstructs(path, going):
            del done.files[path]
            done.held[path] = "a folder is where this is a file, or the other way round"
