"""Which requests this person was shown whole: their digests, in $NEXUS_HOME, where no agent of a run can write.

One empty file a digest, so that two terminals need no lock; the oldest are deleted when there are too many.
"""

import contextlib
import os
import re
from pathlib import Path

from gitnexus.state.home import home_folder

MOST_SHOWN = 5000
_FOLDER = "shown"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


def remember_shown(digest: str) -> None:
    """Note that a person was shown all that a digest covers. What cannot be noted has to be shown again."""
    named = _DIGEST.fullmatch(digest)
    if named is None:
        return
    folder = home_folder() / _FOLDER
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        os.close(os.open(folder / named[1], os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        _forget_oldest(folder)


def was_shown(digest: str) -> bool:
    """True if this person was shown all that a digest covers."""
    named = _DIGEST.fullmatch(digest)
    return named is not None and (home_folder() / _FOLDER / named[1]).is_file()


def _forget_oldest(folder: Path) -> None:
    names = os.listdir(folder)
    if len(names) <= MOST_SHOWN:
        return
    by_age = sorted(names, key=lambda name: (folder / name).lstat().st_mtime_ns)
    for name in by_age[: len(names) - MOST_SHOWN * 9 // 10]:
        with contextlib.suppress(OSError):
            (folder / name).unlink()
