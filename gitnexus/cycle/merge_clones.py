"""The histories of two clones that meet: every closed cycle of both, once, the oldest first."""

from collections.abc import Sequence
from typing import Any

from gitnexus.base.canonical import canonical, document, parse
from gitnexus.base.errors import Invalid
from gitnexus.state.join import Joined, Meeting, settle_one
from gitnexus.state.merge import Unmergeable, merged_values


def met(meeting: Meeting, paths: Sequence[str]) -> Joined:
    """Return what our history becomes; one that cannot be read goes by the rule for all files."""
    done = Joined()
    for path in paths:
        base, mine, theirs = meeting.contents(path)
        if mine is not None and theirs is not None and base not in (mine, theirs):
            try:
                done.files[path] = together(base, mine, theirs)
                continue
            except (Invalid, Unmergeable):
                pass
        settle_one(meeting, path, done)
    return done


def together(base: bytes | None, mine: bytes, theirs: bytes) -> bytes:
    """Return a history with the cycles of both. Raises: Invalid, Unmergeable."""
    was, own, other = (_read(raw) if raw is not None else {} for raw in (base, mine, theirs))
    had, ours, others = ({canonical(one): one for one in side.get("cycles", [])} for side in (was, own, other))
    gone = (had.keys() - ours.keys()) | (had.keys() - others.keys())  # corrected by hand
    kept = [one for name, one in {**others, **ours}.items() if name not in gone]
    kept.sort(key=lambda one: (str(one.get("completed_at", "")) if isinstance(one, dict) else "", canonical(one)))
    rest = merged_values(_rest(was), _rest(own), _rest(other))
    return document({**rest, "cycles": kept})


def _rest(value: dict[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key != "cycles"}


def _read(raw: bytes) -> dict[str, Any]:
    value = parse(raw)
    if not isinstance(value, dict) or not isinstance(value.get("cycles", []), list):
        raise Invalid("it is no history")
    return value
