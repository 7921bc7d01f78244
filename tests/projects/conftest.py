"""Several projects of one person, made without a command: quick, and real repositories all the same."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitnexus.app.homeseal import guarded
from gitnexus.projects.model import Project
from gitnexus.projects.place import nearest
from gitnexus.projects.register import Wanted, add, project_to_register
from gitnexus.projects.standpoint import Standpoint
from gitnexus.state import State
from gitnexus.state.format import new_tree
from gitnexus.state.home import make_home
from tests.conftest import Nexus, run_git

TODAY = datetime(2026, 2, 1, 12, tzinfo=UTC)


class World:
    """A folder with projects in it, and the home repository of the person whose they are."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = guarded(make_home())

    def git_project(self, name: str, **tasks: str) -> Path:
        """Make a repository with a state ref and tasks by id and title."""
        place = self.root / name
        run_git(self.root, "init", "-q", name)
        files = {f"backlog/{key}.json": document(key, title) for key, title in tasks.items()}
        State.open(place).write({**new_tree("project", TODAY), **files}, why="begin")
        return place

    def cleo_project(self, name: str, **tasks: str) -> Path:
        """Make a folder of the other tool."""
        place = self.root / name
        (place / ".cleo").mkdir(parents=True)
        rows = [json.loads(document(key, title)) for key, title in tasks.items()]
        (place / ".cleo" / "todo.json").write_text(json.dumps({"tasks": rows}))
        return place

    def register(self, place: Path, name: str | None = None, *aliases: str) -> Project:
        found = project_to_register(place)
        return add(self.home, Wanted(found.path, name, aliases, found.identity()), TODAY).project

    def registered(self, name: str, *aliases: str, **tasks: str) -> Project:
        """Make a repository and register it under the name of its folder."""
        return self.register(self.git_project(name, **tasks), None, *aliases)

    def put(self, files: dict[str, bytes | None], why: str = "by hand") -> None:
        """Write files of the home state as somebody else's program might."""
        self.home.latest()
        self.home.write(files, why=why)

    def file(self, path: str) -> Any:
        """Return what a JSON file of the home state holds, None if it is not there."""
        raw = self.home.latest().read(path)
        return None if raw is None else json.loads(raw)

    def commits(self) -> list[str]:
        """Return the reasons of all changes, the newest first."""
        return run_git(self.root, f"--git-dir={self.home.repo.git_dir}", "log", "--format=%s",
                       "refs/nexus/state").splitlines()  # fmt: skip

    def standpoint(
        self, place: Path | None, now: datetime = TODAY, audit_reads: Callable[[], bool] = lambda: False
    ) -> Standpoint:
        """Stand in a project, or outside any."""
        return Standpoint(nearest(place) if place else None, clock=lambda: now, audit_reads=audit_reads,
                          guarded=guarded)  # fmt: skip


def document(key: str, title: str) -> bytes:
    return json.dumps({"id": key, "title": title, "status": "pending"}).encode()


def keep(project: Project, **tasks: dict[str, Any]) -> None:
    """Write tasks by id into a project, whatever they hold."""
    files = {
        f"backlog/{key}.json": json.dumps({"id": key, "title": key, "status": "pending", **held}).encode()
        for key, held in tasks.items()
    }
    State.open(Path(project.path)).write(files, why="by hand")


def told(nexus: Nexus, *argv: str, place: Path | None = None) -> Any:
    """Return the one document that a command prints with --json, which comes alone."""
    done = nexus(*argv, "--json", place=place)
    value = json.loads(done.stdout)
    assert value["success"] == (done.returncode == 0)
    if done.returncode:
        assert value["error"]["code"] == done.returncode
    return value


@pytest.fixture
def world(tmp_path: Path, sealed: Path) -> World:
    root = tmp_path / "möbel und mehr"
    root.mkdir()
    return World(root)
