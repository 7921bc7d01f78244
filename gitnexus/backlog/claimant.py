"""The identity of the person or agent that claims a task."""

from typing import NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.base.text import make_visible


class Claimant(NamedTuple):
    """A name. An agent's means one worker, so that it goes on with its own claim; a person's may stand in two
    terminals at once, so that going on must be said."""

    name: str
    is_agent: bool


def agent_claimant(name: str) -> Claimant:
    """Return the agent of that name. Raises: Invalid."""
    plain = name.strip()
    if not plain or len(plain) > 100 or make_visible(plain, keep="") != plain:
        raise Invalid(
            f"{name[:40]!r} cannot be the name of an agent", hint="use one plain line of up to 100 characters"
        )
    return Claimant(plain, is_agent=True)


def person_claimant(name: str) -> Claimant:
    """Return the person of that name."""
    return Claimant(make_visible(name, keep="")[:100], is_agent=False)
