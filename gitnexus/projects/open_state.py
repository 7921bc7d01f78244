"""What each room makes of a file that somebody edited below its folder, and the state opened with it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from gitnexus.base.errors import Invalid
from gitnexus.git import Repo
from gitnexus.state import Snapshot, State
from gitnexus.state.store import Keeper


def _backlog(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    from gitnexus.backlog.intake import kept  # only an edit of the backlog pays

    return kept(path, mine, theirs)


def _memory(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    from gitnexus.memory.count import kept  # only an edit of a note pays

    return kept(path, mine, theirs)


def _not_by_hand(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    """What signs others in must not be what anybody can type: git nexus writes it itself."""
    raise Invalid("it holds signatures, and git nexus writes it itself; git nexus approver and policy trust change it")


KEEPERS: Mapping[str, Keeper] = {
    "approvers": _not_by_hand,
    "backlog": _backlog,
    "memory": _memory,
    "policy": _not_by_hand,
}


def _trusts(snapshot: Snapshot, raw: bytes, common_dir: Path) -> bool:
    from gitnexus.policy.signed import SETTINGS, Signed  # only settings that loosen pay

    return Signed(snapshot, common_dir).standing(SETTINGS, raw).trusted


def open_state(place: Path | Repo, life: Literal["short", "long"] = "short") -> State:
    """Return the state at `place`; hand edits are judged by the room that they concern."""
    state = State.open(place, life)
    state.keepers = KEEPERS
    state.trusts = lambda snapshot, raw: _trusts(snapshot, raw, state.repo.common_dir)
    return state
