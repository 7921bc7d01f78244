"""Recognises our own entries where no record exists: in a clone, or after a user rearranged a file."""

import hashlib
import json
import re
from typing import Any

_MARK = "made by: git nexus harness install ("
_MARKED = re.compile(re.escape(_MARK) + r"([0-9a-f]{16})\)")


def blank_signature() -> str:
    """Return the comment text for a file of ours; `with_signature` fills in the digest."""
    return f"{_MARK}{'0' * 16})"


def with_signature(text: str) -> str:
    """Return a text with the digest of its other content in the signature."""
    return text.replace(blank_signature(), f"{_MARK}{_signature_digest(text)})", 1)


def is_unchanged_own_file(text: str) -> bool:
    """Return True for a file of ours, of any version, that nobody has changed."""
    found = _MARKED.search(text)
    return found is not None and _signature_digest(text) == found[1]


def _signature_digest(text: str) -> str:
    return hashlib.sha256(_MARKED.sub(blank_signature(), text, count=1).encode()).hexdigest()[:16]


def is_our_hook(value: Any, harness: str) -> bool:
    """Return True for a hook that calls git nexus for this program."""
    return f"nexus hook harness {harness} " in json.dumps(value, ensure_ascii=False).replace("'", "").replace('\\"', "")


def is_our_server(value: Any) -> bool:
    """Return True for a server that runs `git nexus mcp`, whatever else the user added to it."""
    words = list(_server_command_line(value))
    at = next((index for index, word in enumerate(words) if word == "mcp"), 0)
    return at > 0 and (words[at - 1] == "nexus" or words[at - 1].endswith("git-nexus"))


def _server_command_line(value: Any) -> list[str]:
    """Return the command line of a server: one list, or a command and its arguments."""
    if not isinstance(value, dict):
        return []
    command, args = value.get("command"), value.get("args")
    line = [*(command if isinstance(command, list) else [command]), *(args if isinstance(args, list) else [])]
    return [word for word in line if isinstance(word, str)]
