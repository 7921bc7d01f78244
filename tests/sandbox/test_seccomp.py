"""The filter, run by a little machine of our own: for both architectures, wherever the test runs."""

import errno
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitnexus.sandbox.seccomp import _REFUSED, build_filter, knows_machine
from gitnexus.sandbox.spec import LEVELS, Level, Network

AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
COLUMN = {"x86_64": 1, "aarch64": 2}
ALLOW, KILL = 0x7FFF0000, 0x80000000
MACHINES = pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
CALLS = {
    "clone": (56, 220), "unshare": (272, 97), "clone3": (435, 435), "socket": (41, 198), "fchmod": (91, 52),
    "fchmodat": (268, 53), "ioctl": (16, 29), "truncate": (76, 45), "openat": (257, 56), "read": (0, 63),
    "socketpair": (53, 199), "prlimit64": (302, 261), "setpriority": (141, 140), "shmget": (29, 194),
    "mknodat": (259, 33), "inotify_add_watch": (254, 27), "openat2": (437, 437),
}  # fmt: skip


def answer(program: bytes, number: int, *arguments: int, architecture: int) -> int:
    """Return what the kernel would make of a call."""
    padded = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number & 0xFFFFFFFF, architecture, 0, *[one & 2**64 - 1 for one in padded])
    steps = list(struct.iter_unpack("=HBBI", program))
    held, at = 0, 0
    while True:
        code, if_true, if_false, value = steps[at]
        at += 1
        match code:
            case 0x20:
                held = struct.unpack_from("<I", data, value)[0]
            case 0x54:
                held &= value
            case 0x05:
                at += value
            case 0x15:
                at += if_true if held == value else if_false
            case 0x35:
                at += if_true if held >= value else if_false
            case 0x06:
                return int(value)
            case _:
                raise AssertionError(f"step {code:#x}")


def asked(
    machine: str, call: str | int, *arguments: int, level: Level = "L1", network: Network = "none", abi: int = 7
) -> int:
    number = call if isinstance(call, int) else CALLS[call][COLUMN[machine] - 1]
    program = build_filter(level, network, abi, machine)
    return answer(program, number, *arguments, architecture=AUDIT[machine])


def error(number: int) -> int:
    return 0x00050000 | number


@MACHINES
def test_every_call_of_the_table_is_refused(machine: str) -> None:
    for row in _REFUSED:
        number = row[COLUMN[machine]]
        if isinstance(number, int):
            assert asked(machine, number) == error(errno.EPERM), row[0]


@MACHINES
def test_ordinary_calls_pass(machine: str) -> None:
    assert asked(machine, "read", 0) == ALLOW
    assert asked(machine, "clone", 0x11) == ALLOW  # fork
    assert asked(machine, "clone", 0x3D0F00) == ALLOW  # a thread
    assert asked(machine, "unshare", 0x400) == ALLOW  # its own descriptors
    assert asked(machine, "fchmod", 3, 0o755) == ALLOW
    assert asked(machine, "ioctl", 1, 0x5413) == ALLOW  # how large is the window
    assert asked(machine, "truncate", 0, 0) == ALLOW


@MACHINES
@given(
    flag=st.sampled_from([0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]),
    more=st.integers(0, 2**32 - 1),
)
def test_no_namespace_is_made_whatever_else_is_asked(machine: str, flag: int, more: int) -> None:
    assert asked(machine, "clone", flag | more) == error(errno.EPERM)
    assert asked(machine, "unshare", flag | more) == error(errno.EPERM)
    assert asked(machine, "clone3", more) == error(errno.ENOSYS)


@MACHINES
@given(family=st.integers(0, 60), above=st.integers(0, 2**32 - 1), level=st.sampled_from(LEVELS[1:]))
def test_sockets_only_of_the_kinds_that_are_granted(machine: str, family: int, above: int, level: Level) -> None:
    """What stands in the upper half of the argument is nothing to the kernel, and nothing to the filter."""
    local = {1} if level == "L3" else set()
    word = above << 32 | family

    for network, granted in (("none", local), ("loopback", local | {2, 10, 16}), ("full", {2, 10, 16})):
        verdict = asked(machine, "socket", word, level=level, network=network)  # type: ignore[arg-type]
        assert verdict == (ALLOW if family in granted else error(errno.EACCES))


