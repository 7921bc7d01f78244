"""A transport that another one does the work of, and that keeps what became of the state files."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Invalid
from gitnexus.conformance.sandbox import FixtureSandbox
from gitnexus.conformance.transport import Caller, Transport


@dataclass(frozen=True)
class Written:
    """A state file that a tool wrote: as it was before, None if it was not there, and as it is."""

    path: Path
    before: bytes | None
    after: bytes


class Watching:
    """A transport."""

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.written: list[Written] = []

    @property
    def name(self) -> str:
        return self._inner.name

    @asynccontextmanager
    async def open(self, place: FixtureSandbox) -> AsyncIterator[Caller]:
        before = _held(place)
        async with self._inner.open(place) as caller:
            yield caller
        self.written = [
            Written(path, before.get(path), after) for path, after in _held(place).items() if after != before.get(path)
        ]


def complaints(written: list[Written], schemas: dict[str, Any]) -> list[str]:
    """Return what a schema has against the files that a tool wrote, unless they were no better when it found them."""
    found = []
    for file in written:
        schema = schemas.get(f"{file.path.stem}.schema.json")
        if schema is not None and (file.before is None or not _errors(file.before, schema)):
            found += [f"{file.path.name}: {words}" for words in _errors(file.after, schema)]
    return found


def _held(place: FixtureSandbox) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in (place.repository / ".nexus").rglob("*.json") if path.is_file()}


def _errors(raw: bytes, schema: Any) -> list[str]:
    try:
        value = parse_json(raw)
    except Invalid as exc:
        return [exc.message]
    checker = Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)
    return [f"{error.json_path} {error.message}" for error in checker.iter_errors(value)]
