"""Merges the histories of two clones: every closed cycle of both, once, oldest first."""

from collections.abc import Sequence
from typing import Any

from gitnexus.base.canonical import canonical_json, json_document, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.state.join import MergeContext, MergedFiles, merge_plain_file
from gitnexus.state.merge import Unmergeable, merge_json_values


def merge_histories(meeting: MergeContext, paths: Sequence[str]) -> MergedFiles:
    """Return the merged history; one that cannot be parsed is merged like any other file."""
    done = MergedFiles()
    for path in paths:
        base, mine, theirs = meeting.contents(path)
        if mine is not None and theirs is not None and base not in (mine, theirs):
            try:
                done.files[path] = merge_history_bytes(base, mine, theirs)
                continue
            except (Invalid, Unmergeable):
                pass
        merge_plain_file(meeting, path, done)
    return done


def merge_history_bytes(base: bytes | None, mine: bytes, theirs: bytes) -> bytes:
    """Return a history with the cycles of both. Raises: Invalid, Unmergeable."""
    was, own, other = (_parse_history(raw) if raw is not None else {} for raw in (base, mine, theirs))
    had, ours, others = ({canonical_json(one): one for one in side.get("cycles", [])} for side in (was, own, other))
    gone = (had.keys() - ours.keys()) | (had.keys() - others.keys())  # corrected by hand
    kept = [one for name, one in {**others, **ours}.items() if name not in gone]
    kept.sort(key=lambda one: (str(one.get("completed_at", "")) if isinstance(one, dict) else "", canonical_json(one)))
    rest = merge_json_values(_without_cycles(was), _without_cycles(own), _without_cycles(other))
    return json_document({**rest, "cycles": kept})


def _without_cycles(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != "cycles"}


def _parse_history(raw: bytes) -> dict[str, Any]:
    value = parse_json(raw)
    if not isinstance(value, dict) or not isinstance(value.get("cycles", []), list):
        raise Invalid("it is not a history")
    return value
