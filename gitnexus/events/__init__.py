"""What happened in a run: kinds of events, the append-only log and its chain, anchors, checkpoints, the fold.

Owns `<git-common-dir>/nexus/runs/<run>/` (outside every worktree) and `refs/nexus/runs/<run>`. The log is the record;
whatever is shown of a run is computed from it.
"""

from gitnexus.events.anchor import Anchor, Verified, verify
from gitnexus.events.artifacts import ArtifactRef, Artifacts
from gitnexus.events.fold import after, fold
from gitnexus.events.log import Draft, RunLog
from gitnexus.events.model import Event
from gitnexus.events.view import RunView

__all__ = [
    "Anchor",
    "ArtifactRef",
    "Artifacts",
    "Draft",
    "Event",
    "RunLog",
    "RunView",
    "Verified",
    "after",
    "fold",
    "verify",
]
