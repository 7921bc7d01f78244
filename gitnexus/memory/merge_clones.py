"""Merges the notes of two clones: front matter field by field, text section by section.

Where both changed the same field, the note with the higher count wins. Where both changed the same section, the note
with the higher count keeps the path and the other is stored beside it: no text is dropped.
"""

from collections.abc import Sequence
from typing import NamedTuple

from gitnexus.memory.count import rev_of_note
from gitnexus.memory.note_sections import (
    NoteParts,
    merge_appended_sections,
    parse_list_field,
    parse_note_parts,
    with_list_items,
)
from gitnexus.state.join import MergeContext, MergedFiles, merge_plain_file
from gitnexus.state.merge import Unmergeable, merge_file

_FOLDER = "memory/"


class MergedNote(NamedTuple):
    """The merge of two versions; `beside` is a version whose text did not all fit into it, with the reason."""

    text: bytes
    beside: bytes | None = None
    why: str = ""


def merge_note_files(meeting: MergeContext, paths: Sequence[str]) -> MergedFiles:
    """Return the merged files. Rules and context are plain text without a count."""
    done = MergedFiles()
    for path in paths:
        base, mine, theirs = meeting.contents(path) if path.endswith(".md") else (None, None, None)
        if mine is None or theirs is None or base in (mine, theirs):
            merge_plain_file(meeting, path, done)
            continue
        try:
            found = merge_note_versions(path, base or b"", mine, theirs)
        except Unmergeable:
            merge_plain_file(meeting, path, done)
            continue
        if found.beside is not None and not path.startswith(_FOLDER):
            merge_plain_file(meeting, path, done)
            continue
        done.files[path] = found.text
        if found.beside is not None:
            meeting.keep_beside(path, found.beside, done, found.why)
    return done


def merge_note_versions(path: str, base: bytes, mine: bytes, theirs: bytes) -> MergedNote:
    """Return a note with both sides' changes; the order of the sides does not matter. Raises: Unmergeable."""
    was, own, other = (parse_note_parts(side) for side in (base, mine, theirs))
    ahead = (rev_of_note(mine), mine) > (rev_of_note(theirs), theirs)
    fields = {}
    for name in {**was.fields, **_sorted_names(own.fields, other.fields)}:
        value = _merge_field(was.fields.get(name), own.fields.get(name), other.fields.get(name), ahead)
        if value:
            fields[name] = value
    clashes: list[str] = []
    try:
        text = merge_file(path, was.text, own.text, other.text)
    except Unmergeable:
        text, clashes = _merge_sections(was, own, other, ahead)
    note = NoteParts(fields, text).note(max(rev_of_note(mine), rev_of_note(theirs)))
    if not clashes:
        return MergedNote(note)
    named = ", ".join(clashes)
    return MergedNote(note, theirs if ahead else mine, f"both sides changed {named}")


def _sorted_names(*sides: dict[bytes, bytes]) -> dict[bytes, bytes]:
    return dict(sorted({name: b"" for side in sides for name in side}.items()))


def _merge_field(was: bytes | None, own: bytes | None, other: bytes | None, ahead: bool) -> bytes | None:
    if other in (own, was):
        return own
    if own == was:
        return other
    first, second = (own, other) if ahead else (other, own)
    one, two = parse_list_field(first), parse_list_field(second)
    if first is None or one is None or two is None:
        return first
    had = parse_list_field(was) or []
    more = sorted({*one, *two} - {*had})
    return with_list_items(first, [*(item for item in had if item in one and item in two), *more])


def _merge_sections(was: NoteParts, own: NoteParts, other: NoteParts, ahead: bool) -> tuple[bytes, list[str]]:
    """Return the merged text, and the sections of which only one side's text could be kept."""
    sides = [side.sections() for side in (was, own, other)]
    out, clashes = [], []
    for heading in {**sides[0], **_sorted_names(sides[1], sides[2])}:
        before, mine, theirs = (side.get(heading) for side in sides)
        text = mine if theirs in (mine, before) else theirs
        if mine != before and text is theirs and theirs != before:
            text = merge_appended_sections(before or b"", mine, theirs)
            if text is None:
                text = mine if ahead else theirs
                clashes.append(heading.decode("utf-8", "replace").lstrip("# ") or "the beginning")
        if text:
            out.append(heading + b"\n\n" + text if heading else text)
        elif heading and text is not None:
            out.append(heading)
    return b"\n\n".join(out) + b"\n", clashes
