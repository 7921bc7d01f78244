"""Settings: the project's `settings.json` over the user's; each room checks the part that carries its name."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Invalid
from gitnexus.state.home import home_folder
from gitnexus.state.snapshot import Snapshot

FILE = "settings.json"
# Whether the project's file, with these bytes, was signed by who may.
Trusts = Callable[[Snapshot, bytes], bool]
# What gives agents more room, or takes something away from people: in a project's file it counts only when that is
# signed. Beside each the values that give nothing, and always count.
LOOSENING: dict[str, tuple[Any, ...]] = {
    "catalog.source": (),
    "memory.gc.automatic": (False,),
    "policy.mode": ("default",),
    "policy": (),
    "prompts": (),
    "runs.checks": ([],),
    "runs.copy": ([],),
    "runs.setup": ([],),
    "sandbox": (),
    "workflow": (),
}


def nobody(_snapshot: Snapshot, _raw: bytes) -> bool:
    """Trust no project's file: what holds as long as nobody says otherwise."""
    return False


def section(snapshot: Snapshot, name: str, trusts: Trusts = nobody) -> dict[str, Any]:
    """Return a room's settings: the user's, with the project's over them. Raises: Invalid."""
    found: dict[str, Any] = {}
    for _, layer in layers(snapshot, name, trusts):
        found = merged(found, layer)
    return found


def layers(snapshot: Snapshot | None, name: str, trusts: Trusts = nobody) -> list[tuple[str, dict[str, Any]]]:
    """Return a room's part of each file that has one, with the file's name: the user's, then the project's.

    For what must add up instead of being laid over. Raises: Invalid.
    """
    found = []
    for path, value in _files(snapshot, trusts):
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
    files = _files(snapshot, lambda _snapshot, _raw: True)
    return [(path, key) for path, value in files for key in sorted(value.keys() - set(names))]


def loosening(raw: bytes) -> list[str]:
    """Return the keys of a project's file that count only when it is signed; none of a file that does not parse."""
    try:
        mine = home_folder() / FILE
        return sorted(_all_loose(_read(mine.read_bytes(), FILE) if mine.is_file() else {}, _read(raw, FILE)))
    except Invalid:
        return []


def without_loosening(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without the keys that count only when they are signed."""
    return _without(value, _loose(value))


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `under` with `over` on it: objects key by key, everything else as a whole."""
    both = {**under, **over}
    for key in under.keys() & over.keys():
        if isinstance(under[key], Mapping) and isinstance(over[key], Mapping):
            both[key] = merged(under[key], over[key])
    return both


def _files(snapshot: Snapshot | None, trusts: Trusts) -> list[tuple[str, dict[str, Any]]]:
    mine = home_folder() / FILE
    raw = snapshot.read(FILE) if snapshot is not None else None
    files = [(str(mine), _read(mine.read_bytes(), str(mine)))] if mine.is_file() else []
    if snapshot is not None and raw is not None:
        theirs = _read(raw, f".nexus/{FILE}")
        loose = _all_loose(files[0][1] if files else {}, theirs)
        files.append((f".nexus/{FILE}", theirs if not loose or trusts(snapshot, raw) else _without(theirs, loose)))
    return files


def _all_loose(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Return the keys of `theirs` that loosen; where the user forgets by themself, also what makes that more."""
    by_itself, given = (_gc(value) for value in (mine, theirs))
    more = [f"memory.gc.{key}" for key in given if key != "automatic"] if by_itself.get("automatic") is True else []
    return [*_loose(theirs), *more]


def _gc(value: Mapping[str, Any]) -> Mapping[str, Any]:
    memory = value.get("memory")
    found = memory.get("gc") if isinstance(memory, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _loose(value: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the keys that loosen, dotted: the whole of what is named so, but for values that give nothing."""
    found = []
    for key, item in value.items():
        path = f"{prefix}{key}"
        if any(type(item) is type(one) and item == one for one in LOOSENING.get(path, ())):
            continue
        if isinstance(item, Mapping) and any(name.startswith(f"{path}.") for name in LOOSENING):
            found += _loose(item, f"{path}.")
        elif any(path == name or path.startswith(f"{name}.") for name in LOOSENING):
            found.append(path)
    return found


def _without(value: Mapping[str, Any], loose: Sequence[str], prefix: str = "") -> dict[str, Any]:
    kept = {}
    for key, item in value.items():
        path = f"{prefix}{key}"
        if path not in loose:
            kept[key] = _without(item, loose, f"{path}.") if isinstance(item, Mapping) else item
    return kept


def _read(raw: bytes, path: str) -> dict[str, Any]:
    try:
        value = parse(raw)
    except Invalid as exc:
        raise Invalid(f"{path} is {exc.message}", hint="it is left as it is; repair it by hand") from exc
    if not isinstance(value, dict):
        raise Invalid(f"{path} should be an object", hint="it is left as it is; repair it by hand")
    return value
