"""Merges three versions of one file: JSON by structure, other text by lines. Raises an error instead of guessing."""

from pathlib import Path
from typing import Any

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.git.child import run_git

_GONE = object()


class Unmergeable(Exception):
    """Both sides changed the same place."""


def merge_file(path: str, base: bytes | None, mine: bytes, theirs: bytes) -> bytes:
    """Return the content with both sides' changes. Raises: Unmergeable."""
    if theirs in (mine, base):
        return mine
    if mine == base:
        return theirs
    if path.endswith(".json"):
        try:
            return _merge_json(base, mine, theirs)
        except Invalid as exc:
            raise Unmergeable(exc.message) from exc
    if b"\0" in mine + theirs:
        raise Unmergeable("it is not text")
    return _merge_lines(base or b"", mine, theirs)


def merge_json_values(base: Any, mine: Any, theirs: Any) -> Any:
    """Return the merge of three JSON values: objects key by key, other values as a whole. Raises: Unmergeable."""
    if _is_same_value(mine, theirs) or _is_same_value(theirs, base):
        return mine
    if _is_same_value(mine, base):
        return theirs
    if isinstance(mine, dict) and isinstance(theirs, dict):
        old = base if isinstance(base, dict) else {}
        out = {}
        for key in dict.fromkeys([*theirs, *mine]):
            value = merge_json_values(old.get(key, _GONE), mine.get(key, _GONE), theirs.get(key, _GONE))
            if value is not _GONE:
                out[key] = value
        return out
    raise Unmergeable("both sides changed the same value")


def why_unreadable(path: str, data: bytes) -> str | None:
    """Return why a file cannot be accepted as it is (half written, merge markers), or None."""
    if path.endswith(".json"):
        try:
            parse_json(data)
        except Invalid as exc:
            return exc.message
        return None
    if not data:
        return "it is empty"  # an editor, a full disk or a power cut leaves that; to delete a file, delete it
    return "it has merge markers" if _has_conflict_markers(data) else None


def _has_conflict_markers(data: bytes) -> bool:
    lines = data.split(b"\n")
    starts = any(line.startswith(b"<<<<<<< ") for line in lines)
    ends = any(line.startswith(b">>>>>>> ") for line in lines)
    return starts and ends and any(line.rstrip() == b"=======" for line in lines)


def _is_same_value(a: Any, b: Any) -> bool:
    # 1, 1.0 and True are equal in Python and different in JSON.
    if a is _GONE or b is _GONE:
        return a is b
    return bool(_with_types(a) == _with_types(b))


def _with_types(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_types(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_types(item) for item in value]
    return (isinstance(value, bool), value)


def _merge_json(base: bytes | None, mine: bytes, theirs: bytes) -> bytes:
    return json_document(
        merge_json_values(parse_json(base) if base is not None else _GONE, parse_json(mine), parse_json(theirs))
    )


def _merge_lines(base: bytes, mine: bytes, theirs: bytes) -> bytes:
    import tempfile  # only a real three-way merge pays

    with tempfile.TemporaryDirectory(prefix="nexus-merge-") as place:
        names = []
        for name, data in (("mine", mine), ("base", base), ("theirs", theirs)):
            names.append(Path(place, name))
            names[-1].write_bytes(data)
        done = run_git("merge-file", "-p", "-q", *map(str, names), cwd=Path(place))
    if done.returncode != 0:
        raise Unmergeable("both sides changed the same lines")
    return done.stdout
