"""A command that wants out of its sandbox: by datagrams, descriptors, shared memory, limits, set-id files, watches."""

import contextlib
import ctypes
import os
import resource
import socket
import subprocess
from pathlib import Path

import pytest

from gitnexus.sandbox.access_lists import bubblewrap_argv
from gitnexus.sandbox.inner import folders
from gitnexus.sandbox.levels import NOT_HELD
from gitnexus.sandbox.spec import LEVELS, Level
from tests.conftest import Nexus
from tests.sandbox.conftest import Box, box, outside, python, spec_of, unpacked_bubblewrap, worktree

__all__ = ["box", "outside", "python", "unpacked_bubblewrap", "worktree"]

CONFINED = pytest.mark.parametrize("level", ["L1", "L2", "L3"])

DATAGRAMS = """
import array, os, socket
kinds = {"dgram": socket.SOCK_DGRAM, "raw": socket.SOCK_RAW, "dgram-cloexec": socket.SOCK_DGRAM | socket.SOCK_CLOEXEC}
for name, kind in kinds.items():
    try:
        first, second = socket.socketpair(socket.AF_UNIX, kind)
    except OSError:
        continue
    for address in (PATH, "\\0" + NAME):
        try:
            first.sendto(b"out", address)
            print(name, "sent to", address)
        except OSError:
            pass
for family in (socket.AF_TIPC, 2, 10, 16):
    try:
        socket.socketpair(family, socket.SOCK_STREAM)
        print("a pair of family", family)
    except OSError:
        pass
stream, packets = socket.socketpair(), socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
for first, second in (stream, packets):
    first.send(b"x")
    assert second.recv(1) == b"x"
    for attempt in (lambda: first.sendto(b"out", PATH), lambda: first.connect(PATH), lambda: first.listen()):
        try:
            attempt()
        except OSError:
            continue
    first.close()
    second.close()
"""


@CONFINED
def test_no_datagram_leaves_by_a_pair_of_sockets(level: Level, python: Box, tmp_path: Path) -> None:
    name = f"nexus-test-{os.getpid()}-{level}"
    with (
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as by_path,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as by_name,
    ):
        short = os.path.join("/dev/shm", name)  # a socket's path has 108 bytes at the most
        by_path.bind(short)
        by_name.bind("\0" + name)
        try:
            ended = python(level, f"PATH, NAME = {short!r}, {name!r}\n" + DATAGRAMS)
            for service in (by_path, by_name):
                service.setblocking(False)
                with pytest.raises(BlockingIOError):
                    service.recv(100)
        finally:
            os.unlink(short)

    assert (ended.status, ended.stdout.data) == (0, b""), ended.stderr.data


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_no_descriptor_comes_in(level: Level, python: Box, worktree: Path, outside: Path) -> None:
    """An accomplice outside would send an open file to an address in the worktree."""
    code = """
import ctypes, socket
pairs = []
for name, kind in {"datagrams": socket.SOCK_DGRAM, "stream": socket.SOCK_STREAM, "packets": 5}.items():
    try:
        pairs.append(socket.socketpair(socket.AF_UNIX, kind))
        pairs[-1][0].bind(name)
        ctypes.CDLL(None).connect(pairs[-1][0].fileno(), bytes(16), 16)  # away from the other end
        pairs[-1][0].listen()
    except OSError:
        pass
print("ready", flush=True)
for first, _ in pairs:
    first.settimeout(0.05)
    try:
        print(socket.recv_fds(first, 1, 1))
    except OSError:
        pass
"""
    sent: list[str] = []
    heard: list[bytes] = []

    def send(said: bytes) -> None:
        heard.append(said)
        kinds = {"datagrams": socket.SOCK_DGRAM, "stream": socket.SOCK_STREAM, "packets": socket.SOCK_SEQPACKET}
        place = os.open(worktree, os.O_PATH)
        for name, kind in kinds.items():
            with (
                socket.socket(socket.AF_UNIX, kind) as accomplice,
                open(outside / "credentials") as secret,
                contextlib.suppress(OSError),
            ):
                accomplice.connect(f"/proc/self/fd/{place}/{name}")
                socket.send_fds(accomplice, [b"x"], [secret.fileno()])
                sent.append(name)
        os.close(place)

    ended = python(level, code, sink=send)

    assert (ended.status, sent, b"".join(heard)) == (0, [], b"ready\n"), ended.stderr.data


