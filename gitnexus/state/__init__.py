"""Files on a ref: snapshot, transaction, and `.nexus/` as their checkout.

The same store serves a project (`refs/nexus/state`) and the user's home repository (`$NEXUS_HOME/home.git`).
"""

from gitnexus.state.layout import STATE_REF
from gitnexus.state.snapshot import Snapshot
from gitnexus.state.store import Change, State

__all__ = ["STATE_REF", "Change", "Snapshot", "State"]
