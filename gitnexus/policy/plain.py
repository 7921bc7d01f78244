"""A shortcut for plain paths: what a law says to usual names that no list knows, and no rule but one that allows.

It is a part of the law written out as text, so that it can be asked without loading the gate. It knows two answers: the
rule by which a plain file may be written, and that nothing speaks against reading it. Where it has none the gate itself
is asked. A property test holds it to the gate: it may say less, never more.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.policy.law import Law


def written_out(law: "Law") -> dict[str, Any]:
    """Return the part of a law that concerns plain paths, as JSON has it."""
    from gitnexus.policy import builtin, paths
    from gitnexus.policy.patterns import Wide, narrow

    paths_of = [pattern for rule in law.rules if rule.verdict != "allow" for pattern in _paths(rule)]
    names, endings, expressions = Wide((*builtin.everything(), *paths_of)).parts()
    # A rule about a whole kind speaks about every file; other modes count or ask nobody.
    whole = any(rule.verdict != "allow" and not rule.subject for rule in law.rules)
    allows = [
        [narrow(pattern), rule.line]
        for rule in law.rules
        if rule.verdict == "allow" and rule.subject == "write" and not rule.role and rule.kind in ("", "patch")
        for pattern in rule.patterns
    ]
    usable = not whole and law.mode in ("default", "acceptEdits") and law.unplanned != "require-task"
    return {
        "usual": paths.PLAIN.pattern,
        "reserved": paths.RESERVED.pattern,
        "names": names,
        "endings": endings,
        "expressions": expressions,
        "allows": allows if usable else [],
    }


def _paths(rule: Any) -> tuple[str, ...]:
    return rule.patterns if rule.subject in ("read", "write") else ()


def is_unspoken(written: Mapping[str, Any], path: str) -> bool:
    """True for a plain path that no list and no rule speaks about, but perhaps one that allows."""
    if len(path) > 1000 or not re.fullmatch(written["usual"], path):
        return False
    lower = path.lower()
    for part in lower.split("/"):
        if part in written["names"] or any(
            part[at:] in written["endings"] for at in range(len(part)) if part[at] == "."
        ):
            return False
    return not any(re.match(one, lower) for one in written["expressions"])


def allowing(written: Mapping[str, Any], path: str) -> str | None:
    """Return the line of the rule by which a plain file may be written, None if that is for the gate to say."""
    if not written["allows"] or not is_unspoken(written, path) or re.search(written["reserved"], path.lower()):
        return None
    return next((str(line) for pattern, line in written["allows"] if re.fullmatch(pattern, path)), None)
