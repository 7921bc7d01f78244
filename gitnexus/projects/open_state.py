"""Opens the project state and registers, per top-level folder of the state ref, the validator for hand edits in
`.nexus/`.
"""

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
    """Refuse edits of the approver list made by hand: only git nexus writes it."""
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
    """Return the state at `place`, with the validators of all rooms for edits made by hand."""
    state = State.open(place)
    state.keepers = KEEPERS
    state.trusts = lambda snapshot, raw: _trusts_settings(snapshot, raw, state.repo.common_dir)
    return state
