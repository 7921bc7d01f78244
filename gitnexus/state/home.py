"""Opens or creates the user's home repository: the same store, for data that concerns all of the user's projects."""

import contextlib
import os
from pathlib import Path

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Failed
from gitnexus.base.files import expand_home, make_private_folder, remove_tree, sync_file
from gitnexus.base.randomness import random_hex
from gitnexus.git.child import GitFailed, run_git_or_raise
from gitnexus.git.discovery import Repo
from gitnexus.git.object_access import open_objects
from gitnexus.state.format import new_state_files
from gitnexus.state.lock import StateLock
from gitnexus.state.snapshot import Snapshot
from gitnexus.state.store import Change, State

_LOCK, _ASIDE = ".home.lock", ".home.new."
_CLOSED_AS_A_WHOLE = ("home.git", "worktrees", "private")
_DEEPEST = 3


def home_folder() -> Path:
    """Return $NEXUS_HOME, or the platform's data folder."""
    given = os.environ.get("NEXUS_HOME")
    if given:
        return expand_home(given).absolute()
    import platformdirs  # only where the user did not say

    return Path(platformdirs.user_data_dir("git-nexus", appauthor=False))


def home_repository() -> Path:
    """Return the path of the home repository, which need not exist."""
    return home_folder() / "home.git"


def open_home() -> State | None:
    """Return the home state, or None if it does not exist."""
    place = home_repository()
    if not (place / "HEAD").exists():
        return None
    repo = Repo(place, place, None, "sha1")
    return State(repo, open_objects(repo))


def make_home() -> State:
    """Return the home state, created if it did not exist. Two processes at once create one."""
    place = home_repository()
    if not (place / "HEAD").exists():
        _create_home_repository(place)
    home = open_home()
    if home is None:
        raise Failed(f"{place} exists but is not a git repository", hint="move it away, then try again")
    home.transact(_first_home_change)
    return home


def folders_open_to_others() -> list[Path]:
    """Return the home folder and the folders of ours in it that other users may read, at most three levels down.

    Repositories and what runs work in are closed as a whole by the folder that they are in.
    """
    home = home_folder()
    found = []
    for folder, below, _ in os.walk(home):
        path = Path(folder)
        if len(path.relative_to(home).parts) >= _DEEPEST or path.name in _CLOSED_AS_A_WHOLE:
            below.clear()
        with contextlib.suppress(OSError):
            if path.stat().st_uid == os.geteuid() and path.stat().st_mode & 0o077:
                found.append(path)
    return found


def close_folders_to_others() -> list[Path]:
    """Remove other users' rights from the home and its folders; return which had any. Raises: OSError."""
    folders = folders_open_to_others()
    for path in folders:
        path.chmod(0o700)
    return folders


def _first_home_change(snapshot: Snapshot) -> Change[None]:
    if snapshot.commit is not None:
        return Change({}, "", None)
    return Change(new_state_files("home", utc_now()), "home: begin", None)


def _create_home_repository(place: Path) -> None:
    make_private_folder(place.parent)
    with StateLock(place.with_name(_LOCK)) as lock:
        if (place / "HEAD").exists():
            return
        if lock.held:  # nobody else builds one now: what is there is from a process that was killed
            for left in place.parent.glob(f"{_ASIDE}*"):
                remove_tree(left)
        # Built aside and renamed into place, so that nobody ever sees half a repository.
        aside = place.with_name(f"{_ASIDE}{random_hex(12)}")
        aside.mkdir(mode=0o700)
        try:
            run_git_or_raise("init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(aside))
            for file in aside.iterdir():
                if file.is_file():
                    sync_file(file)  # git does not, and half a repository is none
            aside.rename(place)
        except (OSError, GitFailed):
            remove_tree(aside)
            if not (place / "HEAD").exists():
                raise
