"""The only file that knows where the registry is kept."""

from gitnexus.projects.model import Registry
from gitnexus.state import Snapshot

REGISTRY = "registry.json"


def read_registry(snapshot: Snapshot) -> Registry:
    """Return the registry of the home state, empty if there is none. Raises: Invalid, and leaves it as it is."""
    raw = snapshot.read(REGISTRY)
    return Registry() if raw is None else Registry.from_bytes(raw, f"{REGISTRY} of the home repository")
