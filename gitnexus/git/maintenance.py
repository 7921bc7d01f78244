"""Packs the loose objects of a repository when they pile up, as git does after its own commands: a run writes forty."""

import contextlib
import fcntl
import os
from pathlib import Path

from gitnexus.git.child import run_git
from gitnexus.git.config import config_value
from gitnexus.git.discovery import Repo

# As many as some twenty runs write; git itself packs at 6,700.
MOST_LOOSE = 1000
GIT_PACKS_AT = 6700
# Object ids are evenly spread, so that a few of the 256 folders tell how many there are.
_SAMPLED = ("17", "5b", "9e", "d2")
_OFF = ("0", "false", "no", "off")


def estimate_loose_objects(common_dir: Path) -> int:
    """Return about how many loose objects there are."""
    found = 0
    for name in _SAMPLED:
        with contextlib.suppress(OSError):
            found += len(os.listdir(common_dir / "objects" / name))
    return found * 256 // len(_SAMPLED)


def is_maintenance_off(repo: Repo) -> bool:
    """Return True if the user disabled git's automatic packing."""
    return any((config_value(repo, key) or "").lower() in _OFF for key in ("maintenance.auto", "gc.auto"))


def pack_if_many(repo: Repo) -> bool:
    """Pack loose objects if there are many, unless the user disabled that or another process packs; return if so.

    Nothing is lost, not even unreachable objects. Packs are joined so that their number grows with the logarithm of the
    number of objects.
    """
    if estimate_loose_objects(repo.common_dir) <= MOST_LOOSE or is_maintenance_off(repo):
        return False
    try:
        fd = os.open(repo.common_dir / "nexus" / "repack.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # In a partial clone older gits would forget which objects can be fetched again.
        partial = any((repo.common_dir / "objects" / "pack").glob("*.promisor"))
        joined = () if partial else ("--geometric=2",)
        return run_git("repack", "-d", "-l", "-q", *joined, git_dir=repo.common_dir).returncode == 0
    except OSError:  # somebody else does it
        return False
    finally:
        os.close(fd)
