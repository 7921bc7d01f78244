"""Whether one policy leaves agents no more than another, and one that leaves them no more than either."""

from typing import Any

from gitnexus.base.errors import NexusError
from gitnexus.policy import edit
from gitnexus.policy.law import APPROVALS, LEVELS, MODES, VERDICTS
from gitnexus.policy.rules import FILE, Budget, Policy, Rule, policy_of

_DENY, _ASK, _ALLOW = VERDICTS


def is_weaker(new: Policy, old: Policy) -> bool:
    """True if `new` allows anything that `old` does not, or has lost something that `old` asks about or denies."""
    rules = {_key(rule): rule for rule in new.rules}
    lost = [rule for rule in old.rules if rule.verdict != _ALLOW and not _is_kept(rule, rules)]
    given = {_key(rule) for rule in old.rules if rule.verdict == _ALLOW}
    more = [rule for rule in new.rules if rule.verdict == _ALLOW and _key(rule) not in given]
    wider = {_key(rule) for rule in new.autopilot} - {_key(rule) for rule in old.autopilot}
    ordered = (
        MODES.index(new.mode or "default") > MODES.index(old.mode or "default"),
        LEVELS.index(new.minimum) < LEVELS.index(old.minimum),
        old.way == "proposer" != new.way,
        old.unplanned == "require-task" != new.unplanned,
        old.level != new.level and old.level is not None,
        APPROVALS.index(new.approval or "at-end") > APPROVALS.index(old.approval or "at-end"),
        VERDICTS.index(new.signin or "ask") > VERDICTS.index(old.signin or "ask"),
        set(new.edits) > set(old.edits) or not set(new.edits) <= set(old.edits),
        _costs_more(new.budget or Budget(), old.budget or Budget()),
    )
    return bool(lost or more or wider or any(ordered))


def combined(mine: bytes, theirs: bytes) -> bytes:
    """Return their text with all that ours denies or asks about added, and the stricter mode.

    What it allows counts only once somebody signed it. Raises: Invalid, Failed for a text that cannot be edited.
    """
    ours, text = policy_of(mine, "project"), theirs
    for rule in ours.rules:
        now = policy_of(text, "project").rules
        if rule.verdict != _ALLOW and not _is_kept(rule, {_key(one): one for one in now}):
            taken = any(one.name == rule.name for one in now)
            text, _ = edit.added(text, rule.verdict, _row(rule.changed(name="") if taken else rule), "project")
    strictest = min(ours.mode or "default", policy_of(text, "project").mode or "default", key=MODES.index)
    if strictest != (policy_of(text, "project").mode or "default"):
        text = edit.with_mode(text, strictest, "project")
    return text


def unsigned(policy: Policy) -> Policy:
    """Return what counts of a policy that nobody signed: only what tightens."""
    rules = tuple(rule for rule in policy.rules if rule.verdict != _ALLOW)
    return policy.changed(rules=rules, mode=None, edits=(), autopilot=(), level=None)


def read_or_none(raw: bytes | None) -> Policy | None:
    """Return what a file says, None for one that says nothing that can be understood."""
    try:
        return policy_of(raw, "project", FILE) if raw is not None else None
    except NexusError:
        return None


def _is_kept(rule: Rule, rules: dict[Any, Rule]) -> bool:
    return any(
        (verdict, *_key(rule)[1:]) in rules for verdict in ((_DENY,) if rule.verdict == _DENY else (_DENY, _ASK))
    )


def _key(rule: Rule) -> tuple[Any, ...]:
    return (rule.verdict, rule.subject, rule.patterns, rule.role, rule.kind, rule.network, rule.unconfined)


def _row(rule: Rule) -> dict[str, Any]:
    patterns: Any = list(rule.patterns)
    row = {rule.subject: patterns} if rule.subject else {}
    more = {"name": rule.name, "why": rule.why, "role": rule.role, "kind": rule.kind}
    return {**row, **{key: value for key, value in more.items() if value}}


def _costs_more(new: Budget, old: Budget) -> bool:
    return any(getattr(new, name) > getattr(old, name) for name in old.__dataclass_fields__)
