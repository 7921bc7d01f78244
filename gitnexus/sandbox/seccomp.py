"""Builds the seccomp filter of forbidden system calls, from a table and a small BPF assembler."""

import errno
import functools
import platform
import struct
from collections.abc import Iterator
from typing import NamedTuple

from gitnexus.sandbox.spec import Level, Network

_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_X32 = 0x40000000  # the other numbering of x86-64; the same calls by other numbers

# Name, number on x86-64, number on aarch64 (None: not there).
_REFUSED: tuple[tuple[str, int | None, int | None], ...] = (
    # into other processes
    ("ptrace", 101, 117), ("process_vm_readv", 310, 270), ("process_vm_writev", 311, 271), ("kcmp", 312, 272),
    ("pidfd_getfd", 438, 438), ("process_madvise", 440, 440),
    # into the view of files
    ("mount", 165, 40), ("umount2", 166, 39), ("pivot_root", 155, 41), ("chroot", 161, 51), ("open_tree", 428, 428),
    ("move_mount", 429, 429), ("fsopen", 430, 430), ("fsconfig", 431, 431), ("fsmount", 432, 432),
    ("fspick", 433, 433), ("mount_setattr", 442, 442), ("open_tree_attr", 467, 467), ("open_by_handle_at", 304, 265),
    ("fanotify_init", 300, 262), ("quotactl", 179, 60), ("quotactl_fd", 443, 443), ("setns", 308, 268),
    # large doors into the kernel
    ("bpf", 321, 280), ("perf_event_open", 298, 241), ("userfaultfd", 323, 282), ("add_key", 248, 217),
    ("request_key", 249, 218), ("keyctl", 250, 219), ("io_uring_setup", 425, 425), ("io_uring_enter", 426, 426),
    ("io_uring_register", 427, 427), ("lookup_dcookie", 212, 18), ("syslog", 103, 116),
    # the machine itself
    ("init_module", 175, 105), ("finit_module", 313, 273), ("delete_module", 176, 106), ("kexec_load", 246, 104),
    ("kexec_file_load", 320, 294), ("reboot", 169, 142), ("swapon", 167, 224), ("swapoff", 168, 225),
    ("acct", 163, 89), ("settimeofday", 164, 170), ("clock_settime", 227, 112), ("clock_adjtime", 305, 266),
    ("adjtimex", 159, 171), ("sethostname", 170, 161), ("setdomainname", 171, 162), ("iopl", 172, None),
    ("ioperm", 173, None), ("vhangup", 153, 58),
)  # fmt: skip

# At L1 there is no namespace for them: what one process of the user leaves there, any other takes out again.
_SHARED: tuple[tuple[str, int | None, int | None], ...] = (
    ("shmget", 29, 194), ("shmat", 30, 196), ("shmctl", 31, 195), ("semget", 64, 190), ("semop", 65, 193),
    ("semctl", 66, 191), ("semtimedop", 220, 192), ("msgget", 68, 186), ("msgsnd", 69, 189), ("msgrcv", 70, 188),
    ("msgctl", 71, 187), ("mq_open", 240, 180), ("mq_unlink", 241, 181),
)  # fmt: skip

# Calls that change another process of the same user, and the argument that names it; 0 is oneself.
_OTHER_PROCESS: tuple[tuple[str, int | None, int | None, int], ...] = (
    ("prlimit64", 302, 261, 0), ("setpriority", 141, 140, 0), ("setpriority", 141, 140, 1), ("ioprio_set", 251, 30, 1),
    ("sched_setparam", 142, 118, 0), ("sched_setscheduler", 144, 119, 0), ("sched_setaffinity", 203, 122, 0),
    ("sched_setattr", 314, 274, 0), ("migrate_pages", 256, 238, 0), ("move_pages", 279, 239, 0),
)  # fmt: skip

