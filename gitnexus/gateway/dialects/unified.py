"""Parses unified diffs, also those with wrong numbers, bare `@@` lines or paths without a/ and b/. Pure."""

import re
from collections.abc import Sequence

from gitnexus.base.errors import Invalid
from gitnexus.base.text import one_line
from gitnexus.gateway.dialects.model import FileSection, LineKind, PatchHunk

_NUMBERS = re.compile(r"@@+ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@+(.*)")
_BARE = re.compile(r"@@+(.*?)(?:@@+)?\s*")
_WORDS = re.compile(r"[^\W\d_]")
_GIT = re.compile(r"diff --git (.+)")
_SKIPPED = ("index ", "similarity index ", "dissimilarity index ", "===", "Index: ", "new mode ")
_UNSUPPORTED = ("old mode ", "copy from ", "copy to ", "GIT binary patch", "Binary files ")
_FACT = re.compile(r"(new file mode|deleted file mode|rename from|rename to) (.+)")
_NONE = "/dev/null"
_ESCAPED = re.compile(rb"\\([0-7]{3}|.)")
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def parse_unified(lines: Sequence[str], first: int = 1) -> list[FileSection]:
    """Return the sections of a diff; `first` is the number of its first line in the whole text. Raises: Invalid."""
    return _DiffReader(lines, first).sections()


def begins_file(lines: Sequence[str], at: int) -> bool:
    """Return True if the lines that name a file begin here: a removed line `-- x` looks like one of them."""
    after = lines[at + 1] if at + 1 < len(lines) else ""
    if not (lines[at].startswith("--- ") and after.startswith("+++ ")):
        return False
    return at + 2 >= len(lines) or not lines[at + 2].strip() or lines[at + 2].startswith(("@@", "diff ", "--- "))


class _DiffReader:
    def __init__(self, lines: Sequence[str], first: int) -> None:
        self._lines, self._first, self._at = lines, first, 0
        self._found: list[FileSection] = []

    def sections(self) -> list[FileSection]:
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("diff --git ") or begins_file(self._lines, self._at):
                self._found.append(self._read_section())
            elif line.startswith("@@"):
                raise Invalid(f"line {self._row}: a hunk before any file is named", hint="write --- and +++ before it")
            else:
                self._at += 1  # words around a diff
        return self._found

    @property
    def _row(self) -> int:
        return self._at + self._first

    def _read_section(self) -> FileSection:
        row = self._row
        said = self._read_git_lines()
        source, target = said.get("from", ""), said.get("to", "")
        if self._at < len(self._lines) and begins_file(self._lines, self._at):
            source, target = paths_of_header(self._lines[self._at], self._lines[self._at + 1])
            self._at += 2
        hunks = self._read_hunks()
        source, target = "" if "new" in said else source, "" if "deleted" in said else target
        if not source and not target:
            raise Invalid(f"line {row}: the diff does not say which file it changes")
        if not hunks and source == target:
            raise Invalid(f"line {row}: there is no change of {one_line(target, 80)}: there is no hunk")
        return FileSection(source, target, tuple(hunks), executable=said.get("new", "").endswith("755"), row=row)

    def _read_git_lines(self) -> dict[str, str]:
        """Return what the lines of git above a file's hunks say: its paths, whether it is new or deleted."""
        found: dict[str, str] = {}
        if named := _GIT.fullmatch(self._lines[self._at]):
            found["from"], found["to"] = _paths_of_git_line(named[1])
            self._at += 1
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith(_UNSUPPORTED):
                words = "modes, copies and binary files need an exact diff of git"
                raise Invalid(f"line {self._row}: {one_line(line, 60)}: {words}")
            if fact := _FACT.fullmatch(line):
                word = fact[1].split()[-1] if fact[1].startswith("rename") else fact[1].split()[0]
                found[word] = unquoted_path(fact[2])
            elif not line.startswith(_SKIPPED):
                break
            self._at += 1
        return found

    def _read_hunks(self) -> list[PatchHunk]:
        found: list[PatchHunk] = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith("@@"):
                found.append(self._read_hunk())
            elif line.startswith("diff --git ") or begins_file(self._lines, self._at):
                break
            elif not line.strip() or (found and line[0] not in " +-"):
                self._at += 1  # words after a hunk whose lines are all there
            else:
                raise Invalid(f"line {self._row}: {one_line(line, 60)!r} is where a hunk should begin with @@")
        return found

    def _read_hunk(self) -> PatchHunk:
        row, header = self._row, self._lines[self._at]
        numbers = _NUMBERS.match(header)
        bare = None if numbers else _BARE.fullmatch(header)
        anchor = bare[1].strip() if bare and _WORDS.search(bare[1]) else ""
        counts = (
            int(numbers[2] or 1) if numbers and numbers[2] != "0" else 0,
            int(numbers[4] or 1) if numbers and numbers[4] != "0" else 0,
        )
        self._at += 1
        body = hunk_body(self._lines, self._at, counts if numbers else None)
        if body.bad:
            raise Invalid(
                f"line {self._first + body.end}: {one_line(self._lines[body.end], 60)!r} in a hunk begins "
                "with neither a blank, + nor -"
            )
        self._at = body.end
        if not any(kind != " " for kind, _ in body.lines):
            raise Invalid(f"line {row}: the hunk changes nothing")
        is_exact = numbers is not None and counts == (body.old, body.new)
        at = int(numbers[1]) if numbers and is_exact else 0
        return PatchHunk(
            tuple(body.lines), at, (anchor,) if anchor else (), old_open=body.old_open, new_open=body.new_open, row=row
        )


