"""Generates the manifest of a package from its metadata, prompts and vocabularies."""

import json
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.files import replace_file
from gitnexus.catalog.check import MANIFEST, parse_manifest
from gitnexus.catalog.hashing import body_hash
from gitnexus.catalog.manifest import VOCABULARY_FILES
from gitnexus.catalog.model import CONTRACT, SCHEMA_CONTRACT
from gitnexus.catalog.package import member_ids, read_package_file, read_package_yaml, resolve_package_folder

_HEAD = ("nexus_core_version", "nexus_core_commit", "schema_contract_version")


def write_manifest(folder: Path) -> tuple[bool, list[str]]:
    """Write manifest.json, unless something is wrong; return whether it changed, and everything that is wrong."""
    root = resolve_package_folder(folder)
    text, problems = render_manifest(root)
    place = root / MANIFEST
    if problems or (place.is_file() and place.read_text(encoding="utf-8") == text):
        return False, problems
    if place.is_symlink() or place.is_dir():
        return False, [f"{MANIFEST} is a link or a folder and is left alone"]
    replace_file(place, text.encode())
    return True, []


def render_manifest(root: Path) -> tuple[str, list[str]]:
    """Return the manifest of a package as it should be, and what is wrong with its parts."""
    problems: list[str] = []
    if not root.is_dir():
        return "", [f"there is no folder {root}"]
    value: dict[str, Any] = _manifest_versions(root)
    for kind in ("agents", "skills"):
        value[kind] = [
            row for name in member_ids(root, kind) if (row := _manifest_row(root, kind, name, problems)) is not None
        ]
    value["vocabulary"] = {}
    for name, path in VOCABULARY_FILES.items():
        held = read_package_yaml(root, path, problems)
        if isinstance(held, dict):
            value["vocabulary"][name] = held if name == "memory_policy" else held.get(name)
        elif held is not None:
            problems.append(f"{path} should be an object")
    if not problems:  # a missing file would be reported twice
        problems += parse_manifest(value)[1]
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n", problems


def _manifest_versions(root: Path) -> dict[str, Any]:
    """Return the versions: of the existing manifest, else of the contract that we follow."""
    fresh = {"nexus_core_version": CONTRACT, "schema_contract_version": SCHEMA_CONTRACT}
    raw = read_package_file(root, MANIFEST, [])
    try:
        there = parse_json(raw) if raw is not None else {}
    except Invalid:
        there = {}
    known = {key: there[key] for key in _HEAD if key in there} if isinstance(there, dict) else {}
    return {key: {**fresh, **known}[key] for key in _HEAD if key in {**fresh, **known}}


def _manifest_row(root: Path, kind: str, name: str, problems: list[str]) -> dict[str, Any] | None:
    meta = read_package_yaml(root, f"{kind}/{name}/meta.yml", problems)
    raw = read_package_file(root, f"{kind}/{name}/body.md", problems)
    if meta is None or raw is None:
        return None
    if not isinstance(meta, dict):
        problems.append(f"{kind}/{name}/meta.yml should be an object")
        return None
    if meta.get("id", name) != name:
        problems.append(f"{kind}/{name}/meta.yml: its id should be the name of its folder")
    return {**meta, "id": name, "body_hash": body_hash(raw)}
