"""How we know our own things again where nothing was written down: in a clone, or after somebody rearranged a file."""

import hashlib
import json
import re
from typing import Any

_MARK = "made by: git nexus harness install ("
_MARKED = re.compile(re.escape(_MARK) + r"([0-9a-f]{16})\)")


def mark() -> str:
    """Return the words for a comment in a file that is ours; `signed` fills in the digest."""
    return f"{_MARK}{'0' * 16})"


def signed(text: str) -> str:
    """Return a text with the digest of all the rest in its mark."""
    return text.replace(mark(), f"{_MARK}{_digest(text)})", 1)


def is_untouched(text: str) -> bool:
    """True for a file of ours that nobody has changed, of whichever version."""
    found = _MARKED.search(text)
    return found is not None and _digest(text) == found[1]


def _digest(text: str) -> str:
    return hashlib.sha256(_MARKED.sub(mark(), text, count=1).encode()).hexdigest()[:16]


def is_our_hook(value: Any, harness: str) -> bool:
    """True for a hook that calls us for this program."""
    return f"nexus hook harness {harness} " in json.dumps(value, ensure_ascii=False).replace("'", "").replace('\\"', "")


def is_our_server(value: Any) -> bool:
    """True for a server that is `git nexus mcp`, with whatever else a person wrote beside it."""
    words = list(_words(value))
    at = next((index for index, word in enumerate(words) if word == "mcp"), 0)
    return at > 0 and (words[at - 1] == "nexus" or words[at - 1].endswith("git-nexus"))


def _words(value: Any) -> list[str]:
    """Return the command line of a server: one list, or a command and its arguments."""
    if not isinstance(value, dict):
        return []
    command, args = value.get("command"), value.get("args")
    line = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    return [word for word in line if isinstance(word, str)]
