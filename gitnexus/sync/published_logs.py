"""Remembers which ended runs have nothing left to publish, so that a sync opens only the logs that changed.

Reads and writes `$NEXUS_HOME/cache/published/<repository>.json`, which no agent can reach; deleting it is safe. A run
stays in it as long as its record and its log are the same.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

from gitnexus import __version__
from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.file_stamp import file_stamp
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.events.log import FILE
from gitnexus.policy.repo_key import repository_key
from gitnexus.state import State
from gitnexus.state.home import home_folder


class PublishedLogs:
    """The ended runs of one repository that are published, each with the mark of its record and log."""

    def __init__(self, state: State, records: Mapping[str, str]) -> None:
        """`records` are the blob ids of the records by run."""
        self._records = records
        self._folder = str(state.repo.common_dir / "nexus" / "runs")
        self._file = home_folder() / "cache" / "published" / f"{repository_key(state.repo.common_dir)}.json"
        self._marks = self._read_marks()
        self._changed = False

    def has(self, run: str) -> bool:
        """True if a run had nothing to publish, and has not changed since."""
        known = self._marks.get(run)
        return known is not None and known == self._mark(run)

    def add(self, run: str) -> None:
        """Remember that a run has nothing to publish as it is now."""
        self._marks[run] = self._mark(run)
        self._changed = True

    def save(self) -> None:
        """Write what is new; without runs that are gone."""
        if not self._changed:
            return
        runs = {run: mark for run, mark in self._marks.items() if run in self._records}
        with contextlib.suppress(OSError):  # a full disk: then the logs are looked at again next time
            make_private_folder(self._file.parent)
            replace_file(self._file, json_document({"version": __version__, "runs": runs}), 0o600, durable=False)

    def _mark(self, run: str) -> str:
        return f"{self._records.get(run, '-')} {file_stamp(f'{self._folder}/{run}/{FILE}')}"

    def _read_marks(self) -> dict[str, Any]:
        try:
            value = parse_json(self._file.read_bytes())
        except (OSError, Invalid):
            return {}
        runs = value.get("runs") if isinstance(value, dict) and value.get("version") == __version__ else None
        return runs if isinstance(runs, dict) else {}
