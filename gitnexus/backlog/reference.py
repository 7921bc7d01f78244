"""Parses references to tasks: `T12`, `.:T12`, `my-api:T12`, and `*:T12` for every project."""

import re
from typing import NamedTuple

from gitnexus.base.errors import BadReference, Invalid
from gitnexus.base.text import one_line

# task-reference = [project-prefix ":"] task-id, as the cross-project spec has it; ASCII, and case counts.
_FORM = r"(?:(?P<project>[A-Za-z0-9_-]+|\.|\*):)?(?P<task>T[0-9]+)"
_REFERENCE = re.compile(_FORM, re.ASCII)
# In a text it is a word of its own: no part of a path, of another word or of a longer name.
_WORD = re.compile(rf"(?<![\w.:/*@-]){_FORM}(?![\w:/-]|\.\w)")
HERE, EVERYWHERE = ".", "*"


class TaskReference(NamedTuple):
    """A project (None for the current one) and the id of a task, as given."""

    project: str | None
    task: str

    def __str__(self) -> str:
        return self.task if self.project is None else f"{self.project}:{self.task}"

    @property
    def is_current(self) -> bool:
        """Return True if it refers to the current project without its name."""
        return self.project is None

    @property
    def is_everywhere(self) -> bool:
        """True for `*:T12`."""
        return self.project == EVERYWHERE


def parse_reference(text: str) -> TaskReference:
    """Return the reference in a text; `.:T12` is `T12`. Raises: BadReference."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        likely = re.sub(r"\s", "", text[:80]).replace(":t", ":T")
        likely = likely.upper() if re.fullmatch(r"t[0-9]+", likely) else likely
        meant = f"; did you mean {likely}?" if _REFERENCE.fullmatch(likely) else ""
        raise BadReference(
            f"'{one_line(text, 80)}' is not a reference to a task{meant}",
            hint="write T12, my-api:T12, .:T12 for this project or *:T12 for all",
            fix="git nexus query -h",
            context={"reference": text[:200]},
        )
    return _reference_of_match(found)


def find_references(text: str) -> list[TaskReference]:
    """Return the references in a text, in order."""
    return [_reference_of_match(found) for found in _WORD.finditer(text)]


def _reference_of_match(found: re.Match[str]) -> TaskReference:
    project = found["project"]
    return TaskReference(None if project == HERE else project, found["task"])


def parse_single_reference(text: str) -> TaskReference:
    """Return a reference to exactly one task. Raises: BadReference, Invalid for `*:T12`."""
    found = parse_reference(text)
    if found.is_everywhere:
        raise Invalid(f"{text} means the tasks of every project, one is wanted here", hint="name the project")
    return found
