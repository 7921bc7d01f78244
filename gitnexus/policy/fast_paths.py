"""Answers calls about ordinary paths from the precomputed fast rules (`fast_policy`), without importing the gate.

It knows two answers: the rule that allows writing an ordinary file, and that nothing denies reading it; `fast_commands`
answers commands. Otherwise the gate is asked. Property tests compare it with the gate: it may answer less, never more.
"""

import re
from collections.abc import Mapping
from typing import Any


def is_usual(written: Mapping[str, Any], path: str) -> bool:
    """True for a path of ordinary names in canonical spelling."""
    return len(path) <= 1000 and re.fullmatch(written["usual"], path) is not None


def is_unread(written: Mapping[str, Any], path: str) -> bool:
    """True for a path that agents may be denied to read."""
    return not _is_unspoken(written["unread"], path)


def is_readable(written: Mapping[str, Any], path: str) -> bool:
    """True for an ordinary path that nothing denies reading."""
    return is_usual(written, path) and not is_unread(written, path)


def _is_unspoken(parts: Mapping[str, Any], path: str) -> bool:
    """True if no pattern can match `path`. Returns False (unsure) for paths that need Unicode folding."""
    if not path.isascii() or not path.isprintable():
        return False
    # As `paths.fold_path` does it.
    lower = "/".join(part.rstrip(". ") or part for part in path.lower().split("/"))
    for part in lower.split("/"):
        if part in parts["names"] or any(part[at:] in parts["endings"] for at in range(len(part)) if part[at] == "."):
            return False
    return not any(re.match(one, lower) for one in parts["expressions"])


def line_that_allows(written: Mapping[str, Any], path: str) -> str | None:
    """Return the rule that allows writing an ordinary file, None if the gate must decide."""
    if not written["allows"] or not is_usual(written, path) or not _is_unspoken(written["spoken"], path):
        return None
    if re.search(written["reserved"], path.lower()):
        return None
    return next((str(line) for pattern, line in written["allows"] if re.fullmatch(pattern, path)), None)
