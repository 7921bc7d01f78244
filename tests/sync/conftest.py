"""Two clones of a project and the hub between them."""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitnexus.app.init import init_project
from tests.conftest import Nexus, Templates, copy_tree, name_new_place, run_git
from tests.sync.two import Clone


@pytest.fixture
def hub(tmp_path: Path, repository: Path, templates: Templates) -> Path:
    def make(folder: Path) -> None:
        run_git(folder, "clone", "-q", "--bare", str(repository), "hub.git")

    return copy_tree(templates.get("hub", make) / "hub.git", tmp_path / "hub.git")


def cloned(hub: Path, name: str) -> Clone:
    run_git(hub.parent, "clone", "-q", str(hub), name)
    init_project(hub.parent / name, name=None, aliases=(), with_hooks=False, local=False).nexus.close()
    return Clone(hub.parent / name)


def _copy(template: Path, root: Path, home: Path, *names: str) -> None:
    """Copy a hub, the clones of it and the home of both; what says where they were says where they are."""
    copy_tree(template / "hub.git", root / "hub.git")
    shutil.rmtree(home, ignore_errors=True)
    copy_tree(template / "home", home)
    for name in names:
        copy_tree(template / name, root / name)
        settings = root / name / ".git" / "config"
        settings.write_text(settings.read_text().replace(str(template / "hub.git"), str(root / "hub.git")))
        name_new_place(template / name, root / name, home)


@contextlib.contextmanager
def _home_in(folder: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NEXUS_HOME", str(folder / "home"))
        yield


@pytest.fixture
def ada(hub: Path, sealed: Path, templates: Templates) -> Clone:
    """A clone whose state is on the hub: made once for each worker, then copied."""

    def make(folder: Path) -> None:
        copy_tree(hub, folder / "hub.git")
        with _home_in(folder):
            cloned(folder / "hub.git", "ada").sync()

    made = templates.get("ada", make)
    shutil.rmtree(hub)
    _copy(made, hub.parent, sealed / "nexus", "ada")
    return Clone(hub.parent / "ada")


@pytest.fixture
def bob(hub: Path, ada: Clone, sealed: Path, templates: Templates) -> Clone:
    """A second clone, which has not synced yet."""

    def make(folder: Path) -> None:
        _copy(templates.get("ada", _not_there), folder, folder / "home", "ada")
        with _home_in(folder):
            cloned(folder / "hub.git", "bob")

    made = templates.get("ada and bob", make)
    for place in (hub, ada.place):
        shutil.rmtree(place)
    _copy(made, hub.parent, sealed / "nexus", "ada", "bob")
    return Clone(hub.parent / "bob")


@pytest.fixture
def disputed(hub: Path, ada: Clone, bob: Clone, sealed: Path, templates: Templates) -> str:
    """A run that ada approved and bob denied before they met; both know of it."""

    def make(folder: Path) -> None:
        _copy(templates.get("ada and bob", _not_there), folder, folder / "home", "ada", "bob")
        with _home_in(folder):
            (folder / "run").write_text(_approve_and_deny(Clone(folder / "ada"), Clone(folder / "bob")))

    made = templates.get("disputed", make)
    for place in (hub, ada.place, bob.place):
        shutil.rmtree(place)
    _copy(made, hub.parent, sealed / "nexus", "ada", "bob")
    return (made / "run").read_text()


def _approve_and_deny(ada: Clone, bob: Clone) -> str:
    """Start a run at ada's, deny its action at bob's and approve it at ada's; return the run."""
    here, there = Nexus(ada.place), Nexus(bob.place)
    run = str(json.loads(here("run", "--json", "--", "sh", "-c", "echo made > made.txt").stdout)["run"]["id"])
    ada.sync()
    bob.sync()
    there.ok("deny", run)
    bob.sync()
    here.ok("approve", run, "--unseen")
    ada.sync()
    bob.sync()
    return run


def _not_there(folder: Path) -> None:
    raise AssertionError("the fixtures ada and bob make it")