@CONFINED
def test_limits_and_priorities_of_other_processes_stay(level: Level, python: Box) -> None:
    code = """
import os, resource
victim = VICTIM
for attempt in (
    lambda: resource.prlimit(victim, resource.RLIMIT_NOFILE, (3, 3)),
    lambda: os.setpriority(os.PRIO_PROCESS, victim, 19),
    lambda: os.sched_setaffinity(victim, {0}),
    lambda: os.sched_setscheduler(victim, os.SCHED_IDLE, os.sched_param(0)),
):
    try:
        attempt()
        print("changed")
    except OSError:
        pass
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
os.setpriority(os.PRIO_PROCESS, 0, 19)
os.sched_setaffinity(0, os.sched_getaffinity(0))
print("own", resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as victim:  # it ends when its input does
        before = resource.prlimit(victim.pid, resource.RLIMIT_NOFILE)
        ended = python(level, code.replace("VICTIM", str(victim.pid)))
        after = resource.prlimit(victim.pid, resource.RLIMIT_NOFILE)
        nice = os.getpriority(os.PRIO_PROCESS, victim.pid)

    assert (after, nice) == (before, os.getpriority(os.PRIO_PROCESS, 0))
    assert ended.stdout.data == b"own 64\n", ended.stderr.data


@CONFINED
def test_shared_memory_semaphores_and_queues_are_not_everybodys(level: Level, python: Box) -> None:
    """What somebody else of the same user put into System V memory is not read, and nothing is left there."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.shmat.restype = ctypes.c_void_p
    memory = libc.shmget(0, 4096, 0o1666)
    place = libc.shmat(memory, None, 0)
    ctypes.memmove(place, b"the secret", 10)
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat.restype = ctypes.c_void_p
place = libc.shmat(MEMORY, None, 0)
if place not in (None, ctypes.c_void_p(-1).value):
    print(ctypes.string_at(place, 10))
if libc.shmctl(MEMORY, 0, None) == 0:
    print("removed")
if LEVEL == "L1":
    for made in (libc.shmget(77, 4096, 0o1666), libc.semget(77, 1, 0o1666), libc.msgget(77, 0o1666)):
        if made >= 0:
            print("made")
"""
    try:
        ended = python(level, code.replace("MEMORY", str(memory)).replace("LEVEL", repr(level)))
    finally:
        libc.shmdt(ctypes.c_void_p(place))
        libc.shmctl(memory, 0, None)

    assert (ended.status, ended.stdout.data) == (0, b""), ended.stderr.data


@CONFINED
def test_no_file_is_set_id_from_its_first_moment(level: Level, python: Box, worktree: Path) -> None:
    code = """
import ctypes, os, stat
os.umask(0)
libc = ctypes.CDLL(None, use_errno=True)
def tmpfile():
    number = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o2755)
    os.link(f"/proc/self/fd/{number}", "linked")
for attempt in (
    lambda: os.open("opened", os.O_CREAT | os.O_WRONLY, 0o4755),
    lambda: os.open("group", os.O_CREAT | os.O_WRONLY, 0o2755),
    lambda: os.mknod("node", stat.S_IFREG | 0o2755),
    lambda: libc.creat(b"created", 0o2755),
    lambda: libc.syscall(437, -100, b"second", (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_WRONLY, 0o2755, 0), 24),
    tmpfile,
    lambda: os.mkdir("folder", 0o2755),
    lambda: os.chmod("plain", 0o2755),
):
    try:
        open("plain", "w").close()
        attempt()
    except OSError:
        pass
