"""Loads a catalog from a folder in the nexus-core layout; returns the catalog or every problem found."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.catalog.builtin import builtin_catalog
from gitnexus.catalog.catalog import Catalog
from gitnexus.catalog.check import MANIFEST, parse_manifest, parse_vocabulary
from gitnexus.catalog.hashing import body_hash
from gitnexus.catalog.manifest import VOCABULARY_FILES
from gitnexus.catalog.model import Agent, Skill
from gitnexus.catalog.yamltext import parse_yaml
from gitnexus.state import disk

_LARGEST = 1024 * 1024


@dataclass(frozen=True, slots=True)
class LoadedCatalog:
    """A whole catalog, or none and why: each problem is the file and a sentence."""

    catalog: Catalog | None
    problems: tuple[str, ...]


def load_package(folder: Path) -> LoadedCatalog:
    """Read the package in `folder`. Only plain files below it are opened, and no link is followed."""
    root = resolve_package_folder(folder)
    try:
        return _load_from_root(root) if root.is_dir() else LoadedCatalog(None, (f"there is no folder {folder}",))
    except OSError as exc:
        return LoadedCatalog(None, (f"{exc.filename or folder} cannot be read: {exc.strerror}",))


def resolve_package_folder(folder: Path) -> Path:
    """Return the real folder of a package. A package manager may link to it; links inside it are refused."""
    return Path(os.path.realpath(folder))


def _load_from_root(root: Path) -> LoadedCatalog:
    problems: list[str] = []
    value = _read_json(root, MANIFEST, problems)
    if value is None:
        return LoadedCatalog(None, tuple(problems))
    manifest, wrong = parse_manifest(value)
    problems += wrong
    if manifest is None:
        return LoadedCatalog(None, tuple(problems))
    bodies: dict[str, str] = {}
    for kind, rows in (("agents", manifest.agents), ("skills", manifest.skills)):
        for row in rows:
            _read_member(root, f"{kind}/{row.id}", row, bodies, problems)
        problems += _unlisted_members(root, kind, {row.id for row in rows})
    problems += vocabulary_problems(root, value.get("vocabulary"))
    if problems:
        return LoadedCatalog(None, tuple(dict.fromkeys(problems)))
    ours = tuple(builtin_catalog().capabilities.values())
    return LoadedCatalog(Catalog(str(root), value, bodies.__getitem__, also=ours), ())


def vocabulary_problems(root: Path, words: Any) -> list[str]:
    """Return what is wrong with the files of a vocabulary, in themselves and beside what the manifest has of them."""
    problems: list[str] = []
    for name, path in VOCABULARY_FILES.items():
        listed = words.get(name) if isinstance(words, dict) else None
        if listed is None and not (root / path).exists():
            continue  # older packages have fewer words
        value = read_package_yaml(root, path, problems)
        if value is None:
            continue
        if not isinstance(value, dict) or (name != "memory_policy" and name not in value):
            problems.append(f"{path} should be an object with {name}")
            continue
        held = value if name == "memory_policy" else value[name]
        parse_vocabulary(name, held, path, problems)
        problems += [f"{path}: {one}" for one in _vocabulary_differences(held, listed)]
    return problems


def read_package_yaml(root: Path, path: str, problems: list[str]) -> Any:
    """Return the value of a YAML file of a package, None (and a problem) if it is missing or invalid."""
    raw = read_package_file(root, path, problems)
    if raw is None:
        return None
    try:
        value = parse_yaml(raw)
    except Invalid as exc:
        problems.append(f"{path}: {exc.message}")
        return None
    if value is None:
        problems.append(f"{path} is empty")
    return value


def read_package_file(root: Path, path: str, problems: list[str]) -> bytes | None:
    """Return the bytes of a plain file of a package, None with a problem if it cannot be had."""
    if any((root / part).is_symlink() for part in _path_prefixes(path)):
        problems.append(f"{path} is a link, or is reached through one; only plain files are read")
        return None
    try:
        held = disk.load_path(root, path, _LARGEST)
    except (NexusError, OSError) as exc:
        words = exc.message if isinstance(exc, NexusError) else f"it cannot be read: {exc.strerror}"
        problems.append(f"{path}: {words}")
        return None
    if held is None:
        problems.append(f"{path} is missing")
        return None
    return held[0]


def member_ids(root: Path, kind: str) -> list[str]:
    """Return the ids for which a package has a folder."""
    place = root / kind
    if place.is_symlink() or not place.is_dir():
        return []
    return sorted(entry.name for entry in place.iterdir() if entry.is_dir() or entry.is_symlink())


def _read_member(root: Path, path: str, row: Agent | Skill, bodies: dict[str, str], problems: list[str]) -> None:
    raw = read_package_file(root, f"{path}/body.md", problems)
    if raw is not None:
        if body_hash(raw) != row.body_hash:
            problems.append(f"{path}/body.md has the hash {body_hash(raw)}, the manifest says {row.body_hash[:80]}")
        try:
            bodies[path] = raw.decode("utf-8")
        except UnicodeDecodeError as exc:
            problems.append(f"{path}/body.md: byte {exc.start} is not UTF-8")
    meta = read_package_yaml(root, f"{path}/meta.yml", problems)
    if meta is None:
        return
    if not isinstance(meta, dict):
        problems.append(f"{path}/meta.yml should be an object")
        return
    listed, given = _comparable_fields(row.plain()), _comparable_fields({"id": row.id, **meta})
    for key in sorted(listed.keys() | given.keys()):
        if listed.get(key) != given.get(key):
            problems.append(f"{path}/meta.yml: {key} is not what the manifest says")


def _comparable_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return what metadata and manifest should agree on: not the hash, nor what goes without saying."""
    return {key: held for key, held in fields.items() if key != "body_hash" and held not in ([], False, None)}


def _unlisted_members(root: Path, kind: str, known: set[str]) -> Iterator[str]:
    yield from (f"{kind}/{name} is not in {MANIFEST}" for name in member_ids(root, kind) if name not in known)


def _vocabulary_differences(held: Any, listed: Any) -> Iterator[str]:
    """Yield the differences of a vocabulary file and the manifest; the file may leave fields out, like upstream's."""
    if listed is None:
        yield f"{MANIFEST} does not have it"
    elif isinstance(held, list) and isinstance(listed, list):
        there, said = _rows_by_id(held), _rows_by_id(listed)
        yield from (f"{ident} is not in {MANIFEST}" for ident in there if ident not in said)
        yield from (f"{ident} is in {MANIFEST} and not here" for ident in said if ident not in there)
        for ident in (ident for ident in there if ident in said):
            for key, value in said[ident].items():
                if there[ident].get(key) != value:
                    yield f"{ident}: {key} is not what the manifest says"
    elif held != listed:
        yield "it is not what the manifest says"


def _rows_by_id(rows: Sequence[Any]) -> dict[str, Mapping[str, Any]]:
    return {str(row.get("id")): row for row in rows if isinstance(row, dict)}


def _read_json(root: Path, path: str, problems: list[str]) -> Any:
    raw = read_package_file(root, path, problems)
    if raw is None:
        return None
    try:
        return parse_json(raw)
    except Invalid as exc:
        problems.append(f"{path}: {exc.message}")
        return None


def _path_prefixes(path: str) -> Iterator[str]:
    words = path.split("/")
    return ("/".join(words[: at + 1]) for at in range(len(words)))
