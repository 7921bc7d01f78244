"""Finds the folder of fixtures and reads all of it: no file in it is skipped."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.conformance.fixture import Fixture, parse_fixture

KINDS = ("tools", "scenarios", "lifecycle")


@dataclass(frozen=True, slots=True)
class LoadedFixture:
    """A fixture, or why it cannot be one."""

    test_id: str
    fixture: Fixture | None
    why: str = ""


def fixtures_home() -> Path:
    """Return the folder of our own fixtures and schemas: beside this file in a wheel, conformance/ in a checkout."""
    packed = Path(__file__).parent / "fixtures-data"
    return packed if packed.is_dir() else Path(__file__).parents[2] / "conformance"


def load_fixtures(place: Path) -> list[LoadedFixture]:
    """Return every fixture of a file or a folder, in the order of their names. Raises: NotFound."""
    found = [one for path in fixture_files(place) for one in _load_file(path)]
    if not found:
        raise NotFound(f"there are no fixtures in {place}", hint=f"a folder with {', '.join(KINDS)} is looked for")
    seen: set[str] = set()
    rows = []
    for one in found:
        twice = one.test_id in seen
        seen.add(one.test_id)
        rows.append(LoadedFixture(one.test_id, None, "another fixture has the same test_id") if twice else one)
    return rows


def fixture_files(place: Path) -> list[Path]:
    """Return the fixture files below a folder; without the three kinds of folders, those right inside it."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise NotFound(f"there is no folder or file {place}")
    place = place / "fixtures" if (place / "fixtures").is_dir() else place
    kinds = [place / kind for kind in KINDS if (place / kind).is_dir()]
    return [path for kind in kinds for path in sorted(kind.rglob("*.json"))] if kinds else sorted(place.glob("*.json"))


def _load_file(path: Path) -> list[LoadedFixture]:
    name = f"{path.parent.name}/{path.name}"
    try:
        value = parse_json(path.read_bytes())
    except Invalid as exc:
        return [LoadedFixture(name, None, exc.message)]
    except OSError as exc:
        return [LoadedFixture(name, None, f"cannot be read: {exc.strerror}")]
    rows = value if isinstance(value, list) else [value]
    if not rows:
        return [LoadedFixture(name, None, "the file holds no fixture")]
    return [_load_row(row, f"{name}[{at}]") for at, row in enumerate(rows)]


def _load_row(row: Any, name: str) -> LoadedFixture:
    try:
        fixture = parse_fixture(row)
    except Invalid as exc:
        given = row.get("test_id") if isinstance(row, dict) else None
        return LoadedFixture(given if isinstance(given, str) and given else name, None, f"unusable: {exc.message}")
    return LoadedFixture(fixture.test_id, fixture)
