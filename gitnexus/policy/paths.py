"""Paths of a repository: the one spelling that rules and requests share, and what hides behind others."""

import re
import unicodedata
from functools import lru_cache

from gitnexus.base.errors import Invalid

LONGEST = 4096
# Characters that HFS+ leaves out when it compares names: `.g\u200cit` is `.git` there.
_VANISHING = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff\u200b\u2060-\u2064]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
# A shell would make something else of these; nobody else would, so who writes them means another file.
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
        (r"\A/", "it begins with /; paths are told from the top of the repository"),
        (r"/\Z", "it ends with /; write x/** for all that is below x"),
        (rf"\A{_EXPANDS.pattern}", "it begins with ~ or a variable, and nothing expands those here"),
        (_ENCODED.pattern, "it holds an encoded character such as %2e"),
        (r"\\", "it holds a backslash"),
        ("//", "it holds //"),
        (r"(?:\A|/)\.{1,2}(?:/|\Z)", "it holds a part . or .."),
    )
)


def why_odd(path: str) -> str | None:
    """Return why `path` is not the one spelling of a file below the root, or None if it is."""
    if not path:
        return "it is empty"
    if len(path) > LONGEST:
        return f"it is longer than {LONGEST} characters"
    if PLAIN.fullmatch(path):
        return None
    return next((words for pattern, words in _ODD if pattern.search(path)), None)


def is_usual(path: str) -> bool:
    """True for a path of plain names without a leading dot, as nearly all are: nothing can hide in it."""
    return len(path) <= LONGEST and PLAIN.fullmatch(path) is not None


def checked(path: str, where: str) -> str:
    """Return `path` if it is spelled as paths are here. Raises: Invalid."""
    reason = why_odd(path)
    if reason:
        raise Invalid(f"{where}: {path[:80]!r} is no path that can be judged: {reason}")
    return path


@lru_cache(maxsize=8192)
def folded(path: str) -> str:
    """Return `path` as the most careless file system would compare it: for what denies and asks."""
    if path.isascii() and " " not in path and "./" not in path and not path.endswith("."):
        return path.lower()
    text = unicodedata.normalize("NFC", _VANISHING.sub("", path).casefold())
    return "/".join(part.rstrip(". ") or part for part in text.split("/"))


def enters_git(path: str) -> bool:
    """True if a part of `path` is a spelling of .git on any system, or a short name that may stand for one."""
    return _GIT.search(folded(path)) is not None


def has_stream(path: str) -> bool:
    """True if a part names an NTFS stream, or a drive."""
    return ":" in path


def is_reserved(path: str) -> bool:
    """True if a part is a device on Windows."""
    return RESERVED.search(folded(path)) is not None


def resolved(folder: str, target: str) -> str | None:
    """Return where a link in `folder` leads, as a path below the root, or None if it leaves it."""
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
