"""The trash: moves folders into it, and deletes them after a week, never while a process is in them."""

import contextlib
import errno
import os
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gitnexus.base.clock import format_timestamp
from gitnexus.base.clock import parse_timestamp as moment_of
from gitnexus.base.errors import Invalid
from gitnexus.base.files import remove_tree, replace_file
from gitnexus.base.randomness import random_hex
from gitnexus.base.record import StoredRecord

KEPT = timedelta(days=7)
_BESIDE = ".nexus-trash-"
_NAME = re.compile(r"[0-9a-z-]{1,60}")
_PROCESSES = Path("/proc")


class TrashEntry(StoredRecord):
    """A trashed folder with time and path; `keep` if it holds unique content, so that it stays."""

    name: str
    run: str
    at: str
    place: str
    keep: bool = False


@dataclass(frozen=True, slots=True)
class Trash:
    """The trash of one repository."""

    common_dir: Path

    @property
    def folder(self) -> Path:
        """The trash folder, on the repository's disk, which usually has the worktrees too."""
        return self.common_dir / "nexus" / "trash"

    def put(self, folder: Path, run: str, now: datetime, *, keep: bool = False) -> Path:
        """Move a folder into the trash; return its new path. Raises: OSError; then it was not moved."""
        name = f"{run}-{random_hex(8)}"
        inside, beside = self.folder / name, folder.parent / f"{_BESIDE}{name}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._write_entry(TrashEntry(name=name, run=run, at=format_timestamp(now), place=str(inside), keep=keep))
        try:
            folder.rename(inside)
        except OSError as exc:
            if exc.errno != errno.EXDEV:
                self._delete_entry(name)
                raise
            # Another disk: a copy could fail halfway, so it stays there.
            self._write_entry(TrashEntry(name=name, run=run, at=format_timestamp(now), place=str(beside), keep=keep))
            folder.rename(beside)
            return beside
        return inside

    def list_entries(self) -> list[TrashEntry]:
        """Return our entries in the trash, oldest first."""
        found = []
        for file in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else []:
            with contextlib.suppress(Invalid, OSError):
                row = TrashEntry.from_bytes(file.read_bytes(), file.name)
                if file.stem == row.name and self._is_ours(row):
                    found.append(row)
        return sorted(found, key=lambda row: row.at)

    def list_expired(self, now: datetime) -> list[TrashEntry]:
        """Return the entries to delete: a week old, not to be kept, with no process in them."""
        due = [row for row in self.list_entries() if not row.keep and (moment_of(row.at) or now) + KEPT <= now]
        return [row for row in due if not processes_in_folder(Path(row.place))]

    def delete(self, row: TrashEntry) -> bool:
        """Delete an entry; False if some of it could not be deleted. Links are removed, not followed."""
        place = Path(row.place)
        if place.is_dir() and not place.is_symlink():
            remove_tree(place)
        if os.path.lexists(place):
            return False  # retried next time
        self._delete_entry(row.name)
        return True

    def _is_ours(self, row: TrashEntry) -> bool:
        place = Path(row.place)
        if not _NAME.fullmatch(row.name):
            return False
        return place == self.folder / row.name or (place.is_absolute() and place.name == f"{_BESIDE}{row.name}")

    def _write_entry(self, row: TrashEntry) -> None:
        replace_file(self.folder / f"{row.name}.json", row.to_bytes(), 0o600)

    def _delete_entry(self, name: str) -> None:
        (self.folder / f"{name}.json").unlink(missing_ok=True)


def processes_in_folder(folder: Path) -> list[int]:
    """Return the processes that work in a folder, as far as the system tells."""
    top = folder.resolve()
    found = []
    for entry in _PROCESSES.iterdir() if _PROCESSES.is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cwd").readlink().is_relative_to(top):
                    found.append(int(entry.name))
    return sorted(found)
