"""A shortcut for plain calls: what a law says to usual names that no list knows, and no rule but one that allows.

It is a part of the law written out as text, so that it can be asked without loading the gate. Here it knows two
answers: the rule by which a plain file may be written, and that nothing speaks against reading it; `plainrun` has those
about commands. Where it has none the gate itself is asked. Property tests hold it to the gate: it may say less, never
more.
"""

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gitnexus.policy.law import Law


def written_out(law: "Law") -> dict[str, Any]:
    """Return the part of a law that concerns plain paths and commands, as JSON has it."""
    from gitnexus.policy import builtin, paths
    from gitnexus.policy.patterns import narrow
    from gitnexus.policy.plainrun import runs_of

    spoken = [pattern for rule in law.rules if rule.verdict != "allow" for pattern in _paths(rule)]
    unread = [pattern for rule in law.rules if rule.subject == "read" for pattern in rule.patterns]
    # A rule about a whole kind speaks about every file; other modes count or ask nobody.
    whole = any(rule.verdict != "allow" and not rule.subject for rule in law.rules)
    allows = [
        [narrow(pattern), rule.line]
        for rule in law.rules
        if rule.verdict == "allow" and rule.subject == "write" and not rule.role and rule.kind in ("", "patch")
        for pattern in rule.patterns
    ]
    usable = not whole and law.mode in ("default", "acceptEdits")
    return {
        # Where a rule keeps agents from files, a search of a folder above them is for the gate.
        "reads": any(rule.subject == "read" for rule in law.rules),
        "usual": paths.PLAIN.pattern,
        "reserved": paths.RESERVED.pattern,
        # What a rule or a list says anything about, and of that what is not even read.
        "spoken": _parts((*builtin.everything(), *spoken)),
        "unread": _parts((*builtin.secrets(), *unread)),
        "allows": allows if usable and law.unplanned != "require-task" else [],
        "runs": runs_of(law) if usable and law.minimum == "L0" else None,
    }


def _parts(patterns: Iterable[str]) -> dict[str, list[str]]:
    from gitnexus.policy.patterns import Wide

    names, endings, expressions = Wide(tuple(patterns)).parts()
    return {"names": names, "endings": endings, "expressions": expressions}


def _paths(rule: Any) -> tuple[str, ...]:
    return rule.patterns if rule.subject in ("read", "write") else ()


def is_usual(written: Mapping[str, Any], path: str) -> bool:
    """True for a path of plain names: spelled in the one way that paths have here, with nothing to hide in."""
    return len(path) <= 1000 and re.fullmatch(written["usual"], path) is not None


def is_unread(written: Mapping[str, Any], path: str) -> bool:
    """True for a path that may be one of those that nobody reads for an agent."""
    return not _is_unspoken(written["unread"], path)


def is_readable(written: Mapping[str, Any], path: str) -> bool:
    """True for a plain path that nothing keeps an agent from reading."""
    return is_usual(written, path) and not is_unread(written, path)


def _is_unspoken(parts: Mapping[str, Any], path: str) -> bool:
    """True for a path that no pattern speaks about. Where letters have to be folded first, that is not said."""
    if not path.isascii() or " " in path or "./" in path or path.endswith("."):
        return False
    lower = path.lower()
    for part in lower.split("/"):
        if part in parts["names"] or any(part[at:] in parts["endings"] for at in range(len(part)) if part[at] == "."):
            return False
    return not any(re.match(one, lower) for one in parts["expressions"])


def allowing(written: Mapping[str, Any], path: str) -> str | None:
    """Return the line of the rule by which a plain file may be written, None if that is for the gate to say."""
    if not written["allows"] or not is_usual(written, path) or not _is_unspoken(written["spoken"], path):
        return None
    if re.search(written["reserved"], path.lower()):
        return None
    return next((str(line) for pattern, line in written["allows"] if re.fullmatch(pattern, path)), None)
