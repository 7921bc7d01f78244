"""Keeps the rows that `git nexus runs` made for ended runs, so that a long list reads only the logs that changed.

Reads and writes `$NEXUS_HOME/cache/runs/<repository>.json`, which no agent can reach; deleting it is safe. A row counts
as long as what it was made from is the same: the run's record, log, refs and notes, and for a run from elsewhere also
what decides who is trusted here.
"""

import contextlib
import os
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from gitnexus import __version__
from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.base.file_stamp import file_stamp
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.events.log import FILE
from gitnexus.events.model import sha256_digest
from gitnexus.git.branches import list_refs
from gitnexus.policy.in_force import user_policy_file
from gitnexus.policy.keys import keys_folder
from gitnexus.policy.pins import pin_file
from gitnexus.policy.repo_key import repository_key
from gitnexus.runs.archive import ARCHIVE, LOGS
from gitnexus.runs.ids import BRANCHES
from gitnexus.runs.open_run import notes_folder
from gitnexus.state import State
from gitnexus.state.home import home_folder

_VERSION = f"1 {__version__}"
_NOTES = ("place", "agreed")


class RowCache:
    """The rows of one repository by run, each with the mark of what it was made from."""

    def __init__(self, state: State, records: Mapping[str, str]) -> None:
        """`records` are the blob ids of the records by run."""
        self._state, self._records = state, records
        self._file = home_folder() / "cache" / "runs" / f"{repository_key(state.repo.common_dir)}.json"
        self._folder = str(state.repo.common_dir / "nexus" / "runs")
        self.refs = list_refs(state.repo, BRANCHES, LOGS, ARCHIVE)
        self._archived = _archived_trees(state, self.refs)
        notes = notes_folder(state)
        # The names of the notes that this machine has about runs.
        self.notes = frozenset(os.listdir(notes)) if notes.is_dir() else frozenset()
        self._rows = self._read_rows()
        self._changed = False

    def row(self, run: str) -> dict[str, Any] | None:
        """Return the row of a run, None if there is none or something that it was made from has changed."""
        row = self._rows.get(run)
        if not isinstance(row, dict) or row.get("mark") != self._mark(run):
            return None
        if row.get("trust") and row["trust"] not in (self._trust, self._trust_and_branches):
            return None
        fields = row.get("fields")
        return fields if isinstance(fields, dict) else None

    def keep(self, run: str, fields: dict[str, Any], *, from_elsewhere: bool, claimed: bool) -> None:
        """Keep a row: that of a run from elsewhere as long as the same people are trusted here.

        An end that is only claimed may be proved by a branch of the user's: then it is looked at again.
        """
        trust = self._trust_and_branches if claimed else self._trust if from_elsewhere else ""
        self._rows[run] = {"mark": self._mark(run), "trust": trust, "fields": fields}
        self._changed = True

    def save(self) -> None:
        """Write the rows if one is new; without those of runs that are gone."""
        if not self._changed:
            return
        rows = {run: row for run, row in self._rows.items() if run in self._records}
        with contextlib.suppress(OSError):  # a full disk: then it is made again next time
            make_private_folder(self._file.parent)
            replace_file(self._file, json_document({"version": _VERSION, "rows": rows}), 0o600, durable=False)

    @cached_property
    def _trust(self) -> str:
        """A mark of what decides who is trusted here: policy, settings, approvers, pin and keys."""
        entries = self._state.objects.entries(self._state.required().tree or "").items()
        signed = sorted((name, entry.oid) for name, entry in entries if entry.is_file or name == "policy")
        files = (pin_file(self._state.repo.common_dir), user_policy_file(), keys_folder() / "machine.pub")
        return sha256_digest(repr((signed, [file_stamp(str(file)) for file in files])).encode())

    @cached_property
    def _trust_and_branches(self) -> str:
        branches = list_refs(self._state.repo, "refs/heads")
        users = sorted(oid for ref, oid in branches.items() if not ref.startswith(BRANCHES))
        return sha256_digest(repr((self._trust, users)).encode())

    def _mark(self, run: str) -> str:
        refs = (self.refs.get(f"{BRANCHES}{run}", "-"), self.refs.get(f"{LOGS}{run}") or self._archived.get(run, "-"))
        notes = "".join("1" if f"{run}.{kind}" in self.notes else "0" for kind in _NOTES)
        return f"{self._records[run]} {refs[0]} {refs[1]} {file_stamp(f'{self._folder}/{run}/{FILE}')} {notes}"

    def _read_rows(self) -> dict[str, Any]:
        try:
            value = parse_json(self._file.read_bytes())
        except (OSError, Invalid):
            return {}
        rows = value.get("rows") if isinstance(value, dict) and value.get("version") == _VERSION else None
        return rows if isinstance(rows, dict) else {}


def _archived_trees(state: State, refs: Mapping[str, str]) -> dict[str, str]:
    objects = state.objects
    tips = [oid for ref, oid in refs.items() if ref.startswith(ARCHIVE)]
    return {run: entry.oid for tip in tips for run, entry in objects.entries(objects.tree_of(tip)).items()}
