"""Returns what changes whenever a file is written, without reading it; imports nothing that would slow down a hook."""

import os


def file_stamp(path: str) -> str:
    """Return number, size and times of a file, "" if there is none; for a link those of the link and of its target.

    The time at which the status changed is part of it: whoever writes a file can set the other time back.
    """
    try:
        seen, read = os.lstat(path), os.stat(path)
    except OSError:
        return ""
    stamp = f"{seen.st_ino}.{seen.st_size}.{seen.st_mtime_ns}.{seen.st_ctime_ns}"
    if read.st_ino == seen.st_ino:
        return stamp
    return f"{stamp} {read.st_dev}.{read.st_ino}.{read.st_size}.{read.st_mtime_ns}.{read.st_ctime_ns}"
