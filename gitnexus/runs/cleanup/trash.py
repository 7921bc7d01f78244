"""The trash: folders are renamed into it and deleted a week later, never while somebody is in them."""

import contextlib
import errno
import os
import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from gitnexus.base.chance import token
from gitnexus.base.clock import read as moment_of
from gitnexus.base.clock import stamp
from gitnexus.base.errors import Invalid
from gitnexus.base.files import remove_tree, replace
from gitnexus.base.record import StoredRecord

KEPT = timedelta(days=7)
_BESIDE = ".nexus-trash-"
_NAME = re.compile(r"[0-9a-z-]{1,60}")
_PROCESSES = Path("/proc")


class Thrown(StoredRecord):
    """What was put away, when, and where it is; `keep` if it holds what nothing else does: then it stays."""

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
        """Where it lies: on the disk of the repository, mostly that of its worktrees too."""
        return self.common_dir / "nexus" / "trash"

    def put(self, folder: Path, run: str, now: datetime, *, keep: bool = False) -> Path:
        """Rename a folder into the trash and return where it is now. Raises: OSError; then it is where it was."""
        name = f"{run}-{token(8)}"
        inside, beside = self.folder / name, folder.parent / f"{_BESIDE}{name}"
        self.folder.mkdir(parents=True, exist_ok=True)
        self._note(Thrown(name=name, run=run, at=stamp(now), place=str(inside), keep=keep))
        try:
            folder.rename(inside)
        except OSError as exc:
            if exc.errno != errno.EXDEV:
                self._forget(name)
                raise
            # Another disk: a copy could fail halfway, so it stays on its own.
            self._note(Thrown(name=name, run=run, at=stamp(now), place=str(beside), keep=keep))
            folder.rename(beside)
            return beside
        return inside

    def thrown(self) -> list[Thrown]:
        """Return what lies in the trash, the oldest first; what we did not put there is not ours."""
        found = []
        for file in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else []:
            with contextlib.suppress(Invalid, OSError):
                row = Thrown.from_bytes(file.read_bytes(), file.name)
                if file.stem == row.name and self._is_ours(row):
                    found.append(row)
        return sorted(found, key=lambda row: row.at)

    def expired(self, now: datetime) -> list[Thrown]:
        """Return what can go: a week old, not to be kept, and nobody in it."""
        due = [row for row in self.thrown() if not row.keep and (moment_of(row.at) or now) + KEPT <= now]
        return [row for row in due if not living(Path(row.place))]

    def delete(self, row: Thrown) -> bool:
        """Delete what is due; False if something of it could not be. Links are removed, never followed."""
        place = Path(row.place)
        if place.is_dir() and not place.is_symlink():
            remove_tree(place)
        if os.path.lexists(place):
            return False  # the next time again
        self._forget(row.name)
        return True

    def _is_ours(self, row: Thrown) -> bool:
        place = Path(row.place)
        if not _NAME.fullmatch(row.name):
            return False
        return place == self.folder / row.name or (place.is_absolute() and place.name == f"{_BESIDE}{row.name}")

    def _note(self, row: Thrown) -> None:
        replace(self.folder / f"{row.name}.json", row.to_bytes(), 0o600)

    def _forget(self, name: str) -> None:
        (self.folder / f"{name}.json").unlink(missing_ok=True)


def living(folder: Path) -> list[int]:
    """Return the processes that work in a folder, as far as this system tells."""
    top = folder.resolve()
    found = []
    for entry in _PROCESSES.iterdir() if _PROCESSES.is_dir() else ():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                if (entry / "cwd").readlink().is_relative_to(top):
                    found.append(int(entry.name))
    return sorted(found)
