"""Reads and writes the registry on the home state ref; the only module that knows its path."""

from datetime import datetime
from typing import TypeVar

from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Invalid
from gitnexus.base.record import StoredRecord
from gitnexus.projects.model import NAME, Registry
from gitnexus.state import Snapshot

REGISTRY = "registry.json"
_MAJOR = "1"

R = TypeVar("R", bound=StoredRecord)


def read_registry(snapshot: Snapshot) -> Registry:
    """Return the registry of the home state, empty if there is none. Raises: Invalid; the file stays unchanged."""
    registry = read_record(snapshot, REGISTRY, Registry)
    if registry is None:
        return Registry()
    check_version(REGISTRY, registry.version)
    for key, row in registry.projects.items():
        if row.hash != key:
            raise unusable_file_error(REGISTRY, f"the row {key[:20]!r} has another hash")
        if not row.path.startswith("/") or not all(map(NAME.fullmatch, (row.name, *row.aliases))):
            raise unusable_file_error(REGISTRY, f"the row {key[:20]!r} has a name or path that no project can have")
    return registry


def registry_file(before: Registry, after: Registry, now: datetime) -> dict[str, bytes | None]:
    """Return the file to write for a changed registry, empty if nothing changed."""
    return (
        {}
        if after == before
        else {REGISTRY: with_schema(after.changed(last_updated=format_timestamp(now)), "registry")}
    )


def with_schema(record: StoredRecord, name: str) -> bytes:
    """Return a file of the home state with its `$schema` from the specification."""
    return record.changed(unknown={**record.unknown, "$schema": f"./schemas/nexus-{name}.schema.json"}).to_bytes()


def read_record(snapshot: Snapshot, path: str, kind: type[R]) -> R | None:
    """Return the record in a file of the home state, None if there is no file. Raises: Invalid."""
    raw = snapshot.read(path)
    if raw is not None:
        return kind.from_bytes(raw, home_file_name(path))
    if snapshot.has(path):  # a folder or a link: to take it for missing would mean the defaults
        raise unusable_file_error(path, "it is not a plain file")
    return None


def check_version(path: str, version: str) -> None:
    """Raise an error for a file in a format of a newer git nexus. Raises: Invalid."""
    if version.partition(".")[0] != _MAJOR:
        raise unusable_file_error(path, f"its version is {version[:20]!r}, and this git nexus knows {_MAJOR}")


def home_file_name(path: str) -> str:
    """Return the name of a file of the home state for messages."""
    return f"{path} of the home repository"


def unusable_file_error(path: str, why: str) -> Invalid:
    """Return the error for a file that cannot be used and is left unchanged."""
    return Invalid(f"{home_file_name(path)} cannot be used: {why}", hint="it is left as it is; repair it by hand")
