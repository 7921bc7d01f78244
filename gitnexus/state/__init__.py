"""Files on a ref: snapshot, transaction, and `.nexus/` as their checkout.

The same store serves a project (`refs/nexus/state`) and the user's home repository (`$NEXUS_HOME/home.git`).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.state.layout import STATE_REF
    from gitnexus.state.snapshot import Snapshot
    from gitnexus.state.store import Change, State

__all__ = ["STATE_REF", "Change", "Snapshot", "State"]
_HOMES = {"STATE_REF": "layout", "Snapshot": "snapshot", "Change": "store", "State": "store"}


def __getattr__(name: str) -> Any:
    """The store is imported by who opens it: a hook after every tool only writes a line beside it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
