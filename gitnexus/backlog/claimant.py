"""The identity of the person or agent that claims a task."""

from typing import NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.base.text import make_visible


class Claimant(NamedTuple):
    """The name of a person or agent.

    An agent's name denotes one worker, which continues its own claim. A person may work in two terminals, so a person's
    command must say that it continues the claim.
    """

    name: str
    is_agent: bool


def agent_claimant(name: str) -> Claimant:
    """Return the claimant for an agent's name. Raises: Invalid."""
    plain = name.strip()
    if not plain or len(plain) > 100 or make_visible(plain, keep="") != plain:
        raise Invalid(
            f"{name[:40]!r} cannot be the name of an agent", hint="use one plain line of up to 100 characters"
        )
    return Claimant(plain, is_agent=True)


def person_claimant(name: str) -> Claimant:
    """Return the claimant for a person's name."""
    return Claimant(make_visible(name, keep="")[:100], is_agent=False)