os.close(os.open("plain", os.O_RDONLY, 0o6755))
os.close(os.open("shared", os.O_CREAT | os.O_WRONLY, 0o775))
"""
    ended = python(level, code)

    assert ended.status == 0, ended.stderr.data
    made = {name: oct(os.stat(worktree / name).st_mode & 0o6000) for name in os.listdir(worktree)}
    assert made["shared"] == made["plain"] == "0o0"
    assert set(made.values()) == {"0o0"}


@CONFINED
def test_sign_ins_among_the_settings_of_the_system_are_not_read(level: Level, box: Box) -> None:
    ended = box(
        level, "sh", "-c", "cat /etc/npmrc /usr/etc/npmrc /usr/local/etc/npmrc /etc/maven/settings.xml; ls /usr"
    )

    listed = [line for line in ended.stdout.data.splitlines() if line in os.listdir(b"/usr")]
    assert ended.stdout.data.splitlines() == listed


def test_what_lies_beside_an_excluded_folder_stays_readable(tmp_path: Path) -> None:
    system = tmp_path / "usr"
    for path in ("bin", "local/bin", "local/etc", "lib"):
        (system / path).mkdir(parents=True)
    (system / "local" / "away").symlink_to("/root")

    kept = folders._without_excluded((str(system), "/opt"), (f"{system}/local/etc", f"{system}/etc"))

    assert kept == [f"{system}/bin", f"{system}/lib", f"{system}/local/bin", "/opt"]


def test_bubblewrap_covers_the_same_folders(worktree: Path, monkeypatch: pytest.MonkeyPatch, outside: Path) -> None:
    monkeypatch.setattr("gitnexus.sandbox.access_lists.UNREADABLE", (str(outside), "/nowhere"))
    argv = bubblewrap_argv(spec_of(worktree, "L3", ("true",)), "/scratch", "bwrap", 100)

    assert ["--tmpfs", str(outside)] == argv[argv.index(str(outside)) - 1 :][:2]
    assert "/nowhere" not in argv


@CONFINED
def test_nobody_watches_folders_outside(level: Level, python: Box, outside: Path) -> None:
    code = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
number = libc.inotify_init()
print(libc.inotify_add_watch(number, FOLDER, 0xFFF))
"""
    ended = python(level, code.replace("FOLDER", repr(os.fsencode(outside))))

    assert ended.stdout.data == b"-1\n", ended.stderr.data


@pytest.mark.parametrize("level", ["L1", "L2"])
def test_no_older_watch_lease_or_abstract_name_is_to_be_had(level: Level, python: Box) -> None:
    code = """
import fcntl, os, socket
def tried(act):
    try: act()
    except PermissionError: return "refused"
    return "done"
ours, theirs = socket.socketpair()
print(tried(lambda: fcntl.fcntl(os.open("/usr/share", os.O_RDONLY), fcntl.F_NOTIFY, 0x8000003F)),
      tried(lambda: fcntl.fcntl(os.open("/usr/bin/env", os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK)),
      tried(lambda: ours.bind(chr(0) + "taken")), tried(lambda: ours.send(b"x")))
"""
    ended = python(level, code)

    assert ended.stdout.data == b"refused refused refused done\n", ended.stderr.data


def test_doctor_and_the_page_say_what_a_level_does_not_hold(nexus: Nexus, project: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/explanation/sandbox.md").read_text()

    said = nexus("doctor").stdout

    assert "does not hold" in said
    for level in LEVELS:
        assert NOT_HELD[level]
        for words in NOT_HELD[level]:
            assert words in " ".join(page.split()), words


@CONFINED
def test_the_first_process_of_a_sandbox_keeps_its_limits(level: Level, python: Box) -> None:
    """From L2 process 1 is the one of ours that keeps time and collects the dead."""
    code = """
import os, resource
for attempt in (
    lambda: resource.prlimit(1, resource.RLIMIT_NOFILE, (3, 3)),
    lambda: resource.prlimit(1, resource.RLIMIT_CPU, (1, 1)),
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    lambda: os.sched_setaffinity(1, {0}),
):
    try:
        attempt()
        print("changed")
    except OSError:
        pass
print("end")
"""
    ended = python(level, code)

    assert (ended.status, ended.stdout.data) == (0, b"end\n"), ended.stderr.data


@CONFINED
def test_a_pair_of_packets_reaches_nobody_but_its_own_other_end(level: Level, python: Box, worktree: Path) -> None:
    code = """
import array, os, socket
first, second = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
with open("own") as own:
    socket.send_fds(first, [b"x"], [own.fileno()])
data, fds, _, _ = socket.recv_fds(second, 1, 1)
print("inside", data, len(fds))
for attempt in (
    lambda: first.sendto(b"out", PATH),
    lambda: first.sendmsg([b"out"], [], 0, PATH),
    lambda: first.connect(PATH),
    lambda: first.bind("name"),
    lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(PATH),
):
    try:
        attempt()
        print("out") if os.path.exists("name") else None
    except OSError:
        pass
"""
    (worktree / "own").write_text("own")
    place = os.path.join("/dev/shm", f"nexus-packets-{os.getpid()}-{level}")
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as service:
        service.bind(place)
        service.listen()
        service.setblocking(False)
        try:
            ended = python(level, f"PATH = {place!r}\n" + code)
            with pytest.raises(BlockingIOError):
                service.accept()
        finally:
            os.unlink(place)

    assert b"inside b'x' 1\n" in ended.stdout.data, ended.stderr.data
