"""Where fixtures lie and how a folder of them is read: nothing in it is passed over."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import parse
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.conformance.fixture import Fixture, read

KINDS = ("tools", "scenarios", "lifecycle")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A fixture, or why it cannot be one."""

    test_id: str
    fixture: Fixture | None
    why: str = ""


def home() -> Path:
    """Return the folder of our own fixtures and schemas: beside this file in a wheel, conformance/ in a checkout."""
    packed = Path(__file__).parent / "fixtures-data"
    return packed if packed.is_dir() else Path(__file__).parents[2] / "conformance"


def load(place: Path) -> list[Loaded]:
    """Return every fixture of a file or a folder, in the order of their names. Raises: NotFound."""
    found = [one for path in files(place) for one in _in_file(path)]
    if not found:
        raise NotFound(f"there are no fixtures in {place}", hint=f"a folder with {', '.join(KINDS)} is looked for")
    seen: set[str] = set()
    rows = []
    for one in found:
        twice = one.test_id in seen
        seen.add(one.test_id)
        rows.append(Loaded(one.test_id, None, "another fixture has the same test_id") if twice else one)
    return rows


def files(place: Path) -> list[Path]:
    """Return the fixture files below a folder; without the three kinds of folders, those right inside it."""
    if place.is_file():
        return [place]
    if not place.is_dir():
        raise NotFound(f"there is no folder or file {place}")
    place = place / "fixtures" if (place / "fixtures").is_dir() else place
    kinds = [place / kind for kind in KINDS if (place / kind).is_dir()]
    return [path for kind in kinds for path in sorted(kind.rglob("*.json"))] if kinds else sorted(place.glob("*.json"))


def _in_file(path: Path) -> list[Loaded]:
    name = f"{path.parent.name}/{path.name}"
    try:
        value = parse(path.read_bytes())
    except Invalid as exc:
        return [Loaded(name, None, exc.message)]
    except OSError as exc:
        return [Loaded(name, None, f"cannot be read: {exc.strerror}")]
    rows = value if isinstance(value, list) else [value]
    if not rows:
        return [Loaded(name, None, "the file holds no fixture")]
    return [_one(row, f"{name}[{at}]") for at, row in enumerate(rows)]


def _one(row: Any, name: str) -> Loaded:
    try:
        fixture = read(row)
    except Invalid as exc:
        given = row.get("test_id") if isinstance(row, dict) else None
        return Loaded(given if isinstance(given, str) and given else name, None, f"unusable: {exc.message}")
    return Loaded(fixture.test_id, fixture)
