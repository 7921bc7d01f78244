"""Stores files on a git ref: snapshots, transactions, and `.nexus/` as a checkout of the ref.

The same store serves a project (`refs/nexus/state`) and the user's home repository (`$NEXUS_HOME/home.git`).
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.state.locate import STATE_REF
    from gitnexus.state.snapshot import Snapshot
    from gitnexus.state.store import Change, State

__all__ = ["STATE_REF", "Change", "Snapshot", "State"]
_HOMES = {"STATE_REF": "locate", "Snapshot": "snapshot", "Change": "store", "State": "store"}


def __getattr__(name: str) -> Any:
    """Import the store on first access: a hook that runs after every tool only appends a line and does not need it."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
