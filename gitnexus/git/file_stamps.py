"""Files as we ourselves put them down: whoever changes one cannot set back when its inode changed.

Git writes that moment into the index beside the object of each file. Read from an index of our own before anybody else
could touch the files, it spares reading them again: with thousands of files that is most of what a run costs.
"""

import os
import struct
from collections.abc import Mapping
from typing import NamedTuple

from gitnexus.git.rows import TreeEntry

# Of an index of version 2: ten numbers of 32 bits, the object, the flags with the length of the name.
_STAT = struct.Struct(">10I")
_HEAD = 12
_LONG_NAME = 0xFFF
_HALF = 0xFFFFFFFF
# Kernels count time in steps of up to 10 ms: what was written right before may be written again in the same step.
_STEP = 50_000_000


class Stamp(NamedTuple):
    """Which inode a file was and when that last changed, then what it holds."""

    inode: tuple[int, ...]
    mode: int
    oid: bytes


Stamps = Mapping[str, Stamp]


def stamps(index: bytes, width: int, now: int) -> Stamps:
    """Return the files of an index by their paths, those that were written right before `now` left out.

    `width` is how many bytes name an object. Nothing is known of an index in another form, or of files on a disk that
    counts whole seconds.
    """
    if index[:8] != b"DIRC\0\0\0\2":
        return {}
    found: dict[str, Stamp] = {}
    at = _HEAD
    for _ in range(int.from_bytes(index[8:12])):
        seconds, fraction, _, _, device, inode, mode, _, _, size = _STAT.unpack_from(index, at)
        oid_at = at + _STAT.size
        name_at = oid_at + width + 2
        length = int.from_bytes(index[name_at - 2 : name_at]) & _LONG_NAME
        end = index.index(b"\0", name_at) if length == _LONG_NAME else name_at + length
        if fraction and seconds * 1_000_000_000 + fraction + _STEP < now:
            known = Stamp((seconds, fraction, device, inode, size), mode, index[oid_at : oid_at + width])
            found[os.fsdecode(index[name_at:end])] = known
        at = end + 8 - (end - at) % 8
    return found


def stamped(known: Stamps, path: str, now: os.stat_result) -> TreeEntry | None:
    """Return the file that was put down at `path`, if what lies there still is that."""
    stamp = known.get(path)
    if stamp is None:
        return None
    seconds, fraction = divmod(now.st_ctime_ns, 1_000_000_000)
    inode = (seconds & _HALF, fraction, now.st_dev & _HALF, now.st_ino & _HALF, now.st_size & _HALF)
    return TreeEntry(path, f"{stamp.mode:06o}", stamp.oid.hex()) if stamp.inode == inode else None
