"""The repository that an older version made, from tests/data: restored with its server and the home of its approver."""

import json
import tarfile
from pathlib import Path

from tests.conftest import Templates, copy_tree, copy_with_home, name_new_place, run_git

DATA = Path(__file__).parent / "data"
VERSION = "0.1.0"
# Where tests/data/make_old_repository.py made it: the names of some files in the home are derived from it.
_MADE_AT = Path("/tmp/nexus-old-repository/shop")
_MADE_WITH_SERVER = "/tmp/nexus-old-repository/server.git"


class OldRepository:
    """Where it lies now, and the ids of what is in it."""

    def __init__(self, place: Path, server: Path) -> None:
        self.place, self.server = place, server
        self.names: dict[str, str] = json.loads((DATA / f"nexus-{VERSION}.json").read_text())

    @property
    def runs(self) -> dict[str, str]:
        """Return the ids of the runs that were begun there, by what became of them."""
        return {word: run for word, run in self.names.items() if word not in ("pack", "queued")}


def restore(root: Path, home: Path, templates: Templates) -> OldRepository:
    """Restore it below `root`, with `home` as $NEXUS_HOME."""
    template = templates.get(f"nexus-{VERSION}", _unpack)
    place, server = root / "shop", copy_tree(template / "server.git", root / "server.git")
    copy_with_home(template / "shop", template / "home", place, home)
    settings = place / ".git" / "config"
    settings.write_text(settings.read_text().replace(_MADE_WITH_SERVER, str(server)))
    return OldRepository(place, server)


def _unpack(folder: Path) -> None:
    bundle, place, home = str(DATA / f"nexus-{VERSION}.bundle"), folder / "shop", folder / "home"
    run_git(folder, "init", "-q", "--bare", "server.git")
    run_git(folder / "server.git", "fetch", "-q", bundle, "+refs/server/*:refs/*")
    run_git(folder, "init", "-q", "--template=", "shop")
    run_git(place, "fetch", "-q", "--update-head-ok", bundle, "+refs/*:refs/*", "^refs/server/*")
    run_git(place, "reset", "-q", "--hard")
    with tarfile.open(DATA / f"nexus-{VERSION}.tar.xz") as tar:
        tar.extractall(folder, filter="tar")
    for kept in (folder / "git").iterdir():
        kept.rename(place / ".git" / kept.name)
    (folder / "git").rmdir()
    (folder / "checkout").rename(place / ".nexus")
    name_new_place(_MADE_AT, place, home)