_FIRST, _OF_A_USER, _IO_OF_A_USER = 1, 2, 3  # process 1; PRIO_USER; IOPRIO_WHO_USER
# All kinds of namespaces; the last, for time, cannot be asked of clone.
_NAMESPACES = 0x02000000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000
_NAMESPACE_OF_TIME = 0x80
_SET_ID = 0o6000
_TRUNCATE, _ACCESS_MODE = 0o1000, 0o3
_CREATE = 0o100 | 0o20000000  # O_CREAT, and the bit of O_TMPFILE that is its own
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _PACKETS, _SOCKET_TYPE = 1, 5, 0xF  # SOCK_STREAM, SOCK_SEQPACKET; above them stand flags
_LEASE, _NOTIFY = 1024, 1026  # fcntl: holding up whoever writes a file, and the watches that were before inotify
_INJECTED_KEYS, _CONSOLE = 0x5412, 0x541C  # TIOCSTI, TIOCLINUX: typing into somebody's terminal

_LOAD, _AND, _JUMP, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x54, 0x05, 0x15, 0x35, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16


class SyscallRule(NamedTuple):
    """Refuse a call: always, or if an argument under a mask is among `values` (or is not, with `unless`).

    With `only_if`, an argument and a mask, the rule is for calls in which that argument has one of those bits.
    """

    numbers: tuple[int | None, int | None]
    error: int = errno.EPERM
    argument: int | None = None
    mask: int = 0xFFFFFFFF
    values: tuple[int, ...] = ()
    unless: bool = False
    only_if: tuple[int, int] | None = None


def knows_machine(machine: str = platform.machine()) -> bool:
    """True if there is a table of numbers for this machine."""
    return machine in _ARCHITECTURES


@functools.cache
def build_filter(level: Level, network: Network, abi: int, machine: str = platform.machine()) -> bytes:
    """Return the filter for a command; `abi` is Landlock's version: the filter covers what Landlock cannot."""
    column, architecture = _ARCHITECTURES[machine]
    program = [
        _encode_step(_LOAD, _ARCHITECTURE),
        _encode_step(_EQUAL, architecture, 1, 0),
        _encode_step(_RETURN, _KILL),
        _encode_step(_LOAD, _NUMBER),
        _encode_step(_AT_LEAST, _X32, 0, 1),
        _encode_step(_RETURN, _ERROR | errno.ENOSYS),
    ]
    for rule in _syscall_rules(level, network, abi):
        number = rule.numbers[column]
        if number is not None:
            program += _assemble_rule(rule, number)
    return b"".join([*program, _encode_step(_RETURN, _ALLOW)])


def _syscall_rules(level: Level, network: Network, abi: int) -> Iterator[SyscallRule]:
    yield from (SyscallRule((first, second)) for _, first, second in _REFUSED)
    # The arguments of clone3 are in memory, which a filter cannot read; without it programs use clone.
    yield SyscallRule((435, 435), error=errno.ENOSYS)
    yield SyscallRule((56, 220), argument=0, mask=_NAMESPACES, values=(0,), unless=True)
    yield SyscallRule((272, 97), argument=0, mask=_NAMESPACES | _NAMESPACE_OF_TIME, values=(0,), unless=True)
    yield SyscallRule((16, 29), argument=1, values=(_INJECTED_KEYS, _CONSOLE))
    for numbers, argument in (((90, None), 1), ((91, 52), 1), ((268, 53), 2), ((452, 452), 2)):
        yield SyscallRule(numbers, argument=argument, mask=_SET_ID, values=(0,), unless=True)
    yield from _rules_for_created_files()
    yield from _rules_for_pairs(level, network)
    if level == "L1":
        yield from (SyscallRule((first, second)) for _, first, second in _SHARED)
        for _, first, second, argument in _OTHER_PROCESS:
            yield SyscallRule((first, second), argument=argument, values=(0,), unless=True)
    else:
        # There are only the command's own processes, and the first, which is ours: nobody names it, or all of the user.
        for name, first, second, argument in _OTHER_PROCESS:
            is_which = (name, argument) == ("setpriority", 0)
            yield SyscallRule((first, second), argument=argument, values=(_OF_A_USER,) if is_which else (_FIRST,))
        yield SyscallRule((251, 30), argument=0, values=(_IO_OF_A_USER,))
    if level != "L3":
        # Landlock does not look at watches, and each tells the names of files that come and go in a folder outside.
        yield SyscallRule((254, 27), error=errno.EACCES)
        yield SyscallRule((72, 25), error=errno.EACCES, argument=1, values=(_LEASE, _NOTIFY))
    yield SyscallRule((41, 198), error=errno.EACCES, argument=0, values=_socket_families(level, network), unless=True)
    if level != "L3" and abi < 3:  # before its third version Landlock did not look at truncation
        yield SyscallRule((76, 45))
        for numbers, argument in (((2, None), 1), ((257, 56), 2)):
            yield SyscallRule(numbers, argument=argument, mask=_TRUNCATE | _ACCESS_MODE, values=(_TRUNCATE,))


