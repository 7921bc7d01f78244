"""A power cut: files keep what they held when they were last synced, and all names are as they were.

A cut that takes names back, too, is the same as one directly after the last sync: a trial of another number.
"""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Durable:
    """What a file held before the command: its stamp, and its bytes where another tree keeps them."""

    stamp: tuple[int, int, int]
    copy: Path


def durable_files(root: Path, template: Path) -> dict[int, Durable]:
    """Return the files below `root` by inode; each is equal to the one of the same name below `template`."""
    files = {}
    for path in _regular_files(root):
        files[path.stat().st_ino] = Durable(_stamp(path), template / path.relative_to(root))
    return files


def cut_power(root: Path, before: dict[int, Durable], synced: Path) -> list[Path]:
    """Give every file below `root` its durable content; return those that lost some."""
    lost = []
    for path in _regular_files(root):
        inode = path.stat().st_ino
        old = before.get(inode)
        if old is not None and old.stamp == _stamp(path):
            continue
        kept = synced / str(inode)
        durable = kept.read_bytes() if kept.exists() else b"" if old is None else old.copy.read_bytes()
        if path.read_bytes() != durable:
            stat = path.stat()
            mode = stat.st_mode
            path.chmod(0o600)
            path.write_bytes(durable)
            path.chmod(mode & 0o7777)
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # the journal of the file system has that
            lost.append(path.relative_to(root))
    return lost


def _stamp(path: Path) -> tuple[int, int, int]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def _regular_files(root: Path) -> list[Path]:
    files = []
    for folder, _, names in os.walk(root):
        files += [path for name in names if (path := Path(folder, name)).is_file() and not path.is_symlink()]
    return files
