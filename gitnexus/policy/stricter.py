"""Compares two policies for strictness, and combines them into one that is at least as strict as both. Pure."""

from typing import Any

from gitnexus.base.errors import NexusError
from gitnexus.policy import edit
from gitnexus.policy.compiled_rules import APPROVALS, LEVELS, MODES, VERDICTS
from gitnexus.policy.rules import FILE, BatchBudget, Policy, PolicyRule, parse_policy

_DENY, _ASK, _ALLOW = VERDICTS


def is_weaker(new: Policy, old: Policy) -> bool:
    """True if `new` allows something that `old` does not, or lacks an ask or deny rule of `old`."""
    rules = {_rule_key(rule): rule for rule in new.rules}
    lost = [rule for rule in old.rules if rule.verdict != _ALLOW and not _is_kept(rule, rules)]
    given = {_rule_key(rule) for rule in old.rules if rule.verdict == _ALLOW}
    more = [rule for rule in new.rules if rule.verdict == _ALLOW and _rule_key(rule) not in given]
    wider = {_rule_key(rule) for rule in new.autopilot} - {_rule_key(rule) for rule in old.autopilot}
    ordered = (
        MODES.index(new.mode or "default") > MODES.index(old.mode or "default"),
        LEVELS.index(new.minimum) < LEVELS.index(old.minimum),
        old.way == "proposer" != new.way,
        old.unplanned == "require-task" != new.unplanned,
        old.level != new.level and old.level is not None,
        APPROVALS.index(new.approval or "at-end") > APPROVALS.index(old.approval or "at-end"),
        VERDICTS.index(new.signin or "ask") > VERDICTS.index(old.signin or "ask"),
        set(new.edits) > set(old.edits) or not set(new.edits) <= set(old.edits),
        _costs_more(new.budget or BatchBudget(), old.budget or BatchBudget()),
    )
    return bool(lost or more or wider or any(ordered))


def combine_policies(mine: bytes, theirs: bytes) -> bytes:
    """Return their text plus our ask and deny rules, with the stricter mode.

    Its allow rules count only once somebody signs it. Raises: Invalid, Failed for a text that cannot be edited.
    """
    ours, text = parse_policy(mine, "project"), theirs
    for rule in ours.rules:
        now = parse_policy(text, "project").rules
        if rule.verdict != _ALLOW and not _is_kept(rule, {_rule_key(one): one for one in now}):
            taken = any(one.name == rule.name for one in now)
            text, _ = edit.with_added_rule(
                text, rule.verdict, _rule_row(rule.changed(name="") if taken else rule), "project"
            )
    strictest = min(ours.mode or "default", parse_policy(text, "project").mode or "default", key=MODES.index)
    if strictest != (parse_policy(text, "project").mode or "default"):
        text = edit.with_mode(text, strictest, "project")
    return text


def without_loosening_rules(policy: Policy) -> Policy:
    """Return the part of an unsigned policy that counts: what tightens."""
    rules = tuple(rule for rule in policy.rules if rule.verdict != _ALLOW)
    return policy.changed(rules=rules, mode=None, edits=(), autopilot=(), level=None)


def parse_policy_or_none(raw: bytes | None) -> Policy | None:
    """Parse a policy file, None if it is malformed."""
    try:
        return parse_policy(raw, "project", FILE) if raw is not None else None
    except NexusError:
        return None


def _is_kept(rule: PolicyRule, rules: dict[Any, PolicyRule]) -> bool:
    return any(
        (verdict, *_rule_key(rule)[1:]) in rules for verdict in ((_DENY,) if rule.verdict == _DENY else (_DENY, _ASK))
    )


def _rule_key(rule: PolicyRule) -> tuple[Any, ...]:
    return (rule.verdict, rule.subject, rule.patterns, rule.role, rule.kind, rule.network, rule.unconfined)


def _rule_row(rule: PolicyRule) -> dict[str, Any]:
    patterns: Any = list(rule.patterns)
    row = {rule.subject: patterns} if rule.subject else {}
    more = {"name": rule.name, "why": rule.why, "role": rule.role, "kind": rule.kind}
    return {**row, **{key: value for key, value in more.items() if value}}


def _costs_more(new: BatchBudget, old: BatchBudget) -> bool:
    return any(getattr(new, name) > getattr(old, name) for name in old.__dataclass_fields__)
