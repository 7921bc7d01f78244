"""Merges the approver chains of two clones: fast-forwards, or signs our extra entries again on top of theirs."""

from collections.abc import Sequence
from datetime import datetime

from gitnexus.base.errors import Conflict, NexusError, VerificationFailed
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import ApproverEntry, Approvers
from gitnexus.policy.keys import Signer


def fast_forward_chain(mine: Approvers | None, theirs: bytes, project: str) -> Approvers | None:
    """Return their chain if it extends ours, None if ours extends theirs or the two diverged.

    Raises: VerificationFailed for an invalid chain, or one with another first key.
    """
    found = chain.verify_chain(theirs, project)
    if mine is None:
        return found
    if found.root.key != mine.root.key:
        raise VerificationFailed(
            f"its first approver is {found.root.key}, and ours is {mine.root.key}",
            hint="git nexus approver list shows ours; somebody replaced it by another list",
        )
    return found if found.entries[: len(mine.entries)] == mine.entries else None


def rebase_chain(mine: Approvers, theirs: Approvers, signer: Signer | None, now: datetime) -> Approvers:
    """Return their chain plus our extra entries, signed again by the original signer. A revoked key stays out.

    Raises: Conflict if that signer is somebody else, who alone can merge the two.
    """
    shared = _common_prefix_length(mine.entries, theirs.entries)
    found = theirs
    for entry in mine.entries[shared:]:
        known = found.known.get(entry.key)
        if known is not None and (entry.act == "add" or known.revoked):
            continue
        if signer is None or entry.by != signer.key_id:
            name = mine.known[entry.by].name if entry.by in mine.known else entry.by
            raise Conflict(
                f"both sides changed the approvers, and only {name} can sign again what ours has more",
                hint=f"let {name} run git nexus sync first",
            )
        try:
            found = (
                chain.with_added_key(found, entry.public, entry.name, signer, now)
                if entry.act == "add"
                else chain.with_revoked_key(found, entry.key, entry.reason, signer, now)
            )
        except NexusError as exc:
            raise Conflict(f"the changes of approvers do not fit together: {exc.message}", hint=exc.hint) from exc
    return found


def _common_prefix_length(mine: Sequence[ApproverEntry], theirs: Sequence[ApproverEntry]) -> int:
    count = 0
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            break
        count += 1
    return count
