"""The form of a task reference: `T12`, `my-api:T12`, `.:T12`, `*:T12`. Pure."""

import re
from dataclasses import dataclass

from gitnexus.base.errors import BadReference
from gitnexus.base.text import one_line

# task-reference = [project-prefix ":"] task-id, as the ABNF has it: ASCII only, no blanks, case matters.
_FORM = re.compile(r"(?:(?P<project>[A-Za-z0-9_-]+|\.|\*):)?(?P<task>T[0-9]+)")
_HELP = "git nexus query -h"


@dataclass(frozen=True, slots=True)
class Reference:
    """A project as it was written (None: nothing before the colon) and a task id, kept as found."""

    project: str | None
    task: str

    @property
    def is_current(self) -> bool:
        """True where the current project is meant."""
        return self.project in (None, ".")

    @property
    def is_everywhere(self) -> bool:
        """True where every project is meant."""
        return self.project == "*"

    def __str__(self) -> str:
        return self.task if self.project is None else f"{self.project}:{self.task}"


def parsed(text: str) -> Reference:
    """Return the reference in `text`. Raises: BadReference for anything else."""
    found = _FORM.fullmatch(text)
    if found is None:
        likely = re.sub(r"\s", "", text).replace(":t", ":T")
        likely = likely[:1].upper() + likely[1:] if re.fullmatch(r"t[0-9]+", likely) else likely
        meant = f"; did you mean {likely}?" if _FORM.fullmatch(likely) else ""
        raise BadReference(
            f"'{one_line(text, 80)}' is no reference to a task{meant}",
            hint="write T12, my-api:T12, .:T12 for this project or *:T12 for all",
            fix=_HELP,
            context={"reference": text},
        )
    return Reference(found["project"], found["task"])
