"""The `*** Begin Patch` form of Codex and OpenCode: which files such a text touches; read to judge, never to apply.

Its readers forgive blanks before a headline and a here-document around the whole; so do we. A line that may be a
headline counts as one: a file too many costs a question, one that is missed would pass unseen.
"""

import re
from typing import Literal, NamedTuple

BEGIN = "*** Begin Patch"
_HEADLINE = re.compile(r"\s*\*\*\*\s*(Add File|Update File|Delete File|Move to)\s*:(.*)", re.IGNORECASE)
_KNOWN = re.compile(r"\s*\*\*\*\s*(?:Begin Patch|End Patch|End of File)\s*", re.IGNORECASE)
Touch = Literal["add", "update", "delete", "move"]
_WHAT: dict[str, Touch] = {"add file": "add", "update file": "update", "delete file": "delete", "move to": "move"}


class Touched(NamedTuple):
    """One file of such a text; `move` is the new name of the file before it."""

    path: str
    what: Touch


def touched(text: str) -> tuple[Touched, ...] | None:
    """Return the files that the text names, None for one that is not of this form."""
    found: list[Touched] = []
    begun = False
    for line in text.split("\n"):
        row = _HEADLINE.fullmatch(line.rstrip("\r"))
        if row is not None:
            path = row[2].strip()
            if not path or not begun:
                return None
            found.append(Touched(path, _WHAT[row[1].lower()]))
        elif line.lstrip().startswith("***"):
            if _KNOWN.fullmatch(line) is None:
                return None
            begun = begun or "begin" in line.lower()
    return tuple(found) if found else None
