"""The name under which the user's home remembers a repository: by where it lies, since all in it can be rewritten."""

import os
from pathlib import Path


def mark(common_dir: Path) -> str:
    """Return the same word for one repository on this machine, whatever is written in it."""
    import hashlib  # 6 ms, and most commands ask nothing of the kind

    return hashlib.sha256(os.fsencode(common_dir.resolve())).hexdigest()[:32]
