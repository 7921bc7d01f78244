"""Lists what a policy says, line by line, and what differs between two such lists. Pure."""

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256

from gitnexus.policy.in_force import PolicyInForce

_NAMED = 5


def policy_terms(here: PolicyInForce) -> tuple[str, ...]:
    """Return what the policy in force says, one line for each rule and setting, sorted; names and reasons left out."""
    policy = here.compiled
    loosening = here.project if here.trusted else None
    autopilot = (*here.user.autopilot, *(loosening.autopilot if loosening else ()))
    edits = (*here.user.edits, *(loosening.edits if loosening else ()))
    settings = {
        "mode": policy.mode,
        "way": policy.way,
        "level": policy.level,
        "minimum": policy.minimum,
        "approval": policy.approval,
        "signin": policy.signin,
        "unplanned": policy.unplanned or "",
        "bypass": "enabled" if policy.bypass else "",
        "budget": " ".join(f"{name}={value}" for name, value in sorted(policy.budget.plain().items())),
    }
    return tuple(
        sorted(
            [
                *(rule.shown for rule in policy.rules),
                *(f"autopilot: {rule.shown}" for rule in autopilot),
                *(f"edits: {pattern}" for pattern in edits),
                *(f"{name}: {value}" for name, value in settings.items() if value),
            ]
        )
    )


def terms_digest(terms: Iterable[str]) -> str:
    """Return the digest of the lines: equal for policies that say the same."""
    return "sha256:" + sha256("\n".join(terms).encode("utf-8", "replace")).hexdigest()


def terms_difference(before: Sequence[str], after: Sequence[str]) -> str:
    """Return in words which lines came and which went, "" if there is no difference."""
    came, went = Counter(after) - Counter(before), Counter(before) - Counter(after)
    found = [f"+ {line}" for line in came.elements()] + [f"- {line}" for line in went.elements()]
    more = [f"and {len(found) - _NAMED} more"] if len(found) > _NAMED else []
    return "; ".join([*found[:_NAMED], *more])
