"""What a request takes along from the conversation: references for a pack and a few lines, never the transcript. Pure.

Bounded context: a request after a thousand others is as long as the second one.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from gitnexus.base.text import one_line

MOST_REFS = 12
MOST_BEFORE = 3
_LINE = 160
_FILE = re.compile(r"(?<!\S)@([^\s@][^\s]*)")
_TASK = re.compile(r"(?<![\w:/])(?:([a-z0-9][a-z0-9_.-]*):)?(T\d{1,9})\b")


class Asked(NamedTuple):
    """An earlier request of this conversation, its run, and what came of it."""

    text: str
    run: str = ""
    status: str = ""
    artifacts: tuple[str, ...] = ()


def refs_in(text: str, own: Collection[str]) -> tuple[str, ...]:
    """Return the references in a request: @files, and tasks of this project, whose names are `own`."""
    found = [f"file:{path.rstrip('.,;:!?)')}" for path in _FILE.findall(text)]
    found += [f"task:{task}" for project, task in _TASK.findall(text) if not project or project in own]
    return tuple(dict.fromkeys(found))[:MOST_REFS]


def carried(asked: Sequence[Asked]) -> tuple[str, ...]:
    """Return references to what the last run of the conversation that came to something kept."""
    for one in reversed(asked[-MOST_BEFORE:]):
        if one.run and one.artifacts:
            return tuple(f"artifact:{one.run}/{name}" for name in one.artifacts[-4:])
    return ()


def request(text: str, asked: Sequence[Asked]) -> str:
    """Return the words of a request, with a line about each of the last ones before it."""
    lines = [f"> Before this: {_told(one)}" for one in asked[-MOST_BEFORE:]]
    return "\n".join([text, "", *lines]) if lines else text


def _told(one: Asked) -> str:
    words = one_line(one.text.strip().split("\n")[0], _LINE)
    return f"{words} ({one.run}, {one.status})" if one.run else words