def _rules_for_created_files() -> Iterator[SyscallRule]:
    """Yield the rules against a file that is set-id from its first moment, without any chmod."""
    for numbers, flags in (((2, None), 1), ((257, 56), 2)):
        yield SyscallRule(
            numbers, argument=flags + 1, mask=_SET_ID, values=(0,), unless=True, only_if=(flags, _CREATE)
        )  # without those flags nobody sets the mode, and it may hold anything
    for numbers, argument in (((85, None), 1), ((133, None), 1), ((259, 33), 2)):
        yield SyscallRule(numbers, argument=argument, mask=_SET_ID, values=(0,), unless=True)
    # The arguments of openat2 are in memory; without it programs use openat.
    yield SyscallRule((437, 437), error=errno.ENOSYS)


def _rules_for_pairs(level: Level, network: Network) -> Iterator[SyscallRule]:
    """Yield the rules for socketpair: two ends that stay with each other.

    One of datagrams sends to any address, and takes what anybody sends to its own, descriptors too.
    """
    yield SyscallRule((53, 199), error=errno.EACCES, argument=0, values=(_UNIX,), unless=True)
    if _UNIX not in _socket_families(level, network):
        kinds = (_STREAM, _PACKETS)
        yield SyscallRule((53, 199), error=errno.EACCES, argument=1, mask=_SOCKET_TYPE, values=kinds, unless=True)
    if network == "none":
        yield SyscallRule(
            (49, 200), error=errno.EACCES
        )  # a name for one end: of a pair nobody needs it, and others may


def _socket_families(level: Level, network: Network) -> tuple[int, ...]:
    """Return the socket families that the command may create.

    Unix sockets only behind bubblewrap and in a network namespace: Landlock does not check whom they reach, abstract
    sockets are visible to everybody in the same network namespace, and a container service or the user's session bus
    would run any command for the agent.
    """
    local = (_UNIX,) if level == "L3" and network != "full" else ()
    return local if network == "none" else (*local, _INET, _INET6, _NETLINK)


def _assemble_rule(rule: SyscallRule, number: int) -> list[bytes]:
    refuse = _encode_step(_RETURN, _ERROR | rule.error)
    if rule.argument is None:
        return [_encode_step(_EQUAL, number, 0, 1), refuse]
    # The lower half of the argument: all that is compared here is an int to the kernel, too.
    body = [_encode_step(_LOAD, _ARGUMENTS + 8 * rule.argument), _encode_step(_AND, rule.mask)]
    count = len(rule.values)
    # A value that fits jumps over the others and one more: over the refusal, or over the jump that spares one from it.
    body += [_encode_step(_EQUAL, value, count - at) for at, value in enumerate(rule.values)]
    if not rule.unless:
        body.append(_encode_step(_JUMP, 1))
    body += [refuse, _encode_step(_LOAD, _NUMBER)]
    if rule.only_if is not None:
        argument, bits = rule.only_if
        # None of the bits: on to the last step, which loads the number again.
        head = [
            _encode_step(_LOAD, _ARGUMENTS + 8 * argument),
            _encode_step(_AND, bits),
            _encode_step(_EQUAL, 0, len(body) - 1),
        ]
        body = [*head, *body]
    return [_encode_step(_EQUAL, number, 0, len(body)), *body]


def _encode_step(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_true, if_false, value)
