"""The permission levels that a user can grant, and a change of a permission as JSON."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from gitnexus.projects.granting import PermissionChange

PERMISSION_LEVELS = click.Choice(["none", "read", "write", "execute"])


def permission_change_as_json(done: "PermissionChange") -> dict[str, Any]:
    """Return a change of a permission as JSON."""
    return {
        "from": done.caller.name,
        "to": done.target.name,
        "fromHash": done.caller.hash,
        "toHash": done.target.hash,
        "permission": done.after.value,
        "previous": done.before.value,
        "reason": done.reason,
    }
