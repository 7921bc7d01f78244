"""How a task is named: `T12`, `.:T12`, `my-api:T12`, and `*:T12` where every project is meant."""

import re
from typing import NamedTuple

from gitnexus.base.errors import BadReference, Invalid
from gitnexus.base.text import one_line

# task-reference = [project-prefix ":"] task-id, as the cross-project spec has it; ASCII, and case counts.
_REFERENCE = re.compile(r"(?:(?P<project>[A-Za-z0-9_-]+|\.|\*):)?(?P<task>T[0-9]+)", re.ASCII)
HERE, EVERYWHERE = ".", "*"


class Reference(NamedTuple):
    """A project, None for the current one, and the id of a task as it was given."""

    project: str | None
    task: str

    def __str__(self) -> str:
        return self.task if self.project is None else f"{self.project}:{self.task}"

    @property
    def is_current(self) -> bool:
        """True if it names the current project without its name."""
        return self.project is None

    @property
    def is_everywhere(self) -> bool:
        """True for `*:T12`."""
        return self.project == EVERYWHERE


def parsed(text: str) -> Reference:
    """Return the reference in a text; `.:T12` is `T12`. Raises: BadReference."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        likely = re.sub(r"\s", "", text[:80]).replace(":t", ":T")
        likely = likely.upper() if re.fullmatch(r"t[0-9]+", likely) else likely
        meant = f"; did you mean {likely}?" if _REFERENCE.fullmatch(likely) else ""
        raise BadReference(
            f"'{one_line(text, 80)}' is no reference to a task{meant}",
            hint="write T12, my-api:T12, .:T12 for this project or *:T12 for all",
            fix="git nexus query -h",
            context={"reference": text[:200]},
        )
    project = found["project"]
    return Reference(None if project == HERE else project, found["task"])


def one(text: str) -> Reference:
    """Return a reference that means one task. Raises: BadReference, Invalid for `*:T12`."""
    found = parsed(text)
    if found.is_everywhere:
        raise Invalid(f"{text} means the tasks of every project, one is wanted here", hint="name the project")
    return found
