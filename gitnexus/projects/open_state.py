"""What each room makes of a file that somebody edited below its folder, and the state opened with it."""

from collections.abc import Mapping
from pathlib import Path

from gitnexus.base.errors import Invalid
from gitnexus.git import Repo
from gitnexus.state import Snapshot, State
from gitnexus.state.store import Keeper


def _keep_backlog_edit(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    from gitnexus.backlog.intake import accept_task_edit  # only an edit of the backlog pays

    return accept_task_edit(path, mine, theirs)


def _keep_memory_edit(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    from gitnexus.memory.count import accept_note_edit  # only an edit of a note pays

    return accept_note_edit(path, mine, theirs)


def _refuse_hand_edit(path: str, mine: bytes | None, theirs: bytes | None) -> bytes | None:
    """What signs others in must not be what anybody can type: git nexus writes it itself."""
    raise Invalid("it holds signatures, and git nexus writes it itself; git nexus approver and policy trust change it")


KEEPERS: Mapping[str, Keeper] = {
    "approvers": _refuse_hand_edit,
    "backlog": _keep_backlog_edit,
    "memory": _keep_memory_edit,
    "policy": _refuse_hand_edit,
}


def _trusts_settings(snapshot: Snapshot, raw: bytes, common_dir: Path) -> bool:
    from gitnexus.policy.signed import SETTINGS, SignedFiles  # only settings that loosen pay

    return SignedFiles(snapshot, common_dir).trust_of(SETTINGS, raw).trusted


def open_state(place: Path | Repo) -> State:
    """Return the state at `place`; hand edits are judged by the room that they concern."""
    state = State.open(place)
    state.keepers = KEEPERS
    state.trusts = lambda snapshot, raw: _trusts_settings(snapshot, raw, state.repo.common_dir)
    return state
