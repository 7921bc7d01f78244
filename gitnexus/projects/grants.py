"""Reads the permissions between projects from the home state ref, and decides which of them count."""

from collections.abc import Callable

from gitnexus.projects.permissions import Permissions, check_permissions, tighten_permissions
from gitnexus.projects.store import check_version, home_file_name, read_record, with_schema
from gitnexus.state import Snapshot

PERMISSIONS = "permissions.json"
# Whether these bytes, as the permissions of that snapshot, were signed by the person whose home it is.
Trusts = Callable[[Snapshot, bytes], bool]


def trust_nobody(_snapshot: Snapshot, _raw: bytes) -> bool:
    """Trust no file; the default."""
    return False


def read_permissions(snapshot: Snapshot, trusts: Trusts = trust_nobody) -> Permissions:
    """Return the permissions in force: as written if they are signed, else only what they take away.

    Raises: Invalid for a file that cannot be parsed. It is left unchanged, and every external access is denied.
    """
    permissions = read_written_permissions(snapshot)
    return permissions if is_in_force(snapshot, trusts) else tighten_permissions(permissions)


def is_in_force(snapshot: Snapshot, trusts: Trusts) -> bool:
    """Return True if the permissions apply as written. A signature is needed only where they give a permission."""
    permissions = read_written_permissions(snapshot)
    return tighten_permissions(permissions) == permissions or trusts(snapshot, snapshot.read(PERMISSIONS) or b"")


def read_written_permissions(snapshot: Snapshot) -> Permissions:
    """Return the permissions as written, signed or not; the defaults if there is no file. Raises: Invalid."""
    permissions = read_record(snapshot, PERMISSIONS, Permissions)
    if permissions is None:
        return Permissions()
    check_version(PERMISSIONS, permissions.version)
    return check_permissions(permissions, home_file_name(PERMISSIONS))


def permissions_file(before: Permissions, after: Permissions) -> dict[str, bytes | None]:
    """Return the file to write for changed permissions, empty if nothing changed."""
    return {} if after == before else {PERMISSIONS: with_schema(after, "permissions")}
