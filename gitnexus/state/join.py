"""Two commits of the state made one: what changed on which side, and each room's merger asked about its own files.

The other side is what was published, so where there is no better reason it keeps the place, and ours goes beside it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gitnexus.base.errors import Conflict
from gitnexus.base.text import one_line
from gitnexus.git import Objects, Repo, blob_id
from gitnexus.git.objects import Author, BlobId, Content
from gitnexus.git.treediff import bases, differences
from gitnexus.state.layout import CONFLICTS, FORMAT_FILE, IGNORE_FILE, OTHER_MARK, why_unsafe
from gitnexus.state.merge import Unmergeable, merged
from gitnexus.state.snapshot import Snapshot

# Lines that cross each other more often than this are joined on the first base there is.
_DEEPEST = 8


class Sides(NamedTuple):
    """The blob id of one file on three sides, None where it is not there."""

    base: str | None
    mine: str | None
    theirs: str | None


@dataclass(slots=True)
class Joined:
    """What a merger makes of its files: contents that differ from ours, what to say, what was not taken, and why."""

    files: dict[str, Content] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    held: dict[str, str] = field(default_factory=dict)
    beside: list[str] = field(default_factory=list)

    def add(self, other: "Joined") -> None:
        """Take over what another merger made."""
        self.files |= other.files
        self.said += other.said
        self.held |= other.held
        self.beside += other.beside


class Meeting:
    """What mergers see of two clones that meet."""

    def __init__(
        self, base: Snapshot, mine: Snapshot, theirs: Snapshot, rows: Mapping[str, Sides], object_format: str
    ) -> None:
        self.base, self.mine, self.theirs = base, mine, theirs
        self.rows = rows
        self.object_format = object_format
        # Tasks of ours that got another number: whoever refers to them follows.
        self.renumbered: Mapping[str, str] = {}

    def blob(self, oid: str | None) -> bytes | None:
        """Return the bytes of a side of a row."""
        return None if oid is None else self.mine.blob(oid)

    def contents(self, path: str) -> tuple[bytes | None, bytes | None, bytes | None]:
        """Return the bytes of a file on all three sides."""
        base, mine, theirs = self.rows[path]
        return self.blob(base), self.blob(mine), self.blob(theirs)

    def keep_beside(self, path: str, data: bytes, joined: Joined, why: str) -> None:
        """Keep a version that found no place under a name beside it, which the doctor lists."""
        place = path if "/" in path else f"{CONFLICTS}/{path}"
        aside = f"{place}{OTHER_MARK}{blob_id(data, self.object_format)[:7]}"
        if self.mine.read(aside) != data:
            joined.files[aside] = data
        joined.beside.append(aside)
        joined.said.append(f"{path}: {why}; the other version is {aside}")


# What one room makes of its files that differ somewhere.
Merger = Callable[[Meeting, Sequence[str]], Joined]
# Rows of a table: whether a path is the room's, and its merger. The first that fits has it.
Mergers = Sequence[tuple[Callable[[str], bool], Merger]]


def join(
    repo: Repo,
    objects: Objects,
    sides: tuple[list[str], str, str],
    mergers: Mergers,
    author: Author,
    *,
    adopt: bool = False,
) -> Joined:
    """Return what ours becomes when theirs is taken in; `sides` are what both have in common, ours and theirs.

    Raises: Conflict where they have nothing in common. `adopt` joins those too: theirs is the project, and what is ours
    comes into it.
    """
    shared, mine, theirs = sides
    if not shared and not adopt:
        raise Conflict(
            "the two states have nothing in common: they began apart",
            hint="git nexus sync --adopt makes theirs the project and brings yours into it",
        )
    base = _base(repo, objects, shared, mergers, author, 0)
    return _joined(repo, objects, base, mine, theirs, mergers)


def _base(repo: Repo, objects: Objects, found: list[str], mergers: Mergers, author: Author, depth: int) -> str | None:
    """Return the commit to compare with: of several the join, written as an object that no ref names."""
    if len(found) < 2 or depth >= _DEEPEST:
        return found[0] if found else None
    first = found[0]
    for other in found[1:]:
        below = _base(repo, objects, bases(repo, first, other), mergers, author, depth + 1)
        made = _joined(repo, objects, below, first, other, mergers)
        first, _ = objects.write_commit(parents=[first, other], changes=made.files, message="base\n", author=author)
    return first


def _joined(repo: Repo, objects: Objects, base: str | None, mine: str | None, theirs: str, mergers: Mergers) -> Joined:
    snapshots = [Snapshot(objects, one) for one in (base, mine, theirs)]
    done = Joined()
    rows = _rows(repo, snapshots, done)
    meeting = Meeting(snapshots[0], snapshots[1], snapshots[2], rows, repo.object_format)
    left = list(rows)
    for wants, merger in mergers:
        paths = [path for path in left if wants(path)]
        left = [path for path in left if not wants(path)]
        if paths:
            done.add(merger(meeting, paths))
    done.add(plain(meeting, left))
    _refuse_obstructed(snapshots[1], done)
    return done


def _rows(repo: Repo, snapshots: Sequence[Snapshot], done: Joined) -> dict[str, Sides]:
    base, mine, theirs = snapshots
    ours = differences(repo, base.tree, mine.tree)
    others = differences(repo, base.tree, theirs.tree)
    rows = {}
    for path in sorted(ours.keys() | others.keys()):
        other = others.get(path)
        unsafe = why_unsafe(path)
        if other is not None and (other.odd or unsafe):
            done.held[one_line(path, 80)] = unsafe or "it is a link or a submodule"
            continue
        if unsafe:
            continue
        own = ours.get(path)
        before = own.before if own else other.before if other else None
        row = Sides(before, own.after if own else before, other.after if other else before)
        if row.mine != row.theirs:
            rows[path] = row
    return rows


def plain(meeting: Meeting, paths: Sequence[str]) -> Joined:
    """Merge files of no special kind: JSON by structure, text by lines, both versions kept where that fails."""
    done = Joined()
    for path in paths:
        settle_one(meeting, path, done)
    return done


def settle_one(meeting: Meeting, path: str, done: Joined) -> None:
    """Merge one file of no special kind."""
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
            done.files[path] = merged(path, base, mine, theirs)
        except Unmergeable as exc:
            done.files[path] = theirs
            meeting.keep_beside(path, mine, done, str(exc))


def _refuse_obstructed(mine: Snapshot, done: Joined) -> None:
    going = {path for path, data in done.files.items() if data is None}
    for path, data in list(done.files.items()):
        if data is not None and mine.oid(path) is None and mine.obstructs(path, going):
            del done.files[path]
            done.held[path] = "a folder is where this is a file, or the other way round"
