"""Parses the `*** Begin Patch` form of changes, which models of OpenAI write for `apply_patch`. Pure."""

import re
from collections.abc import Sequence

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.gateway.dialects.model import FileSection, PatchHunk
from gitnexus.gateway.dialects.unified import hunk_body

BEGIN, END = "*** Begin Patch", "*** End Patch"
_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")
_MOVE, _LAST = "*** Move to: ", "*** End of File"


def parse_envelope(lines: Sequence[str], first: int = 1) -> list[FileSection]:
    """Return the sections between the two marks; `first` numbers the line of the first mark. Raises: Invalid."""
    rows = [line.rstrip() if line.startswith("***") else line for line in lines]
    if END not in rows:
        raise Invalid(f"the patch has no line {END!r}: it may be cut off")
    return _EnvelopeReader(rows[: rows.index(END)], first).sections()


class _EnvelopeReader:
    def __init__(self, lines: Sequence[str], first: int) -> None:
        self._lines, self._first, self._at = lines, first, 1

    def sections(self) -> list[FileSection]:
        found = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            named = _FILE.fullmatch(line)
            if named is None:
                if line.strip():
                    raise self._error(line, "names no file")
                self._at += 1
                continue
            row, path = self._at + self._first, named[2].strip()
            self._at += 1
            if named[1] == "Delete":
                found.append(FileSection(path, "", row=row))
            elif named[1] == "Add":
                found.append(FileSection("", path, content=self._read_added(), row=row))
            else:
                found.append(self._read_update(path, row))
        return found

    def _read_added(self) -> str:
        texts = []
        while self._at < len(self._lines) and not self._lines[self._at].startswith("*** "):
            line = self._lines[self._at]
            if not line.startswith("+"):
                if line.strip():
                    raise self._error(line, "begins without the + of a new file")
                texts.append("")
            else:
                texts.append(line[1:])
            self._at += 1
        while texts and not texts[-1]:
            texts.pop()
        return "".join(f"{text}\n" for text in texts)

    def _read_update(self, path: str, row: int) -> FileSection:
        target = path
        if self._at < len(self._lines) and self._lines[self._at].startswith(_MOVE):
            target = self._lines[self._at].removeprefix(_MOVE).strip()
            self._at += 1
        hunks = []
        while self._at < len(self._lines) and not _FILE.fullmatch(self._lines[self._at]):
            if not self._lines[self._at].strip():
                self._at += 1
                continue
            hunks.append(self._read_hunk())
        if not hunks and target == path:
            raise Invalid(f"line {row}: there is no change of {one_line(path, 80)}: there is no hunk")
        return FileSection(path, target, tuple(hunks), row=row)

    def _read_hunk(self) -> PatchHunk:
        row, anchors = self._at + self._first, []
        while self._at < len(self._lines) and self._lines[self._at].startswith("@@"):
            anchor = self._lines[self._at].strip("@").strip()
            anchors += [anchor] if anchor and not anchor.startswith("-") else []
            self._at += 1
        body = hunk_body(self._lines, self._at, None, ("*** ",))
        if body.bad or (body.end == self._at and not self._lines[self._at : self._at + 1]):
            raise self._error(
                self._lines[body.end] if body.bad else "", "in a hunk begins with neither a blank, + nor -"
            )
        self._at = body.end
        at_end = self._at < len(self._lines) and self._lines[self._at] == _LAST
        self._at += at_end
        if not any(kind != " " for kind, _ in body.lines):
            raise Invalid(f"line {row}: the hunk changes nothing")
        return PatchHunk(
            tuple(body.lines), 0, tuple(anchors), at_end, old_open=body.old_open, new_open=body.new_open, row=row
        )

    def _error(self, line: str, words: str) -> Invalid:
        return Invalid(f"line {self._at + self._first} of the patch, {one_line(line, 60)!r}, {words}")
