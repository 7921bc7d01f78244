"""The registry on the home repository's state ref: the only file that knows where it is kept."""

from datetime import datetime
from typing import TypeVar

from gitnexus.base.clock import stamp
from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord
from gitnexus.projects.model import NAME, Registry
from gitnexus.state import Snapshot

REGISTRY = "registry.json"
_MAJOR = "1"

R = TypeVar("R", bound=StoredRecord)


def read_registry(snapshot: Snapshot) -> Registry:
    """Return the registry of the home state, empty if there is none. Raises: Invalid, and leaves it as it is."""
    registry = stored(snapshot, REGISTRY, Registry)
    if registry is None:
        return Registry()
    known_version(REGISTRY, registry.version)
    for key, row in registry.projects.items():
        if row.hash != key:
            raise unusable(REGISTRY, f"the row {key[:20]!r} has another hash")
        if not row.path.startswith("/") or not all(map(NAME.fullmatch, (row.name, *row.aliases))):
            raise unusable(REGISTRY, f"the row {key[:20]!r} has a name or path that no project can have")
    return registry


def registry_file(before: Registry, after: Registry, now: datetime) -> dict[str, bytes | None]:
    """Return what to write for a changed registry, nothing for one that did not change."""
    return {} if after == before else {REGISTRY: after.changed(last_updated=stamp(now)).to_bytes()}


def stored(snapshot: Snapshot, path: str, kind: type[R]) -> R | None:
    """Return the record in a file of the home state, None if nothing is there. Raises: Invalid."""
    raw = snapshot.read(path)
    if raw is not None:
        return kind.from_bytes(raw, where(path))
    if snapshot.has(path):  # a folder or a link: to take it for missing would mean the defaults
        raise unusable(path, "it is not a plain file")
    return None


def known_version(path: str, version: str) -> None:
    """Refuse a file of a form that a newer git nexus brought. Raises: Invalid."""
    if version.partition(".")[0] != _MAJOR:
        raise unusable(path, f"its version is {version[:20]!r}, and this git nexus knows {_MAJOR}")


def where(path: str) -> str:
    """Return a file of the home state as messages name it."""
    return f"{path} of the home repository"


def unusable(path: str, why: str) -> Invalid:
    """Return the error for a file that is left as it is."""
    return Invalid(f"{where(path)} cannot be used: {why}", hint="it is left as it is; repair it by hand")
