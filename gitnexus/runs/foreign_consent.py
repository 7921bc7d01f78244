"""What somebody else's run is to do, shown to a person before it is done here, and their yes to exactly that.

The yes is to the definition, and to the commit that the run's branch stands at: that is the code it works with.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from gitnexus.app.origin import agreement, keep_agreement
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.canonical import canonical
from gitnexus.base.errors import ApprovalNeeded, Conflict
from gitnexus.events.model import digest
from gitnexus.git.branches import tip


def is_agreed(desk: RunDesk) -> bool:
    """True if the run may go on here: it was begun or ordered here, or somebody agreed to it as it stands now."""
    known = agreement(desk.noted, desk.run.id)
    if not desk.foreign or known is None:
        return not desk.foreign
    return known.hash == (desk.run.definition if known.by == "order" else hash_to_agree_to(desk))


def hash_to_agree_to(desk: RunDesk) -> str:
    """Return what binds the definition of a run, its base, and the commit that its branch stands at."""
    bound = {"definition": desk.run.definition, "base": desk.run.base, "commit": _commit(desk)}
    return digest(b"git-nexus agreement v1\0" + canonical(bound))


def require_agreement(desk: RunDesk) -> None:
    """Refuse to go on with what somebody else defined before a person has agreed to it. Raises: ApprovalNeeded."""
    if is_agreed(desk):
        return
    run, hash_ = desk.run.id, hash_to_agree_to(desk)
    known = agreement(desk.noted, run)
    moved = "; what was agreed to was another definition or another commit" if known and known.by == "person" else ""
    raise ApprovalNeeded(
        f"{run} was begun by somebody else, and nobody here has agreed to what it is to do at {_commit(desk)[:12]} "
        f"({hash_}){moved}",
        hint=f"git nexus resume {run} shows it and asks; off a terminal: git nexus resume {run} --agree {hash_}",
        context={"definition": desk.run.definition, "commit": _commit(desk), "agreement": hash_},
    )


def agree(desk: RunDesk, hash_: str) -> None:
    """Write down a person's yes to what has this hash. Raises: Conflict, VerificationFailed."""
    desk.definition()  # is it the one that the record names?
    wanted = hash_to_agree_to(desk)
    if hash_ != wanted:
        alone = "the hash of its definition does not say at which commit it goes on; " * (hash_ == desk.run.definition)
        raise Conflict(
            f"{alone}{desk.run.id} at {_commit(desk)[:12]} is {wanted}, and not what was agreed to",
            hint=f"git nexus resume {desk.run.id} shows it",
            context={"definition": desk.run.definition, "commit": _commit(desk), "agreement": wanted},
        )
    keep_agreement(desk.noted, desk.run.id, wanted, "person")


@contextmanager
def moving_on(desk: RunDesk) -> Iterator[None]:
    """Keep a person's agreement while the branch gets a commit of this machine."""
    known = agreement(desk.noted, desk.run.id)
    holds = known is not None and known.by == "person" and is_agreed(desk)
    yield
    if holds:
        keep_agreement(desk.noted, desk.run.id, hash_to_agree_to(desk), "person")


def definition_lines(desk: RunDesk) -> list[str]:
    """Return the whole definition in ASCII, its code, and what does not count here. Raises: NexusError."""
    found = desk.workflow() or desk.definition()
    whole = json.dumps(found.plain(), indent=2, ensure_ascii=True).splitlines()
    steps = desk.definition().nodes
    notes = [f"its mode is {found.mode}; here it goes on in mode {desk.mode}"] if desk.mode != found.mode else []
    notes += [f"{one.id}: its model's address {json.dumps(one.address)} is not used" for one in steps if one.address]
    notes += [f"{one.id}: your sign-in is not lent because it says so" for one in steps if one.sign_in]
    base, commit = desk.run.base, _commit(desk)
    since = f"; git diff {base[:12]} {commit[:12]} shows what was changed since its base" if commit != base else ""
    code = [f"base {base}", f"branch {desk.run.branch} at {commit}{since}"]
    return [*whole, f"definition {desk.run.definition}", *code, *notes, f"to agree to: {hash_to_agree_to(desk)}"]


def _commit(desk: RunDesk) -> str:
    return tip(desk.repo, desk.branch) or desk.run.base
