"""Splits a note into front matter fields, each with its lines, and sections; merges appended sections. Pure."""

import re
from dataclasses import dataclass

from gitnexus.memory.count import split_front_matter, with_rev, without_rev
from gitnexus.state.merge import Unmergeable

_HEADING = re.compile(rb"^## .*$", re.MULTILINE)
_NAME = re.compile(rb"[A-Za-z_][\w.-]*(?=[ \t]*:)")
_FLOW = re.compile(rb"[^:\n]+:[ \t]*\[([^\[\]{}\"'\n]*)\][ \t]*\r?\n?")
_BLOCK = re.compile(rb"[^:\n]+:[ \t]*\r?\n((?:[ \t]*- [^\n]*\n?)+)")


@dataclass(frozen=True, slots=True)
class NoteParts:
    """The front matter fields as written, by name, and the text below them."""

    fields: dict[bytes, bytes]
    text: bytes

    def note(self, rev: int) -> bytes:
        """Return the note, with its count."""
        front = b"".join(self.fields.values())
        return with_rev((b"---\n" + front + b"---\n" if front else b"") + self.text, rev)

    def sections(self) -> dict[bytes, bytes]:
        """Return the sections by heading; the text before the first heading has an empty one.

        Raises: Unmergeable for a heading that occurs twice.
        """
        found: dict[bytes, bytes] = {}
        at, heading = 0, b""
        for match in [*_HEADING.finditer(self.text), None]:
            body = self.text[at : match.start() if match else len(self.text)].strip(b"\n")
            if heading in found:
                raise Unmergeable("a heading occurs twice")
            found[heading] = body
            if match:
                at, heading = match.end(), match.group().rstrip()
        return found


def parse_note_parts(raw: bytes) -> NoteParts:
    """Return a note in parts, without its count. Raises: Unmergeable for a field that occurs twice."""
    front, text = split_front_matter(without_rev(raw))
    fields: dict[bytes, bytes] = {}
    name = b""
    for line in front.splitlines(keepends=True):
        found = _NAME.match(line)
        if found:
            name = found.group()
            if name in fields:
                raise Unmergeable("a field of the front matter occurs twice")
        fields[name] = fields.get(name, b"") + line
    return NoteParts(fields, text)


def parse_list_field(field: bytes | None) -> list[bytes] | None:
    """Return the items of a field that is a plain list, None for any other."""
    if field is None:
        return None
    if flow := _FLOW.fullmatch(field):
        return [item.strip() for item in flow[1].split(b",") if item.strip()]
    if block := _BLOCK.fullmatch(field):
        return [line.strip()[2:].strip() for line in block[1].splitlines()]
    return None


def with_list_items(field: bytes, items: list[bytes]) -> bytes:
    """Return a list field with other items, in the same notation."""
    name = field.partition(b":")[0]
    if _FLOW.fullmatch(field):
        return name + b": [" + b", ".join(items) + b"]\n"
    return name + b":\n" + b"".join(b"  - " + item + b"\n" for item in items) if items else name + b": []\n"


def merge_appended_sections(before: bytes, one: bytes | None, other: bytes | None) -> bytes | None:
    """Return a section to which both sides only added text, with both additions; None if a side did more than that."""
    if one is None or other is None or not one.startswith(before) or not other.startswith(before):
        return None
    rows: dict[bytes, tuple[bytes, int, bytes]] = {}
    for side in (one, other):
        top, at = b"", 0
        for part in side[len(before) :].strip(b"\n").split(b"\n\n"):
            # Each side keeps its own order; the order between the two is the same in every clone.
            top, at = (part, 0) if part > top else (top, at + 1)
            rows[part] = min(rows.get(part, (top, at, part)), (top, at, part))
    return b"\n\n".join([*([before] if before else []), *sorted(rows, key=lambda part: rows[part])])
