"""What people and agents write into the state, without its secrets: titles, plans, reasons of commits."""

import json
import re
from collections.abc import Iterator, Mapping

from gitnexus.base.canonical import document
from gitnexus.git.objects import Content

# Folders and files whose texts are for reading. What is signed, or obeyed word by word, is left as it is.
_READ_BY_PEOPLE = ("backlog/", "runs/", "plans/", "research/", "history.json")
_OUR_KEYS = frozenset({"token"})  # of a claim on a task
# The rules take 10 ms to load, and few sentences have one of these: a long word, one with digits, a telling one.
_WORTH_A_LOOK = re.compile(r"(?i)\S{16}|(?=\S{8})[^\s\d]*\d\S|passw|secret|token|key|auth|cred|pwd|://")
_STAMP_OR_ID = re.compile(r"sha256:[0-9a-f]{64}|[0-9a-f]{40,64}|\d{4}-\d\d-\d\d[T0-9:.Z+-]*")


def without_secrets(files: Mapping[str, Content]) -> dict[str, Content]:
    """Return the files of a change as they may be stored."""
    return {path: _redacted(path, data) if path.startswith(_READ_BY_PEOPLE) else data for path, data in files.items()}


def without_secrets_in(why: str) -> str:
    """Return the reason of a commit as it may be stored."""
    if not _WORTH_A_LOOK.search(why):
        return why
    from gitnexus.redaction.stored import redact_text  # as above: only where something may stand

    return redact_text(why)


def _redacted(path: str, data: Content) -> Content:
    if not isinstance(data, bytes) or not any(map(_is_worth_a_look, _texts(path, data))):
        return data
    from gitnexus.redaction.stored import redact_value  # as above

    if not path.endswith(".json"):
        return without_secrets_in(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    value = json.loads(data)
    hidden = redact_value(value, ours=_OUR_KEYS)
    return data if hidden == value else document(hidden)


def _is_worth_a_look(text: str) -> bool:
    return not _STAMP_OR_ID.fullmatch(text) and _WORTH_A_LOOK.search(text) is not None


def _texts(path: str, data: bytes) -> Iterator[str]:
    """Yield the texts of a file: of JSON the values, of any other file the whole."""
    if not path.endswith(".json"):
        yield data.decode("utf-8", "surrogateescape")
        return
    try:
        pending: list[object] = [json.loads(data)]
    except (ValueError, RecursionError):
        return  # whoever reads it says so
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
