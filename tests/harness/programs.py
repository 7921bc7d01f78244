"""A program that calls our hook: in this process, with its own stdin, stdout and stderr."""

import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gitnexus.harness.model import Event
from gitnexus.hooks.harness import run_harness_hook
from tests.harness.payloads import RECORDED, placed


class Heard(NamedTuple):
    """What a hook answered."""

    status: int
    out: bytes
    err: str

    @property
    def said(self) -> dict[str, Any]:
        found = json.loads(self.out) if self.out else {}
        assert isinstance(found, dict)
        return found

    @property
    def context(self) -> str:
        own = self.said.get("hookSpecificOutput", {})
        return str(own.get("additionalContext") or self.said.get("context") or "")

    @property
    def notice(self) -> str:
        return str(self.said.get("systemMessage") or self.said.get("notice") or "")


class Program:
    """One program at work in a project."""

    def __init__(self, name: str, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.name, self.place, self._patch = name, place, monkeypatch
        self.folder = place / ".nexus" / "state" / name

    def __call__(self, event: Event, **more: object) -> Heard:
        """Send what was recorded, with some fields changed."""
        return self.send(event, json.dumps(placed(RECORDED[self.name][event], self.place, **more)).encode())

    def send(self, event: str, raw: bytes) -> Heard:
        out, err = io.BytesIO(), io.StringIO()
        shown = io.TextIOWrapper(out, write_through=True)
        with self._patch.context() as patched:
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(raw)))
            patched.setattr(sys, "stdout", shown)
            patched.setattr(sys, "stderr", err)
            patched.chdir(self.place)
            status = run_harness_hook([self.name, event])
        shown.flush()
        return Heard(status, out.getvalue(), err.getvalue())

    def file(self, name: str) -> Any:
        """Return the JSON in a file of this program's folder."""
        return json.loads((self.folder / name).read_text())

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder.parent / "tool-log.jsonl").read_text().splitlines()]
