"""Open a project and hand out its rooms; the set-up verbs that put rooms together live beside."""

from gitnexus.app.open import Nexus, open_nexus

__all__ = ["Nexus", "open_nexus"]
