"""Returns the key under which the user's home stores data about a repository.

By its path, as its content can change.
"""

import hashlib
import os
from pathlib import Path


def repository_key(common_dir: Path) -> str:
    """Return a stable key for a repository on this machine, whatever its content."""
    return hashlib.sha256(os.fsencode(common_dir.resolve())).hexdigest()[:32]
