"""Records in $NEXUS_HOME the digests of requests that this user was shown completely; agents cannot write there.

One empty file per digest, so that two terminals need no lock; the oldest are deleted when there are too many.
"""

import contextlib
import os
import re
from pathlib import Path

from gitnexus.base.files import make_private_folder
from gitnexus.state.home import home_folder

MOST_SHOWN = 5000
_FOLDER = "shown"
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")


def remember_shown(digest: str) -> None:
    """Record that the user was shown everything a digest covers. If it cannot be recorded, it is shown again."""
    named = _DIGEST.fullmatch(digest)
    if named is None:
        return
    folder = home_folder() / _FOLDER
    with contextlib.suppress(OSError):
        make_private_folder(folder)
        os.close(os.open(folder / named[1], os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        if named[1].startswith("0"):  # for one digest in sixteen: listing the folder is slower than the record
            _forget_oldest(folder)


def was_shown(digest: str) -> bool:
    """True if this user was shown everything a digest covers."""
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
