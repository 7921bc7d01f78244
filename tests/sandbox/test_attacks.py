"""The attacks on the sandbox, by their numbers; every target is a folder of the test itself."""

import os
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from gitnexus.base.errors import DeniedByPolicy, Failed, Invalid, NotFound
from gitnexus.sandbox import levels
from gitnexus.sandbox.environment import PATH, command_environment
from gitnexus.sandbox.levels import Availability, best_level, choose_level
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.spec import Level, SandboxLimits
from tests.sandbox.conftest import QUICK, Box, need, spec_of

CONFINED = pytest.mark.parametrize("level", ["L1", "L2", "L3"])
EVERY = pytest.mark.parametrize("level", ["L0", "L1", "L2", "L3"])


def quick_at(*levels: Level) -> pytest.MarkDecorator:
    """Every level, for what takes a second by its nature: all but these with the slow tests."""
    slow = [pytest.param(one, marks=pytest.mark.slow) for one in ("L0", "L1", "L2", "L3") if one not in levels]
    return pytest.mark.parametrize("level", [*levels, *slow])


# In each, $1 is the folder outside.
REACHES_OUT = [
    pytest.param('cat "$1/credentials"', id="126-read-a-key"),
    pytest.param('ls "$1"', id="126-list-the-folder-of-a-key"),
    pytest.param('echo x > "$1/new"', id="160-write-outside"),
    pytest.param('echo x >> "$1/credentials"', id="160-append-outside"),
    pytest.param('ln "$1/credentials" c && cat c', id="033-hard-link"),
    pytest.param('ln -s "$1/credentials" c && cat c', id="126-symbolic-link-read"),
    pytest.param('ln -s "$1" d && echo x > d/new', id="160-symbolic-link-write"),
    pytest.param('mv "$1/credentials" .', id="160-move-in"),
    pytest.param('rm "$1/credentials"', id="160-remove-outside"),
    pytest.param('mkdir "$1/new"', id="160-folder-outside"),
    pytest.param('cp /bin/true t && mv t "$1/new"', id="160-move-out"),
    pytest.param(': > "$1/credentials"', id="160-truncate-by-opening"),
    pytest.param('truncate -s 0 "$1/credentials"', id="160-truncate"),
    pytest.param('cd "$1" && cat credentials', id="126-go-there"),
    pytest.param("cat /proc/$PPID/environ /proc/$PPID/mem", id="126-environment-of-the-parent"),
]


@CONFINED
@pytest.mark.parametrize("script", REACHES_OUT)
def test_what_is_outside_is_neither_read_nor_changed(level: Level, script: str, box: Box, outside: Path) -> None:
    ended = box(level, "sh", "-c", script, "sh", str(outside))

    assert ended.status not in (0, None)
    assert b"the secret" not in ended.stdout.data
    assert os.listdir(outside) == ["credentials"]
    assert (outside / "credentials").read_text() == "the secret\n"


@pytest.mark.parametrize("level", ["L2", "L3"])
@pytest.mark.parametrize("how", ["chmod 666", "touch -d 2001-01-01", "setfattr -n user.x -v y"])
def test_metadata_outside_is_not_changed_where_mounts_are_read_only(
    level: Level, how: str, box: Box, outside: Path
) -> None:
    """Landlock does not look at chmod (033 and its kin): the view of mounts does."""
    before = os.stat(outside / "credentials")

    ended = box(level, "sh", "-c", f'{how} "$1/credentials"', "sh", str(outside))

    assert ended.status != 0
    assert os.stat(outside / "credentials") == before or os.stat(outside / "credentials")[:7] == before[:7]
    assert os.stat(outside / "credentials").st_mtime == before.st_mtime


@CONFINED
def test_nothing_is_made_to_run_as_its_owner(level: Level, box: Box, worktree: Path) -> None:
    ended = box(level, "sh", "-c", "cp /bin/true t; chmod u+s t")

    assert ended.status != 0
    assert not os.stat(worktree / "t").st_mode & 0o6000


@CONFINED
def test_160_settings_of_the_kernel_cannot_be_opened_for_writing(level: Level, python: Box) -> None:
    """/proc/sys/kernel/core_pattern names a program that the kernel runs as root. Opened only, never written."""
    code = """
import os
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/vm/drop_caches", "/proc/sysrq-trigger"):
    try:
        os.close(os.open(path, os.O_WRONLY))
        print("opened", path)
    except OSError:
        pass
"""
    ended = python(level, code)

    assert (ended.status, ended.stdout.data) == (0, b""), ended.stderr.data


