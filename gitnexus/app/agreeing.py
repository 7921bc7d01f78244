"""What somebody else's run is to do, shown to a person before it is done here, and their yes to exactly that."""

import json

from gitnexus.app.origin import agreement, keep_agreement
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import ApprovalNeeded, Conflict


def is_agreed(desk: RunDesk) -> bool:
    """True if the run may go on here: it was begun here, or somebody agreed to its very definition."""
    known = agreement(desk.noted, desk.run.id)
    return not desk.foreign or (known is not None and known.definition == desk.run.definition)


def require_agreement(desk: RunDesk) -> None:
    """Refuse to go on with what somebody else defined before a person has agreed to it. Raises: ApprovalNeeded."""
    if is_agreed(desk):
        return
    run, definition = desk.run.id, desk.run.definition
    raise ApprovalNeeded(
        f"{run} was begun by somebody else, and nobody here has agreed to what it is to do ({definition})",
        hint=f"git nexus resume {run} shows it and asks; off a terminal: git nexus resume {run} --agree {definition}",
        context={"definition": definition},
    )


def agree(desk: RunDesk, definition: str) -> None:
    """Write down a person's yes to the definition with this hash. Raises: Conflict, VerificationFailed."""
    desk.definition()  # is it the one that the record names?
    if definition != desk.run.definition:
        raise Conflict(
            f"the definition of {desk.run.id} is {desk.run.definition}, and not what was agreed to",
            hint=f"git nexus resume {desk.run.id} shows it",
        )
    keep_agreement(desk.noted, desk.run.id, definition, "person")


def definition_lines(desk: RunDesk) -> list[str]:
    """Return the whole definition in ASCII, and what of it does not count here. Raises: NexusError."""
    found = desk.workflow() or desk.definition()
    whole = json.dumps(found.plain(), indent=2, ensure_ascii=True).splitlines()
    steps = desk.definition().nodes
    notes = [f"its mode is {found.mode}; here it goes on in mode {desk.mode}"] if desk.mode != found.mode else []
    notes += [f"{one.id}: its model's address {json.dumps(one.address)} is not used" for one in steps if one.address]
    notes += [f"{one.id}: your sign-in is not lent because it says so" for one in steps if one.sign_in]
    return [*whole, f"definition {desk.run.definition}", *notes]
