"""What each room makes of a file that somebody edited below its folder, and the state opened with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gitnexus.git import Repo
from gitnexus.state import State
from gitnexus.state.store import Keeper


def _backlog(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    from gitnexus.backlog.intake import kept  # only an edit of the backlog pays

    return kept(path, mine, theirs)


KEEPERS: Mapping[str, Keeper] = {"backlog": _backlog}


def open_state(place: Path | Repo, life: Literal["short", "long"] = "short") -> State:
    """Return the state at `place`; hand edits are judged by the room that they concern."""
    state = State.open(place, life)
    state.keepers = KEEPERS
    return state
