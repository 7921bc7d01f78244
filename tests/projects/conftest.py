"""Several projects of one person, made without a command: quick, and real repositories all the same.

Every world of a worker lies at the same path, because a project is known by its path. What many tests begin with is
made once there, put aside, and copied back for each of them.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gitnexus.projects.model import Project
from gitnexus.projects.place import nearest_project
from gitnexus.projects.register import RegisterRequest, add_project, project_to_register
from gitnexus.projects.signed_permissions import guard_home
from gitnexus.projects.standpoint import Standpoint
from gitnexus.state import State
from gitnexus.state.format import new_state_files
from gitnexus.state.home import home_folder, make_home
from tests.conftest import Nexus, run_git

TODAY = datetime(2026, 2, 1, 12, tzinfo=UTC)
Built = TypeVar("Built")
# By the name of a template: what the one who built it returned.
_BUILT: dict[str, Any] = {}


class World:
    """A folder with projects in it, and the home repository of the person whose they are."""

    def __init__(self, root: Path, templates: Path | None = None) -> None:
        self.root = root
        self.templates = templates
        self.home = guard_home(make_home())

    def git_project(self, name: str, **tasks: str) -> Path:
        """Make a repository with a state ref and tasks by id and title; a second one of the same name is a copy."""
        place = self.root / name
        key = f"repository {json.dumps([name, tasks])}".replace("/", "_").encode()[:250].decode(errors="ignore")
        template = self.templates / key if self.templates else None
        if template is not None and template.exists():
            return shutil.copytree(template, place, dirs_exist_ok=True, symlinks=True)
        run_git(self.root, "init", "-q", "--template=", name)
        files = {f"backlog/{key}.json": document(key, title) for key, title in tasks.items()}
        State.open(place).write({**new_state_files("project", TODAY), **files}, why="begin")
        if template is not None:
            shutil.copytree(place, template, symlinks=True)
        return place

    def begin_with(self, name: str, build: Callable[["World"], Built]) -> Built:
        """Return what `build` makes of this empty world; all but the first get a copy of what it made."""
        assert self.templates is not None
        template = self.templates / name
        if name not in _BUILT:
            _BUILT[name] = build(self)
            shutil.copytree(self.root, template / "root", symlinks=True)
            shutil.copytree(home_folder(), template / "home", symlinks=True)
            return _BUILT[name]
        self.home.close()
        for source, target in (("root", self.root), ("home", home_folder())):
            shutil.rmtree(target)
            shutil.copytree(template / source, target, symlinks=True)
        self.home = guard_home(make_home())
        return _BUILT[name]

    def cleo_project(self, name: str, **tasks: str) -> Path:
        """Make a folder of the other tool."""
        place = self.root / name
        (place / ".cleo").mkdir(parents=True)
        rows = [json.loads(document(key, title)) for key, title in tasks.items()]
        (place / ".cleo" / "todo.json").write_text(json.dumps({"tasks": rows}))
        return place

    def register(self, place: Path, name: str | None = None, *aliases: str) -> Project:
        found = project_to_register(place)
        return add_project(
            self.home, RegisterRequest(found.path, name, aliases, found.read_project_id()), TODAY
        ).project

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
        return Standpoint(nearest_project(place) if place else None, clock=lambda: now, audit_reads=audit_reads,
                          guarded=guard_home)  # fmt: skip


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


@pytest.fixture(scope="session")
def worlds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the worlds of this worker lie, one after the other, and the templates of them."""
    place = tmp_path_factory.mktemp("worlds")
    (place / "templates").mkdir()
    return place


@pytest.fixture
def world(worlds: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    root, home, empty = worlds / "möbel und mehr", worlds / "nexus", worlds / "templates" / "empty home"
    monkeypatch.setenv("NEXUS_HOME", str(home))
    root.mkdir()
    if empty.exists():
        shutil.copytree(empty, home, symlinks=True)
    world = World(root, worlds / "templates")
    if not empty.exists():
        shutil.copytree(home, empty, symlinks=True)
    yield world
    world.home.close()
    for place in (root, home):
        shutil.rmtree(place)