class HunkBody:
    """The lines of a hunk, and the index after it."""

    def __init__(self) -> None:
        self.lines: list[tuple[LineKind, str]] = []
        self.old = self.new = self.end = 0
        self.old_open = self.new_open = self.bad = False

    def add(self, kind: LineKind, text: str) -> None:
        """Append a line. Raises: Invalid after the mark that the file ends."""
        if (self.old_open and kind != "+") or (self.new_open and kind != "-"):
            raise Invalid("a hunk says in its middle that the file ends there")
        self.lines.append((kind, text))
        self.old += kind != "+"
        self.new += kind != "-"

    def drop_last(self) -> None:
        """Remove the last line."""
        kind, _ = self.lines.pop()
        self.old -= kind != "+"
        self.new -= kind != "-"


def hunk_body(lines: Sequence[str], at: int, counts: tuple[int, int] | None, stops: tuple[str, ...] = ()) -> HunkBody:
    """Return the lines of a hunk that begins at `at`. `counts` are what its header says; `stops` end it.

    Empty lines at its end are not part of it, unless that is what the counts say.
    """
    body = HunkBody()
    blanks = 0
    while at < len(lines):
        line = lines[at]
        is_whole = counts == (body.old, body.new)
        if line.startswith(("@@", "diff --git ", *stops)):
            break
        if begins_file(lines, at) and counts != (body.old + 1, body.new + 1):
            break
        if line[:1] == "\\":
            last = body.lines[-1][0] if body.lines else " "
            body.old_open |= last != "+"
            body.new_open |= last != "-"
        elif not line.strip("\r"):
            if is_whole and not _goes_on(lines, at):
                break
            body.add(" ", line)
            blanks += 1
            at += 1
            continue
        elif line[0] in " +-":
            body.add(line[0], line[1:])  # type: ignore[arg-type]
        else:
            body.bad = not is_whole
            break
        blanks = 0
        at += 1
    while blanks and counts != (body.old, body.new):
        body.drop_last()
        blanks -= 1
    body.end = at
    return body


def _goes_on(lines: Sequence[str], at: int) -> bool:
    """Return True if lines of the same hunk come after empty ones: then its header counts too few."""
    after = next((place for place in range(at, len(lines)) if lines[place].strip()), len(lines))
    return after < len(lines) and lines[after][0] in " +-" and not begins_file(lines, after)


def paths_of_header(old: str, new: str) -> tuple[str, str]:
    """Return the paths of the `---` and `+++` lines, without a/ and b/ if both have them; empty for /dev/null."""
    source, target = unquoted_path(old[4:]), unquoted_path(new[4:])
    pairs = (("a/", "b/"), ("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"))
    for first, second in pairs:
        if (source == _NONE or source.startswith(first)) and (target == _NONE or target.startswith(second)):
            source = source if source == _NONE else source[2:]
            target = target if target == _NONE else target[2:]
            break
    return "" if source == _NONE else source, "" if target == _NONE else target


def _paths_of_git_line(words: str) -> tuple[str, str]:
    """Return both paths of a `diff --git` line if they are the same one; other lines say them better."""
    half, rest = words[: len(words) // 2], words[len(words) // 2 + 1 :]
    if not words[len(words) // 2 :].startswith(" "):
        return "", ""
    source, target = paths_of_header(f"--- {half}", f"+++ {rest}")
    return (source, target) if source == target else ("", "")


def unquoted_path(words: str) -> str:
    """Return a path as a diff names it: without a time after a tab, and without git's quoting."""
    path = words.partition("\t")[0].strip()
    if len(path) > 1 and path[0] == path[-1] == '"':
        raw = path[1:-1].encode("utf-8", "surrogateescape")
        return _ESCAPED.sub(_unescape, raw).decode("utf-8", "surrogateescape")
    return path


def _unescape(found: re.Match[bytes]) -> bytes:
    code = found[1]
    return bytes([int(code, 8) & 0xFF]) if len(code) == 3 else _ESCAPES.get(code, code)
