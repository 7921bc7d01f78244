"""The permissions on the home repository's state ref: what is written there, and what of it counts."""

from collections.abc import Callable

from gitnexus.projects.permissions import Permissions, checked, tightened
from gitnexus.projects.store import known_version, stored, where
from gitnexus.state import Snapshot

PERMISSIONS = "permissions.json"
# Whether these bytes, as the permissions of that snapshot, were signed by the person whose home it is.
Trusts = Callable[[Snapshot, bytes], bool]


def nobody(_snapshot: Snapshot, _raw: bytes) -> bool:
    """Trust no file: what holds as long as nobody says otherwise."""
    return False


def read_permissions(snapshot: Snapshot, trusts: Trusts = nobody) -> Permissions:
    """Return the permissions that count: as they are written if they are signed, else what they take away.

    Raises: Invalid, and leaves the file as it is: then everything external is denied.
    """
    permissions = written_permissions(snapshot)
    return permissions if is_in_force(snapshot, trusts) else tightened(permissions)


def is_in_force(snapshot: Snapshot, trusts: Trusts) -> bool:
    """True if the permissions count as they are written; a signature is only asked for where they give something."""
    permissions = written_permissions(snapshot)
    return tightened(permissions) == permissions or trusts(snapshot, snapshot.read(PERMISSIONS) or b"")


def written_permissions(snapshot: Snapshot) -> Permissions:
    """Return the permissions as they are written, signed or not; the defaults if there are none. Raises: Invalid."""
    permissions = stored(snapshot, PERMISSIONS, Permissions)
    if permissions is None:
        return Permissions()
    known_version(PERMISSIONS, permissions.version)
    return checked(permissions, where(PERMISSIONS))


def permissions_file(before: Permissions, after: Permissions) -> dict[str, bytes | None]:
    """Return what to write for changed permissions, nothing if they did not change."""
    return {} if after == before else {PERMISSIONS: after.to_bytes()}
