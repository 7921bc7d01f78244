"""Three-way merges of one file: JSON by structure, other text by lines, and never a guess."""

from pathlib import Path
from typing import Any

from gitnexus.base.canonical import document, parse
from gitnexus.base.errors import Invalid
from gitnexus.git.child import run

_GONE = object()


class Unmergeable(Exception):
    """Both sides changed the same place."""


def merged(path: str, base: bytes | None, mine: bytes, theirs: bytes) -> bytes:
    """Return both sides' changes in one. Raises: Unmergeable."""
    if theirs in (mine, base):
        return mine
    if mine == base:
        return theirs
    if path.endswith(".json"):
        try:
            return _merged_json(base, mine, theirs)
        except Invalid as exc:
            raise Unmergeable(exc.message) from exc
    if b"\0" in mine + theirs:
        raise Unmergeable("it is not text")
    return _merged_lines(base or b"", mine, theirs)


def merged_values(base: Any, mine: Any, theirs: Any) -> Any:
    """Return the merge of three JSON values: objects key by key, the rest as one. Raises: Unmergeable."""
    if _same(mine, theirs) or _same(theirs, base):
        return mine
    if _same(mine, base):
        return theirs
    if isinstance(mine, dict) and isinstance(theirs, dict):
        old = base if isinstance(base, dict) else {}
        out = {}
        for key in dict.fromkeys([*theirs, *mine]):
            value = merged_values(old.get(key, _GONE), mine.get(key, _GONE), theirs.get(key, _GONE))
            if value is not _GONE:
                out[key] = value
        return out
    raise Unmergeable("both sides changed the same value")


def why_unreadable(path: str, data: bytes) -> str | None:
    """Return why a file cannot be taken in as it is (half written, merge markers), or None if it can."""
    if path.endswith(".json"):
        try:
            parse(data)
        except Invalid as exc:
            return exc.message
        return None
    if not data:
        return "it is empty"  # an editor, a full disk or a power cut leaves that; to delete a file, delete it
    return "it has merge markers" if _has_markers(data) else None


def _has_markers(data: bytes) -> bool:
    lines = data.split(b"\n")
    starts = any(line.startswith(b"<<<<<<< ") for line in lines)
    ends = any(line.startswith(b">>>>>>> ") for line in lines)
    return starts and ends and any(line.rstrip() == b"=======" for line in lines)


def _same(a: Any, b: Any) -> bool:
    # 1, 1.0 and True are equal in Python and different in JSON.
    if a is _GONE or b is _GONE:
        return a is b
    return bool(_typed(a) == _typed(b))


def _typed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    return (isinstance(value, bool), value)


def _merged_json(base: bytes | None, mine: bytes, theirs: bytes) -> bytes:
    return document(merged_values(parse(base) if base is not None else _GONE, parse(mine), parse(theirs)))


def _merged_lines(base: bytes, mine: bytes, theirs: bytes) -> bytes:
    import tempfile  # only a real three-way merge pays

    with tempfile.TemporaryDirectory(prefix="nexus-merge-") as place:
        names = []
        for name, data in (("mine", mine), ("base", base), ("theirs", theirs)):
            names.append(Path(place, name))
            names[-1].write_bytes(data)
        done = run("merge-file", "-p", "-q", *map(str, names), cwd=Path(place))
    if done.returncode != 0:
        raise Unmergeable("both sides changed the same lines")
    return done.stdout
