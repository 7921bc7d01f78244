"""The user's home repository: the same store, for what concerns all projects of one person."""

import os
from pathlib import Path
from typing import Literal

from gitnexus.base.chance import token
from gitnexus.base.clock import now
from gitnexus.base.errors import Failed
from gitnexus.base.files import expand_home, make_private_folder
from gitnexus.git.child import must
from gitnexus.git.discovery import Repo
from gitnexus.git.objects import open_objects
from gitnexus.state.format import new_tree
from gitnexus.state.snapshot import Snapshot
from gitnexus.state.store import Change, State


def home_folder() -> Path:
    """Return $NEXUS_HOME, or the platform's data folder."""
    given = os.environ.get("NEXUS_HOME")
    if given:
        return expand_home(given).absolute()
    import platformdirs  # only where the user did not say

    return Path(platformdirs.user_data_dir("git-nexus", appauthor=False))


def home_repository() -> Path:
    """Return where the home repository lies or would lie."""
    return home_folder() / "home.git"


def open_home(life: Literal["short", "long"] = "short") -> State | None:
    """Return the home state, or None if nothing was ever kept there."""
    place = home_repository()
    if not (place / "HEAD").exists():
        return None
    repo = Repo(place, place, None, "sha1")
    return State(repo, open_objects(repo, life))


def make_home(life: Literal["short", "long"] = "short") -> State:
    """Return the home state, made if it was not there. Two at once make one."""
    place = home_repository()
    if not (place / "HEAD").exists():
        _create(place)
    home = open_home(life)
    if home is None:
        raise Failed(f"{place} is there but is no git repository", hint="move it away, then try again")
    home.transact(_first)
    return home


def open_to_others() -> list[Path]:
    """Return the home and those folders of ours right in it that somebody else may look into."""
    home = home_folder()
    try:
        below = [home, *(path for path in home.iterdir() if path.is_dir() and not path.is_symlink())]
        return [path for path in below if path.stat().st_uid == os.geteuid() and path.stat().st_mode & 0o077]
    except OSError:
        return []


def close_to_others() -> list[Path]:
    """Take the rights of others from the home and its folders; return which had any. Raises: OSError."""
    folders = open_to_others()
    for path in folders:
        path.chmod(0o700)
    return folders


def _first(snapshot: Snapshot) -> Change[None]:
    if snapshot.commit is not None:
        return Change({}, "", None)
    return Change(new_tree("home", now()), "home: begin", None)


def _create(place: Path) -> None:
    make_private_folder(place.parent)
    # Built aside and renamed into place, so that nobody ever sees half a repository.
    aside = place.with_name(f".home.{token(12)}")
    must("init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(aside))
    aside.chmod(0o700)
    try:
        aside.rename(place)
    except OSError:
        import shutil

        shutil.rmtree(aside, ignore_errors=True)
        if not (place / "HEAD").exists():
            raise
