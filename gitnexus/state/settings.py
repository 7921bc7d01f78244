"""Settings: the project's `settings.json` over the user's; each room checks the part that carries its name."""

from collections.abc import Mapping, Sequence
from typing import Any

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Invalid
from gitnexus.state.home import home_folder
from gitnexus.state.snapshot import Snapshot

FILE = "settings.json"


def section(snapshot: Snapshot, name: str) -> dict[str, Any]:
    """Return a room's settings: the user's, with the project's over them. Raises: Invalid."""
    found: dict[str, Any] = {}
    for _, layer in layers(snapshot, name):
        found = merged(found, layer)
    return found


def layers(snapshot: Snapshot | None, name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return a room's part of each file that has one, with the file's name: the user's, then the project's.

    For what must add up instead of being laid over. Raises: Invalid.
    """
    found = []
    for path, value in _files(snapshot):
        part = value.get(name)
        if part is not None and not isinstance(part, dict):
            raise Invalid(f"{path}: {name} should be an object", hint=f"correct {path}")
        found += [(path, part)] if part is not None else []
    return found


def user_section(name: str) -> dict[str, Any]:
    """Return the user's own settings of a room, which no project can take back. Raises: Invalid."""
    found = layers(None, name)
    return found[0][1] if found else {}


def unknown(snapshot: Snapshot, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return the parts of either file that carry no room's name, with the file. Raises: Invalid."""
    return [(path, key) for path, value in _files(snapshot) for key in sorted(value.keys() - set(names))]


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `under` with `over` on it: objects key by key, everything else as a whole."""
    both = {**under, **over}
    for key in under.keys() & over.keys():
        if isinstance(under[key], Mapping) and isinstance(over[key], Mapping):
            both[key] = merged(under[key], over[key])
    return both


def _files(snapshot: Snapshot | None) -> list[tuple[str, dict[str, Any]]]:
    mine = home_folder() / FILE
    raw = snapshot.read(FILE) if snapshot is not None else None
    files = [(str(mine), mine.read_bytes())] if mine.is_file() else []
    files += [(f".nexus/{FILE}", raw)] if raw is not None else []
    return [(path, _read(held, path)) for path, held in files]


def _read(raw: bytes, path: str) -> dict[str, Any]:
    try:
        value = parse(raw)
    except Invalid as exc:
        raise Invalid(f"{path} is {exc.message}", hint="it is left as it is; repair it by hand") from exc
    if not isinstance(value, dict):
        raise Invalid(f"{path} should be an object", hint="it is left as it is; repair it by hand")
    return value
