"""Settings: the project's `settings.json` over the user's; each room checks the part that carries its name."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Invalid
from gitnexus.state.home import home_folder
from gitnexus.state.snapshot import Snapshot

FILE = "settings.json"


def section(snapshot: Snapshot, name: str) -> dict[str, Any]:
    """Return a room's settings: the user's, with the project's over them. Raises: Invalid."""
    mine = home_folder() / FILE
    user = _read(mine.read_bytes(), str(mine)) if mine.is_file() else {}
    raw = snapshot.read(FILE)
    project = _read(raw, f".nexus/{FILE}") if raw is not None else {}
    found = merged(user, project).get(name, {})
    if not isinstance(found, dict):
        raise Invalid(f"{FILE}: {name} should be an object", hint=f"correct .nexus/{FILE}")
    return found


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `under` with `over` on it: objects key by key, everything else as a whole."""
    both = {**under, **over}
    for key in under.keys() & over.keys():
        if isinstance(under[key], Mapping) and isinstance(over[key], Mapping):
            both[key] = merged(under[key], over[key])
    return both


def _read(raw: bytes, path: str) -> dict[str, Any]:
    try:
        value = parse(raw)
    except Invalid as exc:
        raise Invalid(f"{path} is {exc.message}", hint="it is left as it is; repair it by hand") from exc
    if not isinstance(value, dict):
        raise Invalid(f"{path} should be an object", hint="it is left as it is; repair it by hand")
    return value
