"""Formats approvers as JSON and as a table."""

from typing import TYPE_CHECKING, Any

from gitnexus.base.text import one_line
from gitnexus.policy.seen import format_root
from gitnexus.ui.output import format_columns

if TYPE_CHECKING:
    from gitnexus.policy.approver_changes import ApproverListing
    from gitnexus.policy.approvers import Approver


def listing_as_json(found: "ApproverListing") -> dict[str, Any]:
    """Return the approvers, and whether this machine trusts them, as JSON."""
    return {
        "approvers": [approver_as_json(one) for one in found.approvers.known.values()],
        "root": found.approvers.root.key,
        "pin": format_root(found.approvers),
        "own": found.own or None,
        "counts": found.consent,
        **({"trouble": found.trouble} if found.trouble else {}),
    }


def approver_as_json(one: "Approver") -> dict[str, Any]:
    """Return one approver as JSON."""
    shown = {"key": one.key, "name": one.name, "public": one.public, "addedAt": one.added, "addedBy": one.by}
    return {**shown, "revokedAt": one.revoked or None}


def format_listing(found: "ApproverListing") -> str:
    """Return the approvers as a table."""
    rows = []
    for one in found.approvers.known.values():
        marks = ["first"] * (one.key == found.approvers.root.key) + ["yours"] * (one.key == found.own)
        marks += [f"revoked {one.revoked}"] if one.revoked else []
        rows.append([one.key, one_line(one.name, 40), f"since {one.added[:10]}", ", ".join(marks)])
    tail = "" if found.consent else "\nWhat they sign does not count on this machine"
    if tail:
        tail += f": {one_line(found.trouble)}" if found.trouble else "; git nexus approver trust changes that"
    return f"{format_columns(rows, indent='')}\nfor git nexus verify --root: {format_root(found.approvers)}{tail}"
