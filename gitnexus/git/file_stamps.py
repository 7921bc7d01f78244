"""Reads from a git index the inode change time of each file, and tells whether a file on disk is unchanged since.

Git writes that time into the index beside the object id of each file, and no program can set it back. If the index is
read before anyone else can touch the files, unchanged files need not be read again: with thousands of files that saves
most of the cost of a run.
"""

import os
import struct
from collections.abc import Mapping
from typing import NamedTuple

from gitnexus.git.tree_diff import TreeEntry

# Of an index of version 2: ten numbers of 32 bits, the object, the flags with the length of the name.
_STAT = struct.Struct(">10I")
_HEAD = 12
_LONG_NAME = 0xFFF
_HALF = 0xFFFFFFFF
# Kernels count time in steps of up to 10 ms: what was written right before may be written again in the same step.
_STEP = 50_000_000


class FileStamp(NamedTuple):
    """The inode of a file, its change time, and the blob it contains."""

    inode: tuple[int, ...]
    mode: int
    oid: bytes


Stamps = Mapping[str, FileStamp]


def parse_index_stamps(index: bytes, width: int, now: int) -> Stamps:
    """Return the files of an index by path, without those written right before `now`.

    `width` is the number of bytes of an object id. Returns nothing for an index in another format, or for files on a
    file system that counts whole seconds.
    """
    if index[:8] != b"DIRC\0\0\0\2":
        return {}
    found: dict[str, FileStamp] = {}
    at = _HEAD
    for _ in range(int.from_bytes(index[8:12])):
        seconds, fraction, _, _, device, inode, mode, _, _, size = _STAT.unpack_from(index, at)
        oid_at = at + _STAT.size
        name_at = oid_at + width + 2
        length = int.from_bytes(index[name_at - 2 : name_at]) & _LONG_NAME
        end = index.index(b"\0", name_at) if length == _LONG_NAME else name_at + length
        if fraction and seconds * 1_000_000_000 + fraction + _STEP < now:
            known = FileStamp((seconds, fraction, device, inode, size), mode, index[oid_at : oid_at + width])
            found[os.fsdecode(index[name_at:end])] = known
        at = end + 8 - (end - at) % 8
    return found


def entry_if_unchanged(known: Stamps, path: str, now: os.stat_result) -> TreeEntry | None:
    """Return the known entry of the file at `path`, if the file on disk is unchanged since."""
    stamp = known.get(path)
    if stamp is None:
        return None
    seconds, fraction = divmod(now.st_ctime_ns, 1_000_000_000)
    inode = (seconds & _HALF, fraction, now.st_dev & _HALF, now.st_ino & _HALF, now.st_size & _HALF)
    return TreeEntry(path, f"{stamp.mode:06o}", stamp.oid.hex()) if stamp.inode == inode else None
