"""Set-up that many tests share, done once: what it made of a project is kept and copied for the next who does the same.

The key is all that the set-up could see: every file of the repository and of the user's home, the environment, and
what is asked for. Whoever has changed anything before gets nothing that was made for somebody else.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

from gitnexus.git import config
from gitnexus.policy.repo_key import repository_key
from tests.conftest import Nexus, Templates, copy_project, copy_tree, copy_with_home


def prepare(nexus: Nexus, words: tuple[str, ...], act: Callable[[], str]) -> str:
    """Return what `act` returned, and leave the project as it left it. `words` say what it does."""
    home = Path(os.environ["NEXUS_HOME"])
    beside = nexus.place / ".git" / "worktrees"
    if nexus.templates is None or not home.is_dir() or not (nexus.place / ".git").is_dir() or beside.exists():
        return act()
    made: list[str] = []

    def keep(folder: Path) -> None:
        made.append(act())
        copy_with_home(nexus.place, home, folder / "repository", folder / "home")
        (folder / "answer").write_text(made[0])

    template = nexus.templates.get(_all_that_is_seen(nexus.place, words), keep)
    if not made:
        shutil.rmtree(nexus.place)
        shutil.rmtree(home)
        copy_project(template, nexus.place, home)
    return (template / "answer").read_text()


class PreparedFolder:
    """A folder at the same place in all tests of a worker: what steps made of it once is copied, with its paths.

    A step is known by its words and by those of the steps before it, so nothing else may change the folder between two
    steps. While it is `late`, copies are made when somebody is about to look: `settle`.
    """

    def __init__(self, place: Path, templates: Templates) -> None:
        self.place, self._templates = place, templates
        self._steps: tuple[str, ...] = ()
        self._template: Path | None = None
        self.late = True
        self.place.mkdir()
        config.config_rows.cache_clear()  # other repositories were at the same paths

    def step(self, words: str, act: Callable[[], str]) -> str:
        """Return what `act` returned, and leave the folder as it left it."""
        self._steps = (*self._steps, words)
        made: list[str] = []

        def keep(folder: Path) -> None:
            self.settle()
            made.append(act())
            copy_tree(self.place, folder / "place")
            (folder / "answer").write_text(made[0])

        name = hashlib.sha256("\0".join(self._steps).encode()).hexdigest()
        template = self._templates.get(f"steps-{name}", keep)
        if not made:
            self._template = template
            if not self.late:
                self.settle()
        return (template / "answer").read_text()

    def settle(self) -> None:
        """Have everything there that the steps made."""
        if self._template is not None:
            shutil.rmtree(self.place)
            copy_tree(self._template / "place", self.place)
            self._template = None


def _all_that_is_seen(place: Path, words: tuple[str, ...]) -> str:
    import pygit2

    home = Path(os.environ["HOME"])
    names = [(str(place), "<place>"), (repository_key(place / ".git"), "<mark>"), (str(home), "<home>")]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    seen = hashlib.sha256(json.dumps([words, _without(json.dumps(environment, sort_keys=True), names)]).encode())
    for top in (place, home):
        for folder, folders, files in os.walk(top):
            folders.sort()
            for name in sorted(files):
                path = Path(folder, name)
                seen.update(_without(f"{path} {path.lstat().st_mode:o}\0", names).encode())
                seen.update(_content(path, names))
    repository = pygit2.Repository(str(place))
    for entry in repository.index:
        seen.update(f"{entry.path} {entry.id} {entry.mode:o}\0".encode())
    repository.free()
    return seen.hexdigest()


def _content(path: Path, names: list[tuple[str, str]]) -> bytes:
    if path.is_symlink():
        return os.readlink(path).encode()
    if path.parent.parent.name == "objects" or path.name in ("index", "projection"):
        return b""  # named by its content, or full of the times of files; the index is looked at by itself
    return _without(path.read_bytes().decode("latin-1"), names).encode()


def _without(text: str, names: list[tuple[str, str]]) -> str:
    for name, instead in names:
        text = text.replace(name, instead)
    return text