NETWORK = {
    "093-tcp": "s=socket.socket(); s.connect(('127.0.0.1', port))",
    "093-udp": "s=socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.sendto(b'x', ('127.0.0.1', port))",
    "093-tcp6": "s=socket.socket(socket.AF_INET6); s.connect(('::1', port))",
    "093-raw": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW)",
    "093-vsock": "socket.socket(40, socket.SOCK_STREAM)",
    "093-netlink": "socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)",
}


@CONFINED
@pytest.mark.parametrize("code", NETWORK.values(), ids=NETWORK.keys())
def test_there_is_no_network_unless_granted(level: Level, code: str, python: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended = python(level, f"import socket; port={port}\ntry:\n    {code}\nexcept OSError: print('refused')")

    assert ended.stdout.data.startswith(b"refused"), ended.stderr.data


@CONFINED
@pytest.mark.parametrize("abstract", [False, True], ids=["160-unix-socket-by-path", "160-abstract-unix-socket"])
def test_services_of_the_user_are_out_of_reach(level: Level, abstract: bool, python: Box, tmp_path: Path) -> None:
    """A container service or the session bus would start anything for whoever asks (systemd-run --user)."""
    name = f"\0nexus-test-{os.getpid()}-{tmp_path.name}" if abstract else str(tmp_path / "s")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(name)
        server.listen()
        code = f"import socket\ns = socket.socket\ntry: s(1).connect({name!r})\nexcept OSError: print('refused')"
        ended = python(level, code)

    assert ended.stdout.data == b"refused\n", ended.stderr.data


@pytest.mark.parametrize("level", ["L2", "L3"])
def test_loopback_is_a_network_of_its_own(level: Level, python: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        code = f"""
import socket
inner = socket.create_server(("127.0.0.1", 0))
socket.create_connection(inner.getsockname()).close()
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=5)
except OSError:
    print("only its own")
"""
        ended = python(level, code, network="loopback")

    assert ended.stdout.data == b"only its own\n", ended.stderr.data


def test_loopback_is_refused_where_it_cannot_be_had(worktree: Path) -> None:
    need("L1")

    with pytest.raises(DeniedByPolicy):
        run_in_sandbox(spec_of(worktree, "L1", ("true",), network="loopback"))


KERNEL = {
    "160-unshare": "libc.unshare(0x10000000)",
    "160-mount": "libc.mount(b'none', b'/tmp', b'tmpfs', 0, None)",
    "126-ptrace-the-parent": "libc.ptrace(16, os.getppid(), 0, 0)",
    "126-process-vm-readv": "libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0)",
    "160-bpf": "libc.syscall({'x86_64': 321, 'aarch64': 280}[os.uname().machine], 0, 0, 0)",
    "160-io-uring": "libc.syscall(425, 1, 0)",
    "160-keyctl": "libc.syscall({'x86_64': 250, 'aarch64': 219}[os.uname().machine], 0, -3, 1)",
    "160-signal-to-the-gateway": "libc.kill({us}, 0)",
}


@CONFINED
@pytest.mark.parametrize("code", KERNEL.values(), ids=KERNEL.keys())
def test_doors_into_the_kernel_and_other_processes_are_shut(level: Level, code: str, python: Box) -> None:
    if "kill" in code and level == "L1" and levels.landlock_abi() < 6:
        pytest.skip("L1 keeps signals within from version 6 of Landlock on: needs Linux 6.12")
    code = code.replace("{us}", str(os.getpid()))

    ended = python(level, f"import ctypes, os\nlibc = ctypes.CDLL(None)\nprint({code})")

    assert ended.stdout.data == b"-1\n", ended.stderr.data


@EVERY
def test_126_the_parent_cannot_be_looked_into_even_without_confinement(level: Level, box: Box) -> None:
    if os.geteuid() == 0 and level == "L0":
        pytest.skip("at L0 root may look into everything: run the tests as another user")

    parent = "" if level == "L3" else "/proc/$PPID/environ"  # at L3 that is bubblewrap, which has the command's own
    us = f"/proc/{os.getpid()}"

    ended = box(level, "sh", "-c", f"cat {parent} {us}/environ {us}/mem")

    assert ended.stdout.data == b""


@EVERY
def test_126_no_descriptor_of_ours_is_inherited(level: Level, box: Box, outside: Path) -> None:
    with open(outside / "credentials") as key:
        os.set_inheritable(key.fileno(), True)
        ended = box(level, "sh", "-c", "ls /proc/self/fd")

    assert set(ended.stdout.data.split()) <= {b"0", b"1", b"2", b"3"}  # 3 is the folder that is listed


ENVIRONMENT = [
    *("098-GIT_DIR", "098-GIT_WORK_TREE", "098-GIT_INDEX_FILE", "100-GIT_EXTERNAL_DIFF", "100-GIT_SSH_COMMAND"),
    *("100-GIT_ASKPASS", "100-GIT_PAGER", "100-GIT_EXEC_PATH", "100-GIT_PROXY_COMMAND", "100-GIT_TRACE"),
    *("101-LD_PRELOAD", "101-LD_LIBRARY_PATH", "101-LD_AUDIT", "101-PYTHONSTARTUP", "101-PYTHONPATH", "101-PYTHONHOME"),
    *("101-PYTHONINSPECT", "101-PERL5OPT", "101-RUBYOPT", "101-NODE_OPTIONS", "101-BASH_ENV", "101-ENV"),
    *("101-PROMPT_COMMAND", "101-IFS", "101-SHELLOPTS", "101-ld_preload", "103-LC_EVIL", "103-PYTHON_ANYTHING"),
    *("105-PATH", "105-Path", "103-HOME", "103-NEXUS_HOME", "103-SSH_AUTH_SOCK", "103-http_proxy", "103-EDITOR"),
]


@pytest.mark.parametrize("case", ENVIRONMENT)
def test_a_variable_that_is_not_on_the_list_is_refused_with_a_reason(case: str) -> None:
    name = case.partition("-")[2]

    with pytest.raises(DeniedByPolicy) as refused:
        command_environment({name: "x"}, {})

    assert refused.value.message.startswith(f"a command may not set {name}: it ")


@pytest.mark.parametrize("case", ENVIRONMENT)
def test_a_variable_that_is_not_on_the_list_is_not_inherited(case: str) -> None:
    name = case.partition("-")[2]

    assert command_environment({}, {name: "evil"}).get(name) != "evil"


ODD = [
    pytest.param({"A=B": "x"}, id="105-equals-sign"),
    pytest.param({"CI\0": "x"}, id="105-nul-in-name"),
    pytest.param({"": "x"}, id="105-empty-name"),
    pytest.param({"CI": "a\0b"}, id="105-nul-in-value"),
    pytest.param({"\udc80": "x"}, id="105-lone-surrogate-in-name"),
    pytest.param({"CI": "\ud800"}, id="105-lone-surrogate-in-value"),
    pytest.param({"CI": "x" * 5000}, id="103-long-value"),
    pytest.param({"CI": "\x1b[2J"}, id="103-escape-in-value"),
    pytest.param({"TZ": "/tmp/zone"}, id="103-time-zone-by-path"),
    pytest.param({"TZ": ":../../tmp/zone"}, id="103-time-zone-by-relative-path"),
    pytest.param({"LC_ALL": "../../tmp/x"}, id="103-language-by-path"),
    pytest.param({"CI": "a\nb"}, id="103-newline-in-value"),
    pytest.param({"CI": "1", "ci": "2"}, id="105-twice-by-case"),
    pytest.param({"CI": 1}, id="105-not-text"),
]


@pytest.mark.parametrize("wanted", ODD)
def test_an_odd_variable_is_refused(wanted: dict[str, str]) -> None:
    with pytest.raises((Invalid, DeniedByPolicy)):
        command_environment(wanted, {})


@EVERY
def test_106_the_environment_is_exactly_what_was_bound(level: Level, box: Box, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "the secret")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")

    ended = box(level, "env", "-0", env={"CI": "1"})

    names = {row.split(b"=")[0].decode() for row in ended.stdout.data.split(b"\0") if row}
    made = {"HOME", "TMPDIR", "TMP", "TEMP", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"}
    assert names - {"PWD"} == {"CI", *made}  # bubblewrap says where it stands


@pytest.mark.parametrize(
    "argv",
    [
        pytest.param("git status", id="085-text"),
        pytest.param([], id="085-empty"),
        pytest.param([""], id="085-empty-word"),
        pytest.param(["git", 1], id="085-number"),
        pytest.param(["git", None], id="085-none"),
        pytest.param(["git", ["a"]], id="085-list"),
        pytest.param(["a\0b"], id="085-nul"),
        pytest.param(["git", "\ud800"], id="085-lone-surrogate"),
        pytest.param(["true"] * 100_000, id="086-many-words"),
        pytest.param(["true", "x" * 4_000_000], id="086-long-word"),
        pytest.param(["true", *["x" * 100_000] * 20], id="086-long-in-all"),
    ],
)
def test_an_argv_that_is_no_list_of_words_is_refused(argv: object, worktree: Path) -> None:
    spec = spec_of(worktree, "L0", ("true",)).changed(argv=argv)

    with pytest.raises(Invalid):
        run_in_sandbox(spec)


@EVERY
def test_083_words_are_passed_as_they_are(level: Level, box: Box) -> None:
    words = ("$(touch pwned)", "~/.ssh/id", "*", "a;b", "${x@P}", "", "é\udcff", "--")

    ended = box(level, "printf", "%s\\0", *words)

    assert ended.stdout.data == b"".join(os.fsencode(word) + b"\0" for word in words)


def test_161_a_program_of_the_worktree_is_not_found_by_its_name(worktree: Path) -> None:
    bin_ = worktree / "node_modules" / ".bin"
    bin_.mkdir(parents=True)
    (bin_ / "true").write_text("#!/bin/sh\n")
    (bin_ / "true").chmod(0o755)
    (bin_ / "only-here").symlink_to("true")

    found = resolve_program("true", f"{bin_}:.::{PATH}", str(bin_), str(worktree))

    assert not found.path.startswith(str(worktree))
    with pytest.raises(NotFound):
        resolve_program("only-here", f"{bin_}:{PATH}", str(bin_), str(worktree))
    assert resolve_program("only-here", f"{bin_}:{PATH}", str(bin_), str(worktree), own=True).path == str(bin_ / "true")
    assert resolve_program("./only-here", PATH, str(bin_), str(worktree)).path == str(bin_ / "true")


def test_161_a_link_outside_that_leads_into_the_worktree_is_not_taken_either(worktree: Path, tmp_path: Path) -> None:
    (worktree / "evil").write_text("#!/bin/sh\n")
    (worktree / "evil").chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tool").symlink_to(worktree / "evil")

    with pytest.raises(NotFound):
        resolve_program("tool", str(tmp_path / "bin"), str(worktree), str(worktree))


def test_158_a_level_that_is_missing_is_never_replaced_by_a_weaker_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """No bubblewrap, no user namespaces: what is left is taken if the policy lets it, and said."""

    def poor(level: Level) -> Availability:
        return Availability(level=level, there=level < "L2", why="" if level < "L2" else "no user namespaces")

    monkeypatch.setattr(levels, "try_level", poor)

    assert best_level() == "L1"
    assert choose_level("auto", "L1") == "L1"
    for setting, minimum in (("auto", "L2"), ("strict", "L0"), ("L3", "L0"), ("L0", "L1")):
        with pytest.raises(DeniedByPolicy):
            choose_level(setting, minimum)  # type: ignore[arg-type]


def test_158_a_run_at_a_level_that_does_not_work_does_not_run(worktree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need("L1")
    monkeypatch.setattr("gitnexus.sandbox.plan.bubblewrap_path", lambda: "/nonexistent/bwrap")

    with pytest.raises(Failed) as refused:
        run_in_sandbox(spec_of(worktree, "L3", ("touch", "ran")))

    assert "was not run" in refused.value.message
    assert not (worktree / "ran").exists()


@pytest.mark.parametrize("level", ["L2", "L3"])
def test_126_what_is_hidden_inside_the_worktree_is_covered(level: Level, box: Box, worktree: Path) -> None:
    (worktree / ".git").mkdir()
    (worktree / ".git" / "key").write_text("the secret")
    (worktree / "key").write_text("the secret")

    hidden = (str(worktree / ".git"), str(worktree / "key"))
    ended = box(level, "sh", "-c", "cat .git/key key; echo x > .git/new; rm -rf .git; echo y > key", hidden=hidden)

    assert ended.stdout.data == b""
    assert os.listdir(worktree / ".git") == ["key"]
    assert (worktree / "key").read_text() == "the secret"


def test_126_what_cannot_be_hidden_at_a_level_is_refused(worktree: Path) -> None:
    need("L1")
    (worktree / ".git").mkdir()

    with pytest.raises(DeniedByPolicy):
        run_in_sandbox(spec_of(worktree, "L1", ("true",), hidden=(str(worktree / ".git"),)))


@EVERY
def test_160_what_is_written_at_home_is_gone(level: Level, box: Box) -> None:
    script = "echo evil > ~/.bashrc; mkdir -p ~/a/b; touch ~/a/b/c; chmod 0 ~/a/b ~/a; echo $HOME"

    ended = box(level, "sh", "-c", script)

    home = ended.stdout.data.decode().strip()
    assert home and not os.path.lexists(os.path.dirname(home))


@EVERY
def test_160_a_daemon_in_a_session_of_its_own_ends_with_the_command(level: Level, box: Box, worktree: Path) -> None:
    """It holds stdout, too: the command still comes back (093)."""
    ended = box(level, "sh", "-c", "setsid sh -c 'setsid sleep 1000 & sleep 1000' & echo started")

    assert ended.status == 0
    assert ended.stdout.data == b"started\n"
    if level in ("L0", "L1"):
        assert ended.left_behind >= 1
    assert not _alive(worktree)


def _alive(worktree: Path) -> list[str]:
    """Return the processes that stand in the worktree."""
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc") if sys.platform == "linux" else ()):
        try:
            if os.readlink(f"/proc/{pid}/cwd").startswith(str(worktree)):
                found.append(pid)
        except OSError:
            continue
    return found


@quick_at("L2")
def test_093_a_command_that_never_returns_is_ended(level: Level, box: Box, worktree: Path) -> None:
    ended = box(level, "sleep", "1000", limits=QUICK.changed(seconds=1))

    assert ended.ended_by == "time"
    assert not _alive(worktree)


@quick_at("L0")
def test_093_a_command_may_tidy_up_when_its_time_is_over(level: Level, box: Box, worktree: Path) -> None:
    script = "trap 'echo bye > tidy; exit 3' TERM; echo on; while :; do sleep 0.05; done"

    ended = box(level, "sh", "-c", script, limits=QUICK.changed(seconds=1))

    assert ended.ended_by == "time"
    assert (worktree / "tidy").read_text() == "bye\n"


@EVERY
@pytest.mark.slow
def test_093_a_command_that_ignores_the_request_to_end_is_killed(level: Level, box: Box, worktree: Path) -> None:
    script = "trap '' TERM HUP INT; while :; do sleep 1; done"

    ended = box(level, "sh", "-c", script, limits=QUICK.changed(seconds=1))

    assert ended.ended_by == "time"
    assert not _alive(worktree)


@EVERY
def test_093_a_flood_is_cut_and_then_ended(level: Level, box: Box) -> None:
    ended = box(level, "yes", limits=QUICK.changed(output=1000, flood=5_000_000))

    assert ended.ended_by == "output"
    assert ended.stdout.total > 5_000_000
    assert ended.stdout.cut == ended.stdout.total - 1000
    assert f"[… {ended.stdout.cut} bytes cut …]".encode() in ended.stdout.data
    assert len(ended.stdout.data) < 1100


@pytest.mark.slow
@pytest.mark.parametrize("level", ["L1"])
def test_093_a_gigabyte_of_output_is_read_and_not_kept(level: Level, box: Box) -> None:
    limits = QUICK.changed(seconds=300, flood=2**31, output=100_000)

    ended = box(level, "head", "-c", "1000000000", "/dev/zero", limits=limits)

    assert (ended.status, ended.ended_by, ended.stdout.total) == (0, None, 1_000_000_000)
    assert len(ended.stdout.data) < 101_000


BOMB = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"


@EVERY
def test_093_a_fork_bomb_is_bounded_and_ended(level: Level, python: Box, worktree: Path) -> None:
    """Bounded twice: by the sandbox, and should that fail by the processor time of the whole family."""
    if level == "L0" and sys.platform != "linux":
        pytest.skip("at L0 only Linux counts a family of processes: run the tests there")

    ended = python(level, BOMB, limits=QUICK.changed(seconds=5, cpu_seconds=5, processes=24))

    assert ended.ended_by in ("processes", "cpu", "time")
    assert not _alive(worktree)


@EVERY
def test_163_a_file_has_a_size_it_cannot_pass(level: Level, box: Box, worktree: Path) -> None:
    limits = QUICK.changed(file_size=1_000_000)

    ended = box(level, "dd", "if=/dev/zero", "of=big", "bs=100000", "count=100", limits=limits)

    assert ended.ended_by == "file_size"
    assert (worktree / "big").stat().st_size <= 1_000_000


@EVERY
def test_163_many_files_cannot_fill_the_disk(level: Level, box: Box, worktree: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux tells how much of the disk a family takes: run the tests there")
    script = "i=0; while [ $i -lt 400 ]; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); sleep 0.01; done; sleep 50"

    ended = box(level, "sh", "-c", script, limits=QUICK.changed(disk=20_000_000))

    assert ended.ended_by == "disk"


@quick_at("L1")
def test_093_processor_time_has_an_end(level: Level, box: Box) -> None:
    ended = box(level, "sh", "-c", "while :; do :; done", limits=QUICK.changed(cpu_seconds=1))

    assert ended.ended_by == "cpu"


@EVERY
def test_093_one_process_cannot_take_all_memory(level: Level, python: Box) -> None:
    ended = python(level, "x = bytearray(400_000_000)", limits=QUICK.changed(memory=150_000_000))

    assert ended.status == 1
    assert b"MemoryError" in ended.stderr.data


@EVERY
def test_093_many_processes_cannot_take_all_memory(level: Level, python: Box) -> None:
    if sys.platform != "linux":
        pytest.skip("only Linux counts the memory of a family: run the tests there")
    code = "import os, time\nfor _ in range(3): os.fork()\nx = b'x' * 60_000_000\ntime.sleep(50)"

    ended = python(level, code, limits=QUICK.changed(memory=200_000_000))

    assert ended.ended_by == "memory"


@EVERY
def test_there_is_no_terminal_to_type_into(level: Level, box: Box) -> None:
    ended = box(level, "sh", "-c", "tty; echo x > /dev/tty")

    assert ended.stdout.data == b"not a tty\n"
    assert ended.status != 0


@EVERY
def test_commands_side_by_side_do_not_end_each_other(level: Level, box: Box) -> None:
    need(level)
    ended: list[bytes] = []

    def one(number: int) -> None:
        script = f"setsid sleep 1000 & sleep 0.{number}; echo {number}"
        ended.append(box(level, "sh", "-c", script).stdout.data)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(ended) == [b"1\n", b"2\n", b"3\n", b"4\n"]


@EVERY
def test_an_interrupt_ends_the_command(level: Level, box: Box, worktree: Path) -> None:
    def interrupted(_: bytes) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        box(level, "sh", "-c", "echo on; sleep 1000", sink=interrupted)

    assert not _alive(worktree)


def test_a_killed_launcher_is_started_again(box: Box) -> None:
    from gitnexus.sandbox import launcher

    assert box("L0", "true").status == 0
    victim = launcher._idle[-1].process
    os.kill(victim.pid, signal.SIGKILL)
    victim.wait()

    assert box("L0", "true").status == 0


def test_188_a_command_whose_launcher_is_killed_is_not_said_to_have_not_run(box: Box, worktree: Path) -> None:
    """Without Landlock a command can end its own launcher, as any process of the user's."""
    with pytest.raises(Failed) as lost:
        box("L0", "sh", "-c", "sleep 1000 & touch ran; kill -9 $PPID; sleep 1000")

    assert "interrupted" in lost.value.message
    assert (worktree / "ran").exists()
    # Who ends the rest is not who was killed, and a busy machine gives them their turn later.
    until = time.monotonic() + 30
    while _alive(worktree) and time.monotonic() < until:
        os.sched_yield()
    assert not _alive(worktree)
    assert box("L0", "true").status == 0


def test_limits_have_to_be_above_nothing(worktree: Path) -> None:
    with pytest.raises(Invalid):
        run_in_sandbox(spec_of(worktree, "L0", ("true",), limits=SandboxLimits(seconds=0)))
