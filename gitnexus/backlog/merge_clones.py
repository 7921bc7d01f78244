"""The backlogs of two clones that meet: every task of both stays, whatever number it has.

A task is known by its `uid`. What the other side published keeps its number; ours takes theirs where they know it under
another, and the next free one where its number means another task there. All that our side says about it follows.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from gitnexus.backlog.fieldmerge import first_claim, merged_fields
from gitnexus.backlog.model import BacklogTask, in_order, number_of
from gitnexus.backlog.renumber import Record, identity, moved, numbers
from gitnexus.backlog.store import FOLDER, id_at, path_of, row_of
from gitnexus.backlog.tasks import Row
from gitnexus.backlog.tombstone import Tombstone
from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.git.objects import BlobId
from gitnexus.state.join import Joined, Meeting

# Inside a text every quote has a backslash before it, so this is a key and its value.
_UID = re.compile(rb'"uid":"([^"\\]+)"')


class _Side:
    """The records of one side that differ somewhere."""

    def __init__(self, rows: Mapping[str, Row], base: "_Side | None") -> None:
        self.rows = rows
        self.names = {one: self._name(one, row, base) for one, row in rows.items() if not isinstance(row, Invalid)}
        self.by_name = {name: rows[one] for one, name in reversed(self.names.items())}

    def _name(self, task_id: str, row: Row, base: "_Side | None") -> str:
        # A tombstone of a record without a uid means the one that was there.
        return identity(row) or (base.names.get(task_id) if base else None) or f"{task_id} deleted"

    def record(self, name: str) -> Record | None:
        found = self.by_name.get(name)
        return found if isinstance(found, BacklogTask | Tombstone) else None


def met(meeting: Meeting, paths: Sequence[str], now: datetime) -> Joined:
    """Return what our backlog becomes. `paths` are its files that differ somewhere."""
    done = Joined()
    every = [found for path in paths if (found := id_at(path)) is not None]
    ours, others, ids = _apart(meeting, every, done)
    base, mine, theirs = _read(meeting, ids)
    ids_now = numbers(mine.names, theirs.names, 0)
    if ids_now:
        ids_now = numbers(mine.names, theirs.names, _top(meeting))
    meeting.renumbered = ids_now
    for task_id in ids:
        _their_place(meeting, task_id, mine, theirs, ids_now, done)
    for task_id, own in mine.rows.items():
        if isinstance(own, Invalid):
            _unreadable(meeting, task_id, done)
        elif not isinstance(theirs.rows.get(task_id), Invalid):
            _settle(meeting, own, (base, mine, theirs), ids_now, now, done)
    if ids_now:
        _follow(meeting, ours, ids_now, done)
    done.files |= {path_of(one): BlobId(meeting.rows[path_of(one)].theirs or "") for one in others}
    for old, new in sorted(ids_now.items(), key=lambda pair: in_order(pair[0])):
        title = getattr(mine.rows[old], "title", "")
        done.said.append(f"your {old} is {new} now ({one_line(title, 60)}): the number was taken there")
    return done


def _apart(meeting: Meeting, ids: Sequence[str], done: Joined) -> tuple[list[str], list[str], list[str]]:
    """Return the tasks that only we changed, those that only they did, and the rest: nearly all are of the first two.

    Such a task has one `uid` on all sides, which is found without reading the whole record.
    """
    alone: dict[str, tuple[str, str]] = {}
    for task_id in ids:
        base, mine, theirs = meeting.rows[path_of(task_id)]
        changed = mine if theirs == base else theirs if mine == base else None
        if base is not None and changed is not None:
            alone[task_id] = (base, changed)
    blobs = meeting.mine.blobs([oid for pair in alone.values() for oid in pair])
    raws = {task_id: (next(blobs), next(blobs)) for task_id in alone}
    ours, others, rest = [], [], []
    for task_id in ids:
        raw = raws.get(task_id)
        if raw is None or not _same_uid(*raw):
            rest.append(task_id)
        elif meeting.rows[path_of(task_id)].theirs == alone[task_id][0]:
            ours.append(task_id)
        elif isinstance(row := row_of(raw[1], task_id), Invalid):
            done.held[path_of(task_id)] = row.message
        else:
            others.append(task_id)
    return ours, others, rest


def _same_uid(before: bytes, after: bytes) -> bool:
    found = _UID.findall(before)
    return len(found) == 1 and found == _UID.findall(after)


def _follow(meeting: Meeting, ours: Sequence[str], ids: Mapping[str, str], done: Joined) -> None:
    """Let the records that only we changed speak of tasks by their numbers of now."""
    for task_id in ours:
        own = row_of(meeting.blob(meeting.rows[path_of(task_id)].mine) or b"", task_id)
        if not isinstance(own, Invalid) and (after := moved(own, ids)) != own:
            done.files[path_of(task_id)] = after.to_bytes()


def _their_place(
    meeting: Meeting, task_id: str, mine: _Side, theirs: _Side, ids: Mapping[str, str], done: Joined
) -> None:
    """Put their record under its number where ours leaves it, or is not there."""
    path, other = path_of(task_id), theirs.rows.get(task_id)
    row = meeting.rows[path]
    if isinstance(other, Invalid):
        if row.theirs != row.base:
            done.held[path] = other.message
    elif other is not None and (task_id not in mine.rows or task_id in ids):
        done.files[path] = BlobId(row.theirs or row.base or "")
    elif other is None and task_id in ids:
        done.files[path] = None  # its number moved, and nothing of theirs takes the place


def _unreadable(meeting: Meeting, task_id: str, done: Joined) -> None:
    path = path_of(task_id)
    row = meeting.rows[path]
    if row.theirs is not None and row.theirs != row.base and path not in done.held:
        done.files[path] = BlobId(row.theirs)
        if row.mine != row.base:
            meeting.keep_beside(path, meeting.blob(row.mine) or b"", done, "ours cannot be read")


def _settle(
    meeting: Meeting,
    own: Record,
    sides: tuple[_Side, _Side, _Side],
    ids: Mapping[str, str],
    now: datetime,
    done: Joined,
) -> None:
    """Bring one of our records together with theirs of the same task."""
    base, mine, theirs = sides
    row = meeting.rows[path_of(own.id)]
    name = mine.names[own.id]
    other, before = theirs.record(name), base.record(name)
    if row.mine == row.base and other is not None:
        if own.id not in ids and row.theirs is not None:
            done.files[path_of(own.id)] = BlobId(row.theirs)
        return  # only they changed it
    if row.theirs == row.base and not ids:
        return  # only we changed it
    after = moved(own, ids)
    if other is not None and other != before:
        after = _together(moved(before, ids) if before else None, after, other, now, done)
    if after != own:
        done.files[path_of(after.id)] = after.to_bytes()


def _together(before: Record | None, own: Record, other: Record, now: datetime, done: Joined) -> Record:
    """Return one record of both; what was deleted on either side stays deleted."""
    graves = [one for one in (own, other) if isinstance(one, Tombstone)]
    if graves:
        changed = other if isinstance(own, Tombstone) else own
        if len(graves) == 1 and before is not None and changed != before:
            done.said.append(f"{other.id} was deleted on one side and changed on the other: it stays deleted")
        first = min(graves, key=lambda one: (one.deleted_at, one.to_bytes()))
        return first.changed(id=other.id, rev=max(own.rev, other.rev))
    was, mine, theirs = before.plain() if isinstance(before, BacklogTask) else {}, own.plain(), other.plain()
    _tell_of_claim(was.get("claim"), mine.get("claim"), theirs.get("claim"), other.id, now, done)
    plain = merged_fields(was, mine, theirs, now)
    aliases = [one for one in plain.get("aliases", []) if one != other.id]
    plain = {**plain, "id": other.id, **({"aliases": aliases} if aliases or "aliases" in plain else {})}
    return BacklogTask.from_value(plain, path_of(other.id))


def _tell_of_claim(base: object, mine: object, theirs: object, task_id: str, now: datetime, done: Joined) -> None:
    both = isinstance(mine, dict) and isinstance(theirs, dict) and base not in (mine, theirs)
    if not both or not isinstance(mine, dict) or not isinstance(theirs, dict):
        return
    if mine.get("token") != theirs.get("token") and first_claim(base, mine, theirs, now) == theirs:
        by = one_line(str(theirs.get("by", "somebody")), 60)
        done.said.append(f"{task_id} was claimed by {by} first: your claim does not count")


def _top(meeting: Meeting) -> int:
    names = [f"{FOLDER}/{name}" for side in (meeting.mine, meeting.theirs) for name in side.names(FOLDER)]
    return max((number_of(found) for path in names if (found := id_at(path)) is not None), default=0)


def _read(meeting: Meeting, ids: Sequence[str]) -> tuple[_Side, _Side, _Side]:
    """Return the records of ids on the three sides, each blob read once.

    A record that one side lacks and both once had counts as unchanged there: tasks go by leaving a tombstone.
    """
    parsed: dict[tuple[str, str], Row] = {}
    wanted = sorted({(one, oid) for one in ids for oid in meeting.rows[path_of(one)] if oid})
    for (task_id, oid), raw in zip(wanted, meeting.mine.blobs([oid for _, oid in wanted]), strict=True):
        parsed[task_id, oid] = row_of(raw, task_id)
    sides: list[dict[str, Row]] = [{}, {}, {}]
    for task_id in ids:
        for side, held in zip(sides, meeting.rows[path_of(task_id)], strict=True):
            if held is not None:
                side[task_id] = parsed[task_id, held]
    base = _Side(sides[0], None)
    return base, _Side(_whole(sides[1], base), base), _Side(_whole(sides[2], base), base)


def _whole(rows: dict[str, Row], base: _Side) -> dict[str, Row]:
    """Return the records of a side, with those that it lacks and that are under no other number there."""
    there = set(_Side(rows, base).names.values())
    lost = {one: row for one, row in base.rows.items() if one not in rows and base.names.get(one) not in there}
    return {**rows, **lost}
