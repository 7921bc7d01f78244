"""Selects what a request takes from the conversation: references for a pack and a few lines, no transcript. Pure.

The context is bounded: it has the same size after one request or after a thousand.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from gitnexus.backlog.reference import find_references
from gitnexus.base.text import one_line

MOST_REFS = 12
MOST_BEFORE = 3
_LINE = 160
_FILE = re.compile(r"(?<!\S)@([^\s@][^\s]*)")


class EarlierRequest(NamedTuple):
    """An earlier request of this conversation, its run, and the result."""

    text: str
    run: str = ""
    status: str = ""
    artifacts: tuple[str, ...] = ()


def references_in_text(text: str, own: Collection[str]) -> tuple[str, ...]:
    """Return the references in a request: @files, and tasks of this project, whose names are `own`."""
    found = [f"file:{path.rstrip('.,;:!?)')}" for path in _FILE.findall(text)]
    found += [f"task:{row.task}" for row in find_references(text) if row.is_current or row.project in own]
    return tuple(dict.fromkeys(found))[:MOST_REFS]


def references_to_last_run(asked: Sequence[EarlierRequest]) -> tuple[str, ...]:
    """Return references to the artifacts of the conversation's last run that has a result."""
    for one in reversed(asked[-MOST_BEFORE:]):
        if one.run and one.artifacts:
            return tuple(f"artifact:{one.run}/{name}" for name in one.artifacts[-4:])
    return ()


def prompt_with_context(text: str, asked: Sequence[EarlierRequest]) -> str:
    """Return the prompt of a request, with one line about each of the latest earlier ones."""
    lines = [f"> Before this: {_describe_request(one)}" for one in asked[-MOST_BEFORE:]]
    return "\n".join([text, "", *lines]) if lines else text


def _describe_request(one: EarlierRequest) -> str:
    words = one_line(one.text.strip().split("\n")[0], _LINE)
    return f"{words} ({one.run}, {one.status})" if one.run else words
