"""Creates, recognizes and resolves run ids: short, readable and sorted by time."""

import re
from collections.abc import Collection, Iterable
from datetime import datetime

from gitnexus.base.errors import Failed, NotFound
from gitnexus.base.randomness import random_hex

BRANCHES = "refs/heads/nexus/"
# No vowels that make words, no letters that look like digits.
_LETTERS = "0123456789bcdfghjkmnpqrstvwxyz"
# Four letters at the end in runs of older versions.
FORM = re.compile(rf"[0-9]{{6}}-[0-9]{{4}}-[{_LETTERS}]{{4}}(?:[{_LETTERS}]{{4}})?")


def new_run_id(now: datetime, taken: Collection[str] = ()) -> str:
    """Return a new id such as 261116-1503-k7fb2m9q; ids sort by time. Raises: Failed."""
    for _ in range(100):
        found = f"{now:%y%m%d-%H%M}-{_id_suffix(now)}"
        if found not in taken:
            return found
    raise Failed("no free name for a run was found")


def is_run_id(text: str) -> bool:
    """True for an id in the form that `new_run_id` creates."""
    return FORM.fullmatch(text) is not None


def run_branch_ref(run: str) -> str:
    """Return the ref of a run's branch."""
    return f"{BRANCHES}{run}"


def match_run_id(word: str, runs: Iterable[str]) -> str:
    """Return the run that a word names: its id, the beginning of it or of its last part, or its branch.

    Raises: NotFound, Failed if several match.
    """
    named = word.removeprefix("refs/heads/").removeprefix("nexus/")
    known = sorted(set(runs))
    if named in known:
        return named
    found = [run for run in known if named and (run.startswith(named) or _ends_in(run, named))]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[-5:])
        raise Failed(f"{named} may mean {len(found)} runs: {shown}", hint="say more of its name")
    raise NotFound(f"there is no run {word[:60]!r}", hint="git nexus runs lists them", fix="git nexus runs --all")


def _ends_in(run: str, word: str) -> bool:
    """True if a run id ends in the word, or the last part of the id begins with it."""
    return run.endswith(f"-{word}") or (len(word) >= 4 and run.rpartition("-")[2].startswith(word))


def _id_suffix(now: datetime) -> str:
    """Return eight letters: two for the time within the minute, so that ids sort, and six random ones.

    Two machines that begin a run within the same 67 ms get the same id once in 729 million times.
    """
    slot = (now.second * 1_000_000 + now.microsecond) * 900 // 60_000_000
    number = slot * 30**6 + int(random_hex(24), 16) % 30**6
    return "".join(_LETTERS[number // 30**at % 30] for at in range(7, -1, -1))
