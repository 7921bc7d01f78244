"""Landings that are killed, each in a copy of a project with a run to land."""

import os
import shutil
from pathlib import Path

import pytest

from tests.conftest import Nexus, copy_with_home, run_git
from tests.runs.live import approved, events, record
from tests.runs.scene import commit_file
from tests.waiting import age_lock


class KilledLandings:
    """A run to land by one of the ways, as often as a test wants."""

    def __init__(self, nexus: Nexus, folder: Path, monkeypatch: pytest.MonkeyPatch, way: str) -> None:
        self._nexus, self._root, self._patch = nexus, folder / "copies", monkeypatch
        self._root.mkdir()
        self.argv = ("land", approved(nexus), f"--{way}")
        if way != "merge":
            commit_file(nexus.place, "beside.txt", "beside\n")  # or the run's own commits would be taken as they are
        self._home = Path(os.environ["NEXUS_HOME"])
        self._tree = ""

    @property
    def run(self) -> str:
        return self.argv[1]

    def copy(self, name: str) -> Path:
        """Return a copy of the project in which nothing has landed."""
        place, home = self._root / name, self._root / f"{name}-home"
        copy_with_home(self._nexus.place, self._home, place, home)
        self._patch.setenv("NEXUS_HOME", str(home))
        return place

    def land_undisturbed(self, name: str = "undisturbed") -> Path:
        """Land it once as a person would, and remember what comes of it."""
        place = self.copy(name)
        self._nexus.ok(*self.argv, place=place)
        self._tree = run_git(place, "rev-parse", "HEAD^{tree}")
        return place

    def why_not_ended(self, place: Path) -> str:
        """Land once more, and return what is not as if nothing had been killed; "" if all is."""
        for left_lock in self._locks(place):
            age_lock(left_lock)
        again = self._nexus(*self.argv, place=place)
        wrong = [f"{again.returncode} {again.stderr}"] if again.returncode else []
        git = place / ".git"
        left = [path.name for path in (*self._locks(place), *git.glob("MERGE_*"))]
        left += ["landing.json"] if (git / "nexus" / "landing.json").exists() else []
        wrong += [f"left {name}" for name in left]
        wrong += ["another tree"] if run_git(place, "rev-parse", "HEAD^{tree}") != self._tree else []
        wrong += [run_git(place, "status", "--porcelain"), run_git(place, "fsck", "--strict", "--no-dangling")]
        wrong += ["no record"] if record(place, self.run)["status"] != "landed" else []
        wrong += ["not logged once"] if len(events(place, self.run, "run.landed")) != 1 else []
        shutil.rmtree(place)
        return "; ".join(filter(None, wrong))

    def _locks(self, place: Path) -> list[Path]:
        """Return the lock files of git that are there."""
        return [*(place / ".git").glob("*.lock"), *(place / ".git" / "refs").rglob("*.lock")]
