"""What a command can reach at each level: folders of the system, the worktree, and nothing of the user's."""

import os
from collections.abc import Iterator
from typing import Any

from gitnexus.sandbox.spec import Spec, within

# Programs and libraries. Not /etc, which holds passwords and keys: of it only what follows.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store")
SETTINGS = tuple(
    f"/etc/{name}"
    for name in (
        "ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload passwd group nsswitch.conf hosts host.conf "
        "resolv.conf gai.conf protocols services networks localtime timezone locale.alias locale.conf os-release "
        "debian_version redhat-release alpine-release alternatives mime.types magic terminfo inputrc fonts "
        "ssl/certs ssl/cert.pem ssl/openssl.cnf pki/tls/certs pki/tls/cert.pem pki/ca-trust/extracted crypto-policies "
        "ca-certificates ca-certificates.conf java-17-openjdk java-21-openjdk perl python3 python3.11 python3.12 "
        "python3.13 nodejs npmrc maven gradle"
    ).split()
)
_KERNEL = ("/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_REFER, _TRUNCATE, _IOCTL = 1 << 13, 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_NODES = 1 << 6 | 1 << 11  # character and block devices


def landlock(spec: Spec, scratch: str, abi: int) -> dict[str, Any]:
    """Return the rules for Landlock: what is not named here is denied."""
    handled = (1 << (13 if abi < 2 else 14 if abi < 3 else 15 if abi < 5 else 16)) - 1
    write = handled & ~(_NODES | _IOCTL)
    rules = [(path, (_READ & handled) if os.path.isdir(path) else _READ & _ON_FILES) for path in _readable(spec)]
    rules += [(path, (_READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL) & handled) for path in _DEVICES]
    rules += [(path, write if os.path.isdir(path) else write & _ON_FILES) for path in _writable(spec, scratch)]
    return {
        "files": handled,
        "net": 3 if abi >= 4 and spec.network == "none" else 0,
        "scoped": 3 if abi >= 6 else 0,
        "size": 8 if abi < 4 else 16 if abi < 6 else 24,
        "rules": [(path, access) for path, access in rules if os.path.exists(path)],
    }


def view(spec: Spec, scratch: str) -> dict[str, Any]:
    """Return what the mounts of a namespace of its own have to look like."""
    return {
        "writable": [path for path in (spec.root, scratch, *spec.writable) if os.path.exists(path)],
        "tmp": f"{scratch}/tmp",  # noqa: S108 - in a folder that is ours alone
        "kept": [path for path in (spec.root, scratch, *spec.writable, *spec.readable) if os.path.exists(path)],
        "hidden": list(covered(spec)),
        "network": spec.network,
    }


def covered(spec: Spec) -> Iterator[str]:
    """Return what is to be hidden although the folder around it is within reach."""
    around = [*SYSTEM, spec.root, *spec.readable, *spec.writable]
    for path in spec.hidden:
        if os.path.lexists(path) and any(within(path, folder) for folder in around):
            yield path


def bubblewrap(spec: Spec, scratch: str, wrapper: str, filter_number: int) -> list[str]:
    """Return the command line that runs `spec` in a view that holds only what it needs."""
    argv = [wrapper, "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    argv += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--seccomp", str(filter_number)]
    argv += [] if spec.network == "full" else ["--unshare-net"]
    argv += ["--proc", "/proc", "--dev", "/dev", "--bind", f"{scratch}/tmp", "/tmp"]  # noqa: S108
    for path in SYSTEM:
        if os.path.islink(path):
            argv += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            argv += ["--ro-bind", path, path]
    for path in (*SETTINGS, *_KERNEL, *spec.readable):
        argv += ["--ro-bind-try", path, path]
    for path in (spec.root, scratch, *spec.writable):
        argv += ["--bind-try", path, path]
    for path in covered(spec):
        argv += ["--tmpfs", path, "--remount-ro", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
    link, words = _named(spec)
    return [*argv, *link, "--chdir", spec.cwd, "--", *words]


def _named(spec: Spec) -> tuple[list[str], list[str]]:
    """Return the words after the options, and an option that they need: argv[0] as it was asked for, or nearly.

    bubblewrap 0.8 executes what it is told and calls it so. A program that goes by many names (busybox) is therefore
    reached through a link of the right name; one that was asked for by its path is asked for by that path again.
    """
    asked, *rest = spec.argv
    path = os.path.normpath(os.path.join(spec.cwd, asked))
    if "/" in asked and os.path.realpath(path) == spec.program:
        return [], [path, *rest]
    name = os.path.basename(asked)
    if name == os.path.basename(spec.program):
        return [], [spec.program, *rest]
    link = f"/.nexus-run/{name}"
    return ["--symlink", spec.program, link], [link, *rest]


def _readable(spec: Spec) -> Iterator[str]:
    yield from (*SYSTEM, *SETTINGS, *_KERNEL, "/proc", *spec.readable)
    # Folders on the way to the program, when it lies elsewhere: the file itself, not what is beside it.
    yield spec.program


def _writable(spec: Spec, scratch: str) -> Iterator[str]:
    yield from (spec.root, scratch, *spec.writable)
    if spec.level == "L2":  # private there, everybody's below
        yield from ("/dev/shm", "/tmp")  # noqa: S108
