"""Removes secrets from titles, plans, commit messages and other text that people and agents write into the state."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitnexus.base.canonical import json_document
from gitnexus.git.objects import Content

# Folders and files whose texts are for reading. What is signed, or obeyed word by word, is left as it is.
_READ_BY_PEOPLE = ("backlog/", "runs/", "plans/", "research/", "memory/", "rules/", "history.json")
_OUR_KEYS = frozenset({"token"})  # of a claim on a task
# The rules take 10 ms to load, and few sentences have one of these: a long word, one with digits, a telling one.
_WORTH_A_LOOK = re.compile(r"(?i)\S{16}|(?=\S{8})[^\s\d]*\d\S|passw|secret|token|key|auth|cred|pwd|://")
_STAMP_OR_ID = re.compile(r"sha256:[0-9a-f]{64}|[0-9a-f]{40,64}|\d{4}-\d\d-\d\d[T0-9:.Z+-]*")
_UID = re.compile("[0-9a-f]{16}")


def without_secrets(files: Mapping[str, Content]) -> dict[str, Content]:
    """Return the files of a change with secrets removed, as they may be stored."""
    return {
        path: _redact_file(path, data) if path.startswith(_READ_BY_PEOPLE) else data for path, data in files.items()
    }


def reason_without_secrets(why: str) -> str:
    """Return the commit message of a change with secrets removed."""
    if not _WORTH_A_LOOK.search(why):
        return why
    from gitnexus.redaction.stored import redact_text  # as above: only where something may stand

    return redact_text(why)


def as_stored(value: Any) -> Any:
    """Return a JSON value as the state stores it, so that a command's answer equals what was stored."""
    return _hidden(value) if any(map(_is_worth_a_look, _texts_in(value))) else value


def _hidden(value: Any) -> Any:
    from gitnexus.redaction.stored import redact_value  # as above

    return redact_value(value, ours=_OUR_KEYS)


def _redact_file(path: str, data: Content) -> Content:
    if not isinstance(data, bytes) or not any(map(_is_worth_a_look, _texts_of_file(path, data))):
        return data
    if not path.endswith(".json"):
        return reason_without_secrets(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    value = json.loads(data)
    hidden = _hidden(value)
    return data if hidden == value else json_document(hidden)


def _is_worth_a_look(text: str) -> bool:
    return not _STAMP_OR_ID.fullmatch(text) and _WORTH_A_LOOK.search(text) is not None


def _texts_of_file(path: str, data: bytes) -> Iterator[str]:
    """Yield the texts of a file: the values of JSON, or the whole of any other file."""
    if not path.endswith(".json"):
        yield data.decode("utf-8", "surrogateescape")
        return
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return  # the reader reports it
    yield from _texts_in(value)


def _texts_in(whole: object) -> Iterator[str]:
    pending = [whole]
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            pending += (item for key, item in value.items() if not _is_uid(key, item))
        elif isinstance(value, (list, tuple)):
            pending += value


def _is_uid(key: str, value: object) -> bool:
    """Return True for the random id that we gave a task: no secret, and in every task that is written."""
    return key == "uid" and isinstance(value, str) and _UID.fullmatch(value) is not None
