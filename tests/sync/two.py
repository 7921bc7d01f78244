"""A clone as its owner works with it, in this process."""

from pathlib import Path
from typing import Any

from gitnexus.app import open_nexus
from gitnexus.base.canonical import json_document, parse_json
from gitnexus.git import config
from gitnexus.projects.open_state import open_state
from gitnexus.state import STATE_REF
from gitnexus.sync.remote import resolve_remote
from gitnexus.sync.sync import SyncOptions, SyncResult, sync_with_remote
from tests.conftest import run_git


class Clone:
    """One clone."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def sync(self, remote: str | None = None, **asked: Any) -> SyncResult:
        config.config_rows.cache_clear()  # a test has changed it with plain git
        nexus = open_nexus(self.place)
        try:
            return sync_with_remote(nexus.state, resolve_remote(nexus.state, remote), SyncOptions(**asked))
        finally:
            nexus.close()

    def write(self, files: dict[str, bytes | None], why: str = "by hand") -> None:
        state = open_state(self.place)
        state.write(files, why=why)
        state.close()

    def read(self, path: str) -> bytes | None:
        state = open_state(self.place)
        try:
            return state.read(path)
        finally:
            state.close()

    def add(self, number: int, title: str, **fields: Any) -> None:
        task = {"id": f"T{number}", "title": title, "uid": f"uid of {title}", "rev": 1, "status": "pending", **fields}
        self.write({f"backlog/T{number}.json": json_document(task)})

    def task(self, number: int) -> dict[str, Any]:
        found: dict[str, Any] = parse_json(self.read(f"backlog/T{number}.json") or b"{}")
        return found

    @property
    def tip(self) -> str:
        return run_git(self.place, "rev-parse", STATE_REF).strip()

    @property
    def tree(self) -> str:
        return run_git(self.place, "rev-parse", f"{STATE_REF}^{{tree}}").strip()
