"""Creates and applies Landlock rule sets. The rules for system folders are prepared before the command is known."""

import os
import struct
from collections.abc import Iterable

from gitnexus.sandbox.inner import kernel

# Programs and libraries. Not /etc, which holds passwords and keys: of it only what follows.
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store")
SETTINGS = tuple(
    f"/etc/{name}"
    for name in (
        "ld.so.cache ld.so.conf ld.so.conf.d ld.so.preload passwd group nsswitch.conf hosts host.conf "
        "resolv.conf gai.conf protocols services networks localtime timezone locale.alias locale.conf os-release "
        "debian_version redhat-release alpine-release alternatives mime.types magic terminfo inputrc fonts "
        "ssl/certs ssl/cert.pem ssl/openssl.cnf pki/tls/certs pki/tls/cert.pem pki/ca-trust/extracted crypto-policies "
        "ca-certificates ca-certificates.conf perl python3 python3.11 python3.12 python3.13"
    ).split()
) + tuple(
    # Of Java not `management`, which has passwords. Nor npmrc, maven, gradle: they have sign-ins of registries.
    f"/etc/java-{version}-openjdk/{name}"
    for version in (11, 17, 21)
    for name in (
        "security jvm-amd64.cfg jvm-aarch64.cfg logging.properties net.properties accessibility.properties "
        "sound.properties psfontj2d.properties psfont.properties.ja swing.properties flavormap.properties "
        "jaxp.properties"
    ).split()
)
# Folders of settings inside those of the system, with the sign-ins of registries: <prefix>/etc/npmrc, pip.conf, …
UNREADABLE = ("/usr/etc", "/usr/local/etc", "/opt/etc")
KERNEL = ("/sys/devices/system/cpu", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage")
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL = 1 << 14, 1 << 15
_READ = _EXECUTE | _READ_FILE | _READ_DIR
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL
_NODES = 1 << 6 | 1 << 11  # character and block devices
_BELOW_PATH = 1


def create_ruleset(*, network: bool) -> int:
    """Return a set of rules that denies all but the system's folders; TCP too, unless `network`. Raises: OSError."""
    abi = kernel.landlock_abi()
    scoped = 3 if abi >= 6 else 0  # abstract Unix sockets and signals stay within
    attributes = struct.pack("QQQ", _handled_access(abi), 3 if abi >= 4 and not network else 0, scoped)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    made = kernel.system_call(kernel.LANDLOCK_CREATE, attributes[:size], size, 0)
    allow_reading(made, (*_without_excluded(SYSTEM, UNREADABLE), *SETTINGS, *KERNEL))
    _allow_access(made, _parent_folders(UNREADABLE), _READ_DIR)
    _allow_access(made, _DEVICES, _handled_access(abi) & (_READ_FILE | _WRITE_FILE | _TRUNCATE | _IOCTL))
    return made


def _without_excluded(folders: tuple[str, ...], excluded: tuple[str, ...]) -> list[str]:
    """Return the folders; one that contains an excluded folder is replaced by its other entries, as rules only add."""
    kept: list[str] = []
    for folder in folders:
        if not any(path.startswith(f"{folder}/") and os.path.lexists(path) for path in excluded):
            kept.append(folder)
            continue
        below = sorted(f"{folder}/{name}" for name in os.listdir(folder))
        # A link is followed when a rule is made, and may lead anywhere; what it leads to in here has its own rule.
        kept += _without_excluded(
            tuple(path for path in below if path not in excluded and not os.path.islink(path)), excluded
        )
    return kept


def _parent_folders(paths: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(os.path.dirname(path) for path in paths)


def allow_reading(rules: int, paths: Iterable[str]) -> None:
    """Let files at and below `paths` be read and executed. Raises: OSError."""
    _allow_access(rules, paths, _READ)


def allow_writing(rules: int, paths: Iterable[str]) -> None:
    """Let everything be done at and below `paths` but making devices. Raises: OSError."""
    _allow_access(rules, paths, _handled_access(kernel.landlock_abi()) & ~(_NODES | _IOCTL))


def restrict_process(rules: int) -> None:
    """Apply the rules to this process, irrevocably. Raises: OSError."""
    kernel.system_call(kernel.LANDLOCK_RESTRICT, rules, 0)


def _allow_access(rules: int, paths: Iterable[str], access: int) -> None:
    for path in paths:
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            continue  # what is not there, or not for us, needs no rule
        given = access if os.path.isdir(path) else access & _ON_FILES
        kernel.system_call(kernel.LANDLOCK_ADD, rules, _BELOW_PATH, struct.pack("=Qi", given, place), 0)
        os.close(place)


def _handled_access(abi: int) -> int:
    return (1 << (13 if abi < 2 else 14 if abi < 3 else 15 if abi < 5 else 16)) - 1
