"""Canonical spelling of repository paths, and detection of paths that disguise another one. Pure."""

import re
import unicodedata
from functools import lru_cache

from gitnexus.base.errors import Invalid

LONGEST = 4096
# Characters that HFS+ leaves out when it compares names: `.g\u200cit` is `.git` there.
_VANISHING = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff\u200b\u2060-\u2064]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# A shell treats these specially, so a path that contains them is suspicious.
_EXPANDS = re.compile(r"(?:~[A-Za-z0-9_.-]*|\$\{?[A-Z][A-Z0-9_]*\}?|%[A-Z][A-Z0-9_]*%)(?:/|$)")
_ENCODED = re.compile(r"%(?:2[eEfF]|5[cC]|00)")
# NTFS knows .git also as git~1, and where that is taken by a hash: .gitmodules as gitmod~1 or gi7eba~1.
_GIT = re.compile(r"(?:^|(?<=/))(?:\.git|(?:git[a-z]{0,3}|gi[0-9a-f]{4})~[0-9]+)[. ]*(?::[^/]*)?(?:/|$)")
RESERVED = re.compile(r"(?:^|(?<=/))(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³]|conin\$|conout\$)(?:\.[^/]*)?(?:/|$)")
PLAIN = re.compile(
    r"[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*(?:/[A-Za-z0-9_][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*)*"
)


_ODD: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (_CONTROL.pattern, "it holds control characters"),
        (r"\A/", "it begins with /; paths are relative to the top of the repository"),
        (r"/\Z", "it ends with /; write x/** for all that is below x"),
        (rf"\A{_EXPANDS.pattern}", "it begins with ~ or a variable, and nothing expands those here"),
        (_ENCODED.pattern, "it holds an encoded character such as %2e"),
        (r"\\", "it holds a backslash"),
        ("//", "it holds //"),
        (r"(?:\A|/)\.{1,2}(?:/|\Z)", "it holds a part . or .."),
    )
)


def why_path_odd(path: str) -> str | None:
    """Return why `path` is not in canonical spelling below the root, or None."""
    if not path:
        return "it is empty"
    if len(path) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if PLAIN.fullmatch(path):
        return None
    return next((words for pattern, words in _ODD if pattern.search(path)), None)


def is_usual_path(path: str) -> bool:
    """True for a path of ordinary names without a leading dot, as nearly all are."""
    return len(path) <= LONGEST and PLAIN.fullmatch(path) is not None


def require_plain_path(path: str, where: str) -> str:
    """Return `path` if it is in canonical spelling. Raises: Invalid."""
    reason = why_path_odd(path)
    if reason:
        raise Invalid(f"{where}: {path[:80]!r} is not a path that can be judged: {reason}")
    return path


@lru_cache(maxsize=8192)
def fold_path(path: str) -> str:
    """Return `path` folded as by the most tolerant file system; for deny and ask rules."""
    if path.isascii() and " " not in path and "./" not in path and not path.endswith("."):
        return path.lower()
    text = unicodedata.normalize("NFC", _VANISHING.sub("", path).casefold())
    return "/".join(part.rstrip(". ") or part for part in text.split("/"))


def enters_git(path: str) -> bool:
    """True if a component of `path` means .git on any system, or is a short name that may."""
    return _GIT.search(fold_path(path)) is not None


def has_stream(path: str) -> bool:
    """True if a component names an NTFS stream or a drive."""
    return ":" in path


def is_reserved(path: str) -> bool:
    """True if a component is a device name on Windows."""
    return RESERVED.search(fold_path(path)) is not None


def resolve_link(folder: str, target: str) -> str | None:
    """Return the target of a link in `folder` as a path below the root, None if it is outside."""
    if not target or target.startswith(("/", "~")) or "\\" in target or _CONTROL.search(target) or ":" in target:
        return None
    parts = [part for part in folder.split("/") if part]
    for part in target.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)
