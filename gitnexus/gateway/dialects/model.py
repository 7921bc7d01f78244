"""What a change says before it is held against any file: sections, one for a file, each with its hunks. Pure."""

from typing import Literal, NamedTuple

# As in a diff: a line that stays, goes, or comes.
LineKind = Literal[" ", "-", "+"]


class PatchHunk(NamedTuple):
    """Context, removed and added lines at one position of a file.

    `at` is the line where the hunk begins, 0 if the text does not say it or its line counts are wrong. `anchors` are
    lines that come before the position, outermost first; `at_end` means that the file ends with it. `old_open` and
    `new_open` mean that the last line has no newline, before and after. `row` is its line in the text.
    """

    lines: tuple[tuple[LineKind, str], ...]
    at: int = 0
    anchors: tuple[str, ...] = ()
    at_end: bool = False
    old_open: bool = False
    new_open: bool = False
    row: int = 0

    @property
    def old(self) -> list[str]:
        """The lines that have to be there."""
        return [text for kind, text in self.lines if kind != "+"]

    @property
    def new(self) -> list[str]:
        """The lines that are there afterwards."""
        return [text for kind, text in self.lines if kind != "-"]


class FileSection(NamedTuple):
    """The change of one file: `source` is the file before (empty for a new one), `target` after (empty if deleted).

    `content` replaces the whole file; it is None if hunks describe the change.
    """

    source: str
    target: str
    hunks: tuple[PatchHunk, ...] = ()
    content: str | None = None
    executable: bool = False
    row: int = 0
