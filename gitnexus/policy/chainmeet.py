"""The approvers of two clones that meet: one list goes on from the other, or ours is signed again on top of theirs."""

from collections.abc import Sequence
from datetime import datetime

from gitnexus.base.errors import Conflict, NexusError, VerificationFailed
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import Approvers, Entry
from gitnexus.policy.keys import Signer


def followed_by(mine: Approvers | None, theirs: bytes, project: str) -> Approvers | None:
    """Return their list if it goes on from ours, None if ours goes on from theirs or both went on.

    Raises: VerificationFailed for a list that does not hold, or that began with another key.
    """
    found = chain.verified(theirs, project)
    if mine is None:
        return found
    if found.root.key != mine.root.key:
        raise VerificationFailed(
            f"its first approver is {found.root.key}, and ours is {mine.root.key}",
            hint="git nexus approver list shows ours; somebody put another list there",
        )
    return found if found.entries[: len(mine.entries)] == mine.entries else None


def together(mine: Approvers, theirs: Approvers, signer: Signer | None, now: datetime) -> Approvers:
    """Return theirs with what ours has more, signed again by who signed it first. A revoked key stays out.

    Raises: Conflict where that is not us: then nobody but they can bring the two together.
    """
    shared = _shared(mine.entries, theirs.entries)
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
                chain.added(found, entry.public, entry.name, signer, now)
                if entry.act == "add"
                else chain.revoked(found, entry.key, entry.reason, signer, now)
            )
        except NexusError as exc:
            raise Conflict(f"the changes of approvers do not fit together: {exc.message}", hint=exc.hint) from exc
    return found


def _shared(mine: Sequence[Entry], theirs: Sequence[Entry]) -> int:
    count = 0
    for one, other in zip(mine, theirs, strict=False):
        if one != other:
            break
        count += 1
    return count
