"""Names of runs: short, readable, sorted by time, and made by us alone."""

import re
from collections.abc import Collection, Iterable
from datetime import datetime

from gitnexus.base.chance import token
from gitnexus.base.errors import Failed, NotFound

BRANCHES = "refs/heads/nexus/"
# No vowels that make words, no letters that look like digits.
_LETTERS = "0123456789bcdfghjkmnpqrstvwxyz"
FORM = re.compile(rf"[0-9]{{6}}-[0-9]{{4}}-[{_LETTERS}]{{4}}")


def mint(now: datetime, taken: Collection[str] = ()) -> str:
    """Return a new id such as 261116-1503-k7fb; ids sort by time. Raises: Failed."""
    for _ in range(100):
        found = f"{now:%y%m%d-%H%M}-{_tail(now)}"
        if found not in taken:
            return found
    raise Failed("no free name for a run was found")


def is_id(text: str) -> bool:
    """True for what `mint` makes."""
    return FORM.fullmatch(text) is not None


def branch_of(run: str) -> str:
    """Return the ref of a run's branch."""
    return f"{BRANCHES}{run}"


def meant(word: str, runs: Iterable[str]) -> str:
    """Return the run that a word means: its id, the beginning or the end of it, or its branch.

    Raises: NotFound, Failed where several are meant.
    """
    named = word.removeprefix("refs/heads/").removeprefix("nexus/")
    known = sorted(set(runs))
    if named in known:
        return named
    found = [run for run in known if named and (run.startswith(named) or run.endswith(f"-{named}"))]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[-5:])
        raise Failed(f"{named} may mean {len(found)} runs: {shown}", hint="say more of its name")
    raise NotFound(f"there is no run {word[:60]!r}", hint="git nexus runs lists them", fix="git nexus runs --all")


def _tail(now: datetime) -> str:
    """Return two letters of 30 for where in the minute, so that names sort by time, and two by chance."""
    slot = (now.second * 1_000_000 + now.microsecond) * 900 // 60_000_000
    number = slot * 900 + int(token(12), 16) % 900
    return "".join(_LETTERS[number // 30**at % 30] for at in (3, 2, 1, 0))
