"""Reads from the state ref when notes were created, changed, deleted and restored."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from gitnexus.base.clock import time_from_seconds
from gitnexus.base.errors import NotFound
from gitnexus.git.child import run_git_or_raise
from gitnexus.memory.model import NoteTimes
from gitnexus.memory.notes import FOLDER
from gitnexus.state import Snapshot, State

_WHAT = {"A": "created", "M": "changed", "D": "deleted", "T": "changed"}


@dataclass(frozen=True, slots=True)
class NoteChange:
    """One commit that touched a note."""

    commit: str
    parent: str | None
    at: datetime
    author: str
    why: str
    what: str
    path: str


def iterate_note_changes(state: State, snapshot: Snapshot, path: str = FOLDER) -> Iterator[NoteChange]:
    """Yield the changes of a file or folder, the newest first."""
    if snapshot.commit is None:
        return
    asked = (
        "log",
        "--raw",
        "-z",
        "--no-renames",
        "--no-abbrev",
        "--no-show-signature",
        "--no-color",
        "--root",
        "-m",
        "--first-parent",
        "--format=%x01%H%x00%P%x00%ct%x00%an%x00%s",
    )
    raw = run_git_or_raise("--literal-pathspecs", *asked, snapshot.commit, "--", path, git_dir=state.repo.common_dir)
    for block in raw.decode("utf-8", "replace").split("\x01")[1:]:
        commit, parents, seconds, author, why, *rows = block.split("\0")
        fields = iter([field.lstrip("\n") for field in rows])
        for field in fields:
            if field.startswith(":"):
                what = _WHAT.get(field.rsplit(" ", maxsplit=1)[-1][:1], "changed")
                parent = parents.split(" ")[0] or None
                yield NoteChange(commit, parent, time_from_seconds(int(seconds)), author, why, what, next(fields, ""))


def read_note_times(state: State, snapshot: Snapshot) -> dict[str, NoteTimes]:
    """Return when each note was created and last changed."""
    found: dict[str, NoteTimes] = {}
    for step in iterate_note_changes(state, snapshot):
        name = step.path.removeprefix(f"{FOLDER}/").removesuffix(".md")
        known = found.get(name)
        found[name] = NoteTimes(step.at, known.changed if known else step.at)
    return found


def changes_of_note(state: State, snapshot: Snapshot, name: str) -> list[NoteChange]:
    """Return the changes of one note, the newest first. Raises: NotFound."""
    plain = name.strip().removeprefix(f"{FOLDER}/").removesuffix(".md")
    found = list(iterate_note_changes(state, snapshot, f"{FOLDER}/{plain}.md")) if plain else []
    if not found:
        raise NotFound(f"there never was a note {plain[:80]!r}", hint="git nexus memory list shows what is there")
    return found
