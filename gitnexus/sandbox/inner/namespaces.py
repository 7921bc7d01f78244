"""Gives a command its own user, mount, process and network namespaces, in which everything outside is read-only."""

import fcntl
import os
import signal
import socket
import struct

from gitnexus.sandbox.inner import kernel

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_USER, _MOUNT, _PID, _NET, _IPC, _UTS = 0x10000000, 0x00020000, 0x20000000, 0x40000000, 0x08000000, 0x04000000
_RDONLY, _NOSUID, _NODEV, _NOEXEC, _BIND, _REC, _PRIVATE = 1, 2, 4, 8, 4096, 16384, 1 << 18
_CLONE = {"x86_64": 56, "aarch64": 220}
_IDS = (os.geteuid(), os.getegid())  # before: inside, nobody knows them until they are mapped
_AT_FDCWD, _AT_RECURSIVE = -100, 0x8000
_SIOCGIFFLAGS, _SIOCSIFFLAGS, _UP = 0x8913, 0x8914, 1


def fork_into_namespaces(network: bool) -> int:
    """Fork into new namespaces, which os.fork cannot create. Raises: OSError.

    Safe because the launcher has one thread: what os.fork does in addition is for other threads.
    """
    flags = _USER | _MOUNT | _PID | _IPC | _UTS | (_NET if network else 0) | signal.SIGCHLD
    return kernel.system_call(_CLONE[os.uname().machine], flags, 0, 0, 0, 0)


def map_own_user() -> None:
    """Be the same user inside as outside: the first step in a new namespace of users. Raises: OSError."""
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # or the files below belong to root
    _write_text("/proc/self/setgroups", "deny")
    _write_text("/proc/self/uid_map", f"{_IDS[0]} {_IDS[0]} 1")
    _write_text("/proc/self/gid_map", f"{_IDS[1]} {_IDS[1]} 1")
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)


def arrange_mounts(view: "Mapping[str, Any]") -> None:
    """Make everything read-only but `writable`; `tmp` becomes /tmp, `hidden` is covered. Raises: OSError."""
    kernel.mount("none", "/", None, _REC | _PRIVATE)
    for path in view["writable"]:
        kernel.mount(path, path, None, _BIND | _REC)
    _set_mount_attributes("/", set_=_RDONLY)
    for path in view["writable"]:
        _set_mount_attributes(path, clear=_RDONLY, set_=_NOSUID | _NODEV)
    _mount_private_tmp(view["tmp"], view["kept"])
    for path in view["hidden"]:
        _cover_path(path)
    for path in ("/dev/shm", "/run"):  # noqa: S108 - covered, not used
        if os.path.isdir(path) and not _holds_any(path, view["kept"]):
            kernel.mount("tmpfs", path, "tmpfs", _NOSUID | _NODEV, "size=64m,mode=1777")
    mount_own_proc()


def mount_own_proc() -> bool:
    """Show only the processes of this namespace in /proc; return False if the kernel does not allow it."""
    try:
        kernel.mount("proc", "/proc", "proc", _RDONLY | _NOSUID | _NODEV | _NOEXEC)
    except OSError:
        return False
    return True


def bring_loopback_up() -> None:
    """Bring up `lo`, the only interface of a new network namespace. Raises: OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        asked = struct.pack("16sh14x", b"lo", 0)
        flags = struct.unpack("16sh14x", fcntl.ioctl(probe, _SIOCGIFFLAGS, asked))[1]
        fcntl.ioctl(probe, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", flags | _UP))


def _mount_private_tmp(own: str, kept: list[str]) -> None:
    """Mount `own` at /tmp, with paths below /tmp that are still needed mounted into it."""
    below = [path for path in kept if path.startswith("/tmp/")]  # noqa: S108
    tops = [path for path in below if not any(path.startswith(other + "/") for other in below)]
    for path in tops:
        place = own + path.removeprefix("/tmp")  # noqa: S108
        if os.path.isdir(path):
            os.makedirs(place, exist_ok=True)
        else:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            os.close(os.open(place, os.O_CREAT | os.O_WRONLY, 0o600))
        kernel.mount(path, place, None, _BIND | _REC)
    kernel.mount(own, "/tmp", None, _BIND | _REC)  # noqa: S108


def _cover_path(path: str) -> None:
    if os.path.isdir(path):
        kernel.mount("tmpfs", path, "tmpfs", _RDONLY | _NOSUID | _NODEV, "size=4k,mode=0555")
    elif os.path.exists(path):
        kernel.mount("/dev/null", path, None, _BIND)


def _holds_any(folder: str, paths: list[str]) -> bool:
    return any(path == folder or path.startswith(folder + "/") for path in paths)


def _set_mount_attributes(path: str, *, set_: int = 0, clear: int = 0) -> None:
    change = struct.pack("QQQQ", set_, clear, 0, 0)
    kernel.system_call(kernel.MOUNT_SETATTR, _AT_FDCWD, os.fsencode(path), _AT_RECURSIVE, change, len(change))


def _write_text(path: str, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)