@MACHINES
@given(mode=st.integers(0, 0o7777))
def test_no_file_is_made_to_run_as_its_owner(machine: str, mode: int) -> None:
    wanted = error(errno.EPERM) if mode & 0o6000 else ALLOW

    assert asked(machine, "fchmod", 3, mode) == wanted
    assert asked(machine, "fchmodat", 3, 0, mode) == wanted


@MACHINES
@given(mode=st.integers(0, 0o7777), flags=st.integers(0, 2**25 - 1))
def test_no_file_is_set_id_when_it_is_made(machine: str, mode: int, flags: int) -> None:
    made = flags & (0o100 | 0o20000000)

    assert asked(machine, "openat", 3, 0, flags, mode) == (error(errno.EPERM) if made and mode & 0o6000 else ALLOW)
    assert asked(machine, "mknodat", 3, 0, 0o100000 | mode) == (error(errno.EPERM) if mode & 0o6000 else ALLOW)
    assert asked(machine, "openat2", 3) == error(errno.ENOSYS)


@MACHINES
@given(family=st.integers(0, 60), kind=st.integers(0, 15), flags=st.sampled_from([0, 0o4000, 0o2000000]))
def test_pairs_of_sockets_are_of_streams_unless_nobody_else_is_there(
    machine: str, family: int, kind: int, flags: int
) -> None:
    refused = error(errno.EACCES)

    for level in ("L1", "L2"):
        verdict = asked(machine, "socketpair", family, kind | flags, level=level)
        assert verdict == (ALLOW if family == 1 and kind in (1, 5) else refused)
    assert asked(machine, "socketpair", family, kind | flags, level="L3") == (ALLOW if family == 1 else refused)


@MACHINES
def test_other_processes_and_shared_memory_are_out_of_reach_where_no_namespace_is(machine: str) -> None:
    refused = error(errno.EPERM)

    assert [asked(machine, "prlimit64", pid) for pid in (0, 1, 2**31 - 1)] == [ALLOW, refused, refused]
    assert [asked(machine, "setpriority", *who) for who in ((0, 0), (0, 7), (1, 0), (2, 0))] == [ALLOW, *[refused] * 3]
    assert [asked(machine, "shmget", 0, level=level) for level in LEVELS[1:]] == [refused, ALLOW, ALLOW]
    watched = [asked(machine, "inotify_add_watch", 3, level=level) for level in LEVELS[1:]]
    assert watched == [error(errno.EACCES), error(errno.EACCES), ALLOW]


@MACHINES
def test_nobody_types_into_a_terminal(machine: str) -> None:
    assert asked(machine, "ioctl", 0, 0x5412) == error(errno.EPERM)
    assert asked(machine, "ioctl", 0, 0x541C) == error(errno.EPERM)


@MACHINES
def test_truncation_is_refused_where_landlock_does_not_look(machine: str) -> None:
    assert asked(machine, "truncate", 0, 0, abi=2) == error(errno.EPERM)
    assert asked(machine, "openat", 0, 0, 0o1000, abi=2) == error(errno.EPERM)
    assert asked(machine, "openat", 0, 0, 0o1001, abi=2) == ALLOW
    assert asked(machine, "openat", 0, 0, 0o100, abi=2) == ALLOW


def test_another_numbering_of_the_calls_leads_nowhere() -> None:
    program = build_filter("L1", "none", 7, "x86_64")

    assert answer(program, 0, architecture=0x40000003) == KILL  # 32 bit
    assert asked("x86_64", 0x40000000 | 41, 2) == error(errno.ENOSYS)  # x32


def test_a_machine_without_a_table_is_not_known() -> None:
    assert knows_machine("x86_64") and knows_machine("aarch64") and not knows_machine("riscv64")
