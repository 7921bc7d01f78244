"""Merges the project's `settings.json` over the user's. Each room validates the section that carries its name."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.files import replace_file
from gitnexus.base.spelling import closest_word
from gitnexus.base.text import one_line
from gitnexus.state.home import home_folder
from gitnexus.state.snapshot import Snapshot

FILE = "settings.json"
PROJECT_FILE = f".nexus/{FILE}"
# The sections of a settings file, each the name of what reads it.
SECTIONS = ("audit", "catalog", "memory", "policy", "prompts", "runs", "sandbox", "sync", "workflow")
# The keys of sections that no document describes; misspelt, they would silently not count.
_KEYS_OF_SECTION: dict[str, tuple[str, ...]] = {
    "audit": ("reads",),
    "catalog": ("source", "capabilities"),
    "policy": ("bypass",),
    "runs": ("copy", "setup", "checks"),
    "sandbox": (),
    "sync": ("refs",),
}
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


def trust_nobody(_snapshot: Snapshot, _raw: bytes) -> bool:
    """Trust no project's settings file: the default."""
    return False


def settings_section(snapshot: Snapshot, name: str, trusts: Trusts = trust_nobody) -> dict[str, Any]:
    """Return a room's settings: the user's, overlaid by the project's. Raises: Invalid."""
    found: dict[str, Any] = {}
    for _, layer in settings_layers(snapshot, name, trusts):
        found = merge_settings(found, layer)
    return found


def settings_layers(
    snapshot: Snapshot | None, name: str, trusts: Trusts = trust_nobody
) -> list[tuple[str, dict[str, Any]]]:
    """Return a room's section of each settings file with the file's name: the user's, then the project's.

    For settings that add up instead of overriding each other. Raises: Invalid.
    """
    found = []
    for path, value in _settings_files(snapshot, trusts):
        part = value.get(name)
        if part is not None and not isinstance(part, dict):
            raise Invalid(f"{path}: {name} should be an object", hint=f"correct {path}")
        found += [(path, part)] if part is not None else []
    return found


def user_settings_section(name: str) -> dict[str, Any]:
    """Return the user's own settings of a room, which no project can override. Raises: Invalid."""
    found = settings_layers(None, name)
    return found[0][1] if found else {}


def write_user_settings(change: Callable[[dict[str, Any]], dict[str, Any]]) -> Path:
    """Write the user's own settings file again with a change, all of it or nothing, and return its path.

    Raises: Invalid.
    """
    mine = home_folder() / FILE
    before = _parse_settings(mine.read_bytes(), str(mine)) if mine.is_file() else {}
    after = change(before)
    if after != before:
        mine.parent.mkdir(parents=True, exist_ok=True)
        replace_file(mine, (json.dumps(after, indent=2, ensure_ascii=False) + "\n").encode(), 0o600)
    return mine


def unknown_keys(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return the sections of either file that nothing reads, and such keys of sections, with the file.

    Raises: Invalid.
    """
    found = []
    for path, value in _settings_files(snapshot, lambda _snapshot, _raw: True):
        found += [(path, name) for name in sorted(value.keys() - set(SECTIONS))]
        found += [(path, ".".join(names)) for names, _ in _unknown_section_keys(value)]
    return found


def _unknown_section_keys(value: Mapping[str, Any]) -> list[tuple[tuple[str, str], tuple[str, ...]]]:
    """Return the keys that their section does not have, each with those that it has."""
    return [
        ((name, key), known)
        for name, known in _KEYS_OF_SECTION.items()
        if isinstance(section := value.get(name), Mapping)
        for key in sorted(section.keys() - set(known))
    ]


def loosening_keys_in(raw: bytes) -> list[str]:
    """Return the keys of a project's file that are in force only if it is signed; empty if it does not parse."""
    try:
        mine = home_folder() / FILE
        return sorted(
            _all_loosening_keys(
                _parse_settings(mine.read_bytes(), FILE) if mine.is_file() else {}, _parse_settings(raw, FILE)
            )
        )
    except Invalid:
        return []


def without_loosening_keys(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without the keys that are in force only if signed."""
    return _without_keys(value, _collect_loosening_keys(value))


def merge_settings(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return `under` overlaid by `over`: objects key by key, other values as a whole."""
    both = {**under, **over}
    for key in under.keys() & over.keys():
        if isinstance(under[key], Mapping) and isinstance(over[key], Mapping):
            both[key] = merge_settings(under[key], over[key])
    return both


def _settings_files(snapshot: Snapshot | None, trusts: Trusts) -> list[tuple[str, dict[str, Any]]]:
    mine = home_folder() / FILE
    raw = snapshot.read(FILE) if snapshot is not None else None
    files = [(str(mine), _parse_settings(mine.read_bytes(), str(mine)))] if mine.is_file() else []
    if snapshot is not None and raw is not None:
        theirs = _parse_settings(raw, PROJECT_FILE)
        loose = _all_loosening_keys(files[0][1] if files else {}, theirs)
        files.append((PROJECT_FILE, theirs if not loose or trusts(snapshot, raw) else _without_keys(theirs, loose)))
    return files


def _all_loosening_keys(mine: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    """Return the keys of `theirs` that loosen security; with automatic deletion enabled, also keys that extend it."""
    by_itself, given = (_gc_settings(value) for value in (mine, theirs))
    more = [f"memory.gc.{key}" for key in given if key != "automatic"] if by_itself.get("automatic") is True else []
    return [*_collect_loosening_keys(theirs), *more]


def _gc_settings(value: Mapping[str, Any]) -> Mapping[str, Any]:
    memory = value.get("memory")
    found = memory.get("gc") if isinstance(memory, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _collect_loosening_keys(value: Mapping[str, Any], prefix: str = "") -> list[str]:
    """Return the loosening keys, dotted; a key counts with its whole value, unless that value grants nothing."""
    found = []
    for key, item in value.items():
        path = f"{prefix}{key}"
        if any(type(item) is type(one) and item == one for one in LOOSENING.get(path, ())):
            continue
        if isinstance(item, Mapping) and any(name.startswith(f"{path}.") for name in LOOSENING):
            found += _collect_loosening_keys(item, f"{path}.")
        elif any(path == name or path.startswith(f"{name}.") for name in LOOSENING):
            found.append(path)
    return found


def _without_keys(value: Mapping[str, Any], loose: Sequence[str], prefix: str = "") -> dict[str, Any]:
    kept = {}
    for key, item in value.items():
        path = f"{prefix}{key}"
        if path not in loose:
            kept[key] = _without_keys(item, loose, f"{path}.") if isinstance(item, Mapping) else item
    return kept


def _parse_settings(raw: bytes, path: str) -> dict[str, Any]:
    try:
        value = parse_json(raw)
    except Invalid as exc:
        raise Invalid(f"{path} is {exc.message}", hint="it is left as it is; repair it by hand") from exc
    if not isinstance(value, dict):
        raise Invalid(f"{path} should be an object", hint="it is left as it is; repair it by hand")
    for name in value.keys() - set(SECTIONS):
        if close := closest_word(name, SECTIONS):
            raise Invalid(f"{path}: {one_line(name, 60)} is not known", hint=f"did you mean {close}?")
    for (name, key), known in _unknown_section_keys(value):
        if close := closest_word(key, known):
            raise Invalid(f"{path}: {name}: {one_line(key, 60)} is not known", hint=f"did you mean {close}?")
    return value
