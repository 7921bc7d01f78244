"""Open a project and hand out its rooms; the set-up verbs that put rooms together live beside."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.app.open import Nexus, open_nexus

__all__ = ["Nexus", "open_nexus"]


def __getattr__(name: str) -> Any:
    # Looked up when it is asked for: the hook of a program comes by before every tool, and needs nothing of this.
    if name in __all__:
        from gitnexus.app import open as opened

        return getattr(opened, name)
    raise AttributeError(name)
