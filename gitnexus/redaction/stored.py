"""Redacts text, values and files before they are stored or pushed, by secret form, name and known value."""

import json
import os
import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from gitnexus.redaction.hide import redact
from gitnexus.redaction.values import Values

_CREDENTIALS = (
    *(".netrc", ".npmrc", ".pypirc", ".git-credentials", ".aws/credentials", ".docker/config.json"),
    # Sign-ins of agents' programs, which a run may be lent.
    *(".claude/.credentials.json", ".codex/auth.json", ".local/share/opencode/auth.json"),
)
_NUMBERS_AND_IDS = re.compile(r"sha256:[0-9a-f]{64}|[0-9a-f]{40,64}|[0-9TZ:.-]*")


@cache
def known_secret_values() -> Values:
    """Return the secrets known on this machine: from the environment and the user's credential files."""
    known = Values.from_environment(os.environ)
    for name in _CREDENTIALS:
        path = Path.home() / name
        try:
            if path.is_file() and path.stat().st_size < 1_000_000:
                known = known | Values.from_file(path.name, path.read_text("utf-8", "replace"))
        except OSError:
            continue
    return known


def redact_text(text: str, *, values: bool = True) -> str:
    """Return `text` as it may be stored. Without `values`, only forms count: for names that others look up."""
    if len(text) < 8 or _NUMBERS_AND_IDS.fullmatch(text):
        return text
    return redact(text, known_secret_values() if values else None).text


def redact_value(value: Any, name: str = "", ours: frozenset[str] = frozenset()) -> Any:
    """Return a JSON value with all its texts and keys redacted for storage; `name` is the key of the value.

    A key in `ours` says nothing about its value: the `token` of a claim is not a secret.
    """
    if isinstance(value, str):
        return redact_text(value) if name in ours else _redact_with_name(name, value)
    if isinstance(value, dict):
        return {redact_text(key): redact_value(item, key, ours) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact_value(item, name, ours) for item in value]
    return value


def redact_file(name: str, data: bytes) -> bytes:
    """Return the bytes of a file as they may be stored; JSON is redacted text by text, so that it stays valid."""
    if name.endswith(".json"):
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            pass
        else:
            hidden = redact_value(value)
            return data if hidden == value else json.dumps(hidden, ensure_ascii=True).encode()
    return redact(data, known_secret_values()).text


def _redact_with_name(name: str, text: str) -> str:
    """Return a redacted text; the name before a text may be what identifies it as a secret."""
    hidden = redact_text(text)
    if hidden != text or not name or "\n" in text or len(text) < 8:
        return hidden
    before = f'"{name}": "'
    beside = redact(f'{before}{text}"').text
    return beside[len(before) : -1] if beside.startswith(before) and beside != f'{before}{text}"' else hidden


def holds_secret(words: Sequence[str]) -> bool:
    """Return True if a word of a command is a secret, by itself or by the word before it (`--password …`)."""
    pairs = (f"{before} {word}" for before, word in pairwise(words))
    return any(redact_text(text) != text for text in (*words, *pairs))
