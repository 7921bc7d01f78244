"""Whole files, replaced at once."""

import contextlib
import os
from pathlib import Path

from gitnexus.base.chance import token


def replace(path: Path, data: bytes, mode: int | None = None) -> None:
    """Put `data` at `path` by rename, keeping the mode of what was there unless one is given."""
    if mode is not None and not mode & 0o077:
        make_private_folder(path.parent)
    else:
        path.parent.mkdir(parents=True, exist_ok=True)
    if mode is None:
        mode = path.stat().st_mode & 0o7777 if path.exists() else 0o644
    temporary = path.with_name(f".{path.name}.{token(8)}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
        temporary.chmod(mode)
        temporary.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def make_private_folder(folder: Path) -> None:
    """Make a folder, and those above it that are missing, so that nobody else can look into them. Raises: OSError."""
    if folder.is_dir():
        return
    make_private_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def sync_file(path: Path) -> None:
    """Wait until a file is on the disk. Raises: OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
