"""Merges the backlogs of two clones: every task of both is kept, whatever its number.

A task is identified by its `uid`. A task that the other side published keeps its number; ours takes their number where
they have the same task under another, and the next free one where its number means another task there. All references
on our side are updated.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from gitnexus.backlog.fieldmerge import first_claim, merge_task_fields
from gitnexus.backlog.model import BacklogTask, id_sort_key, number_of_id
from gitnexus.backlog.renumber import Record, compute_new_ids, record_identity, with_new_ids
from gitnexus.backlog.store import FOLDER, parse_task_row, task_id_at, task_path
from gitnexus.backlog.tasks import Row
from gitnexus.backlog.tombstone import Tombstone
from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.git.objects import BlobId
from gitnexus.state.join import MergeContext, MergedFiles

# Inside a text every quote has a backslash before it, so this is a key and its value.
_LOST = b'"lost":true'
_UID = re.compile(rb'"uid":"([^"\\]+)"')


class _Side:
    """The records of one side that differ from another side."""

    def __init__(self, rows: Mapping[str, Row], base: "_Side | None") -> None:
        self.rows = rows
        self.names = {
            one: self._identity_of_row(one, row, base) for one, row in rows.items() if not isinstance(row, Invalid)
        }
        self.by_name = {name: rows[one] for one, name in reversed(self.names.items())}

    def _identity_of_row(self, task_id: str, row: Row, base: "_Side | None") -> str:
        # A tombstone of a record without a uid means the one that was there.
        return record_identity(row) or (base.names.get(task_id) if base else None) or f"{task_id} deleted"

    def record(self, name: str) -> Record | None:
        found = self.by_name.get(name)
        return found if isinstance(found, BacklogTask | Tombstone) else None


def merge_backlogs(meeting: MergeContext, paths: Sequence[str], now: datetime) -> MergedFiles:
    """Return the changed files of our backlog. `paths` are its files that differ."""
    done = MergedFiles()
    every = [found for path in paths if (found := task_id_at(path)) is not None]
    ours, others, ids = _split_by_changed_side(meeting, _take_back_lost_records(meeting, every, done), done)
    base, mine, theirs = _read_three_sides(meeting, ids)
    ids_now = compute_new_ids(mine.names, theirs.names, 0)
    if ids_now:
        ids_now = compute_new_ids(mine.names, theirs.names, _highest_number(meeting))
    meeting.renumbered = ids_now
    for task_id in ids:
        _take_their_record(meeting, task_id, mine, theirs, ids_now, done)
    for task_id, own in mine.rows.items():
        if isinstance(own, Invalid):
            _replace_unreadable_record(meeting, task_id, done)
        elif not isinstance(theirs.rows.get(task_id), Invalid):
            _merge_own_record(meeting, own, (base, mine, theirs), ids_now, now, done)
    if ids_now:
        _renumber_own_records(meeting, ours, ids_now, done)
    done.files |= {task_path(one): BlobId(meeting.rows[task_path(one)].theirs or "") for one in others}
    for old, new in sorted(ids_now.items(), key=lambda pair: id_sort_key(pair[0])):
        title = getattr(mine.rows[old], "title", "")
        done.said.append(f"your {old} is {new} now ({one_line(title, 60)}): the number was taken there")
    return done


def _take_back_lost_records(meeting: MergeContext, ids: Sequence[str], done: MergedFiles) -> list[str]:
    """Take the record of a task that the other side lost by damage, wherever it is; return the other ids."""
    rows = {one: meeting.rows[task_path(one)] for one in ids}
    both = [one for one, row in rows.items() if row.mine and row.theirs]
    blobs = meeting.mine.blobs([oid for one in both for oid in (rows[one].mine or "", rows[one].theirs or "")])
    taken = set()
    for task_id in both:
        mine, theirs = next(blobs), next(blobs)
        if _is_lost(mine, task_id) != _is_lost(theirs, task_id):
            taken.add(task_id)
            if _is_lost(mine, task_id):
                done.files[task_path(task_id)] = BlobId(rows[task_id].theirs or "")
                done.said.append(f"{task_id} is back: it was lost here by damage")
    return [one for one in ids if one not in taken]


def _is_lost(raw: bytes, task_id: str) -> bool:
    row = parse_task_row(raw, task_id) if _LOST in raw else None
    return isinstance(row, Tombstone) and row.lost is True


def _split_by_changed_side(
    meeting: MergeContext, ids: Sequence[str], done: MergedFiles
) -> tuple[list[str], list[str], list[str]]:
    """Return the tasks that only we changed, those that only they changed, and the rest; most are in the first two.

    Such a task has the same `uid` on all sides, which is found without parsing the whole record.
    """
    alone: dict[str, tuple[str, str]] = {}
    for task_id in ids:
        base, mine, theirs = meeting.rows[task_path(task_id)]
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
        elif meeting.rows[task_path(task_id)].theirs == alone[task_id][0]:
            ours.append(task_id)
        elif isinstance(row := parse_task_row(raw[1], task_id), Invalid):
            done.held[task_path(task_id)] = row.message
        else:
            others.append(task_id)
    return ours, others, rest


def _same_uid(before: bytes, after: bytes) -> bool:
    found = _UID.findall(before)
    return len(found) == 1 and found == _UID.findall(after)


def _renumber_own_records(
    meeting: MergeContext, ours: Sequence[str], ids: Mapping[str, str], done: MergedFiles
) -> None:
    """Update the numbers of other tasks in the records that only we changed."""
    for task_id in ours:
        own = parse_task_row(meeting.blob(meeting.rows[task_path(task_id)].mine) or b"", task_id)
        if not isinstance(own, Invalid) and (after := with_new_ids(own, ids)) != own:
            done.files[task_path(task_id)] = after.to_bytes()


def _take_their_record(
    meeting: MergeContext, task_id: str, mine: _Side, theirs: _Side, ids: Mapping[str, str], done: MergedFiles
) -> None:
    """Store their record under its number if ours no longer uses it."""
    path, other = task_path(task_id), theirs.rows.get(task_id)
    row = meeting.rows[path]
    if isinstance(other, Invalid):
        if row.theirs != row.base:
            done.held[path] = other.message
    elif other is not None and (task_id not in mine.rows or task_id in ids):
        done.files[path] = BlobId(row.theirs or row.base or "")
    elif other is None and task_id in ids:
        done.files[path] = None  # its number moved, and nothing of theirs takes the place


def _replace_unreadable_record(meeting: MergeContext, task_id: str, done: MergedFiles) -> None:
    path = task_path(task_id)
    row = meeting.rows[path]
    if row.theirs is not None and row.theirs != row.base and path not in done.held:
        done.files[path] = BlobId(row.theirs)
        if row.mine != row.base:
            meeting.keep_beside(path, meeting.blob(row.mine) or b"", done, "ours cannot be read")


def _merge_own_record(
    meeting: MergeContext,
    own: Record,
    sides: tuple[_Side, _Side, _Side],
    ids: Mapping[str, str],
    now: datetime,
    done: MergedFiles,
) -> None:
    """Merge one of our records with theirs of the same task."""
    base, mine, theirs = sides
    row = meeting.rows[task_path(own.id)]
    name = mine.names[own.id]
    other, before = theirs.record(name), base.record(name)
    if row.mine == row.base and other is not None:
        if own.id not in ids and row.theirs is not None:
            done.files[task_path(own.id)] = BlobId(row.theirs)
        return  # only they changed it
    if row.theirs == row.base and not ids:
        return  # only we changed it
    after = with_new_ids(own, ids)
    if other is not None and other != before:
        after = _merge_records(with_new_ids(before, ids) if before else None, after, other, now, done)
    if after != own:
        done.files[task_path(after.id)] = after.to_bytes()


def _merge_records(before: Record | None, own: Record, other: Record, now: datetime, done: MergedFiles) -> Record:
    """Return the merge of two records; a task that either side deleted stays deleted."""
    graves = [one for one in (own, other) if isinstance(one, Tombstone)]
    if graves:
        changed = other if isinstance(own, Tombstone) else own
        if len(graves) == 1 and before is not None and changed != before:
            done.said.append(f"{other.id} was deleted on one side and changed on the other: it stays deleted")
        first = min(graves, key=lambda one: (one.deleted_at, one.to_bytes()))
        return first.changed(id=other.id, rev=max(own.rev, other.rev))
    was, mine, theirs = before.plain() if isinstance(before, BacklogTask) else {}, own.plain(), other.plain()
    _report_lost_claim(was.get("claim"), mine.get("claim"), theirs.get("claim"), other.id, now, done)
    plain = merge_task_fields(was, mine, theirs, now)
    aliases = [one for one in plain.get("aliases", []) if one != other.id]
    plain = {**plain, "id": other.id, **({"aliases": aliases} if aliases or "aliases" in plain else {})}
    return BacklogTask.from_value(plain, task_path(other.id))


def _report_lost_claim(
    base: object, mine: object, theirs: object, task_id: str, now: datetime, done: MergedFiles
) -> None:
    both = isinstance(mine, dict) and isinstance(theirs, dict) and base not in (mine, theirs)
    if not both or not isinstance(mine, dict) or not isinstance(theirs, dict):
        return
    if mine.get("token") != theirs.get("token") and first_claim(base, mine, theirs, now) == theirs:
        by = one_line(str(theirs.get("by", "somebody")), 60)
        done.said.append(f"{task_id} was claimed by {by} first: your claim does not count")


def _highest_number(meeting: MergeContext) -> int:
    names = [f"{FOLDER}/{name}" for side in (meeting.mine, meeting.theirs) for name in side.names(FOLDER)]
    return max((number_of_id(found) for path in names if (found := task_id_at(path)) is not None), default=0)


def _read_three_sides(meeting: MergeContext, ids: Sequence[str]) -> tuple[_Side, _Side, _Side]:
    """Return the records of some ids on all three sides; each blob is read once.

    A record that one side lacks and both once had counts as unchanged there: a deletion leaves a tombstone.
    """
    parsed: dict[tuple[str, str], Row] = {}
    wanted = sorted({(one, oid) for one in ids for oid in meeting.rows[task_path(one)] if oid})
    for (task_id, oid), raw in zip(wanted, meeting.mine.blobs([oid for _, oid in wanted]), strict=True):
        parsed[task_id, oid] = parse_task_row(raw, task_id)
    sides: list[dict[str, Row]] = [{}, {}, {}]
    for task_id in ids:
        for side, held in zip(sides, meeting.rows[task_path(task_id)], strict=True):
            if held is not None:
                side[task_id] = parsed[task_id, held]
    base = _Side(sides[0], None)
    return base, _Side(_with_missing_records(sides[1], base), base), _Side(_with_missing_records(sides[2], base), base)


def _with_missing_records(rows: dict[str, Row], base: _Side) -> dict[str, Row]:
    """Return the records of a side, plus those that it lacks and does not have under another number."""
    there = set(_Side(rows, base).names.values())
    lost = {one: row for one, row in base.rows.items() if one not in rows and base.names.get(one) not in there}
    return {**rows, **lost}
