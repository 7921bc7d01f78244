"""The event log of a run: event kinds, the append-only log and its hash chain, anchors, checkpoints and the fold.

Owns `<git-common-dir>/nexus/runs/<run>/` (outside every worktree) and `refs/nexus/runs/<run>`. The log is the record;
whatever is shown of a run is computed from it.
"""

from gitnexus.events.anchor import Anchor, Verified, verify_log
from gitnexus.events.artifacts import ArtifactRef, Artifacts
from gitnexus.events.fold import fold, fold_next_event
from gitnexus.events.log import EventDraft, RunLog
from gitnexus.events.model import Event
from gitnexus.events.view import RunView

__all__ = [
    "Anchor",
    "ArtifactRef",
    "Artifacts",
    "Event",
    "EventDraft",
    "RunLog",
    "RunView",
    "Verified",
    "fold",
    "fold_next_event",
    "verify_log",
]
