"""Calls the kernel directly through ctypes: system calls by number, prctl, mounts, namespaces and capabilities."""

import ctypes
import functools
import os

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_SECCOMP = 1, 4, 22
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 36, 38
SECCOMP_MODE_FILTER = 2

# One number on every architecture: they came after numbering was unified.
MOUNT_SETATTR, LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 442, 444, 445, 446

_libc = ctypes.CDLL(None, use_errno=True)


def system_call(number: int, *arguments: "int | bytes | ctypes.Array[ctypes.c_char] | None") -> int:
    """Make a system call by number. Raises: OSError."""
    made = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    return _check_result(_libc.syscall(ctypes.c_long(number), *made))


def prctl(option: int, value: int = 0, more: "int | ctypes.Array[ctypes.c_char]" = 0) -> int:
    """Set something of this process. Raises: OSError."""
    last = ctypes.c_ulong(more) if isinstance(more, int) else more
    return _check_result(_libc.prctl(option, ctypes.c_ulong(value), last, ctypes.c_ulong(0), ctypes.c_ulong(0)))


def mount(source: str, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    """Mount something in this process's own view. Raises: OSError."""
    words = [os.fsencode(one) if one is not None else None for one in (source, target, kind, options)]
    _check_result(_libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), words[3]))


def unshare(flags: int) -> None:
    """Leave some of the parent's namespaces. Raises: OSError."""
    _check_result(_libc.unshare(flags))


def set_capabilities(kept: int) -> None:
    """Keep only the capabilities in the mask `kept`, and inherit none. Raises: OSError."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    low, high = kept & 0xFFFFFFFF, kept >> 32
    data = (ctypes.c_uint32 * 6)(low, low, 0, high, high, 0)
    _check_result(_libc.capset(header, data))


def permitted_capabilities() -> int:
    """Return the mask of the capabilities that this process has."""
    with open("/proc/self/status") as file:
        return next((int(line.split()[1], 16) for line in file if line.startswith("CapPrm")), 0)


@functools.cache
def landlock_abi() -> int:
    """Return the version of Landlock in this kernel, 0 if it has none."""
    try:
        return system_call(LANDLOCK_CREATE, None, 0, 1)
    except OSError:
        return 0


def _check_result(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result
