"""Renders a policy's rules about ordinary paths and commands as JSON, which a hook reads without importing the gate."""

from collections.abc import Iterable
from typing import Any

from gitnexus.policy import builtin, paths
from gitnexus.policy.compiled_rules import CompiledPolicy
from gitnexus.policy.patterns import ArgvPattern, PatternToken, WideMatcher, narrow_regex
from gitnexus.policy.programs import program_name
from gitnexus.policy.rules import PolicyRule


def render_fast_policy(policy: CompiledPolicy) -> dict[str, Any]:
    """Return the rules about ordinary paths and commands as a JSON value."""
    spoken = [pattern for rule in policy.rules if rule.verdict != "allow" for pattern in _path_patterns(rule)]
    unread = [pattern for rule in policy.rules if rule.subject == "read" for pattern in rule.patterns]
    # A rule about a whole kind covers every file; other modes count or never ask.
    whole = any(rule.verdict != "allow" and not rule.subject for rule in policy.rules)
    allows = [
        [narrow_regex(pattern), rule.line]
        for rule in policy.rules
        if rule.verdict == "allow" and rule.subject == "write" and not rule.role and rule.kind in ("", "patch")
        for pattern in rule.patterns
    ]
    usable = not whole and policy.mode in ("default", "acceptEdits")
    return {
        # If a rule denies files, the gate must judge a search of a folder above them.
        "reads": any(rule.subject == "read" for rule in policy.rules),
        # The folders at the top that hold all files which rules deny; None if such a file may be anywhere.
        "heads": _top_folders(unread),
        "usual": paths.PLAIN.pattern,
        "reserved": paths.RESERVED.pattern,
        # Paths that any rule or list matches, and those among them that are not read.
        "spoken": _pattern_parts((*builtin.all_patterns(), *spoken)),
        "unread": _pattern_parts((*builtin.secret_patterns(), *unread)),
        "allows": allows if usable and policy.unplanned != "require-task" else [],
        "runs": _rules_about_commands(policy) if usable and policy.minimum == "L0" else None,
    }


def _top_folders(patterns: Iterable[str]) -> list[str] | None:
    heads = [pattern.partition("/") for pattern in patterns]
    is_known = all(rest.strip("/") and paths.PLAIN.fullmatch(head) for head, _, rest in heads)
    return sorted({head.lower() for head, _, _ in heads}) if is_known else None


def _pattern_parts(patterns: Iterable[str]) -> dict[str, list[str]]:
    names, endings, expressions = WideMatcher(tuple(patterns)).parts()
    return {"names": names, "endings": endings, "expressions": expressions}


def _path_patterns(rule: PolicyRule) -> tuple[str, ...]:
    return rule.patterns if rule.subject in ("read", "write") else ()


def _rules_about_commands(policy: CompiledPolicy) -> dict[str, Any]:
    """Return the command rules by verdict, without allow rules for a role."""
    return {
        verdict: [
            _rule_row(rule)
            for rule in policy.rules
            if rule.verdict == verdict
            and rule.subject == "run"
            and rule.kind in ("", "command")
            and not (verdict == "allow" and rule.role)
        ]
        for verdict in ("deny", "ask", "allow")
    }


def _rule_row(rule: PolicyRule) -> dict[str, Any]:
    pattern = ArgvPattern(rule.patterns, rule.id)
    words = rule.line if rule.verdict == "allow" else f"{rule.line} (rule {rule.id})"
    return {
        # Allow rules match the exact word, deny rules any path to the program. Empty: all programs.
        "key": (pattern.program or "") if rule.verdict == "allow" else program_name(pattern.program or ""),
        "program": pattern.program,
        "tokens": [_token_pattern(token) for token in pattern.tokens],
        "spelled": [token.is_spelled for token in pattern.tokens],
        "open": pattern.open,
        "unconfined": rule.unconfined,
        "words": words,
    }


def _token_pattern(token: PatternToken) -> list[str]:
    """Return one position of a pattern: a word, an expression, or anything."""
    if token.kind == "literal":
        return ["word", token.text]
    return ["like", token.regex.pattern] if token.regex is not None else []
