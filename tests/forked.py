"""Commands in processes that are forked from one that has imported everything already, not started from nothing.

A test calls hundreds of commands, and most of the time of each is Python importing the same modules again. The process
that runs a command here is its own as before: folder, environment, streams, exit status. Libraries that look at the
environment while they are imported stay out of the process that all are forked from. Tests that are about the start of
a command start one: `subprocess`. `tests.terminal` has commands on a terminal.
"""

import contextlib
import ctypes
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import re
import selectors
import signal
import socket
import subprocess
import sys
import termios
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Self

from tests.warm import warm_up

# libgit2 reads HOME when it is loaded; the others are large and few commands need them.
_NOT_BEFORE = ("pygit2", "git", "mcp", "textual", "baml_py", "pydantic_ai")
# What commands import inside their functions.
_INSIDE_COMMANDS = (
    *("ahocorasick", "click.shell_completion", "encodings.ascii", "encodings.idna", "html", "pathspec"),
    *("markdown_it", "re2", "rfc8785", "sqlite3", "stringprep", "typing_extensions", "yaml"),
    *("cryptography.exceptions", "cryptography.hazmat.primitives.asymmetric.ed25519"),
    "cryptography.hazmat.primitives.serialization",
)
# The servers that agents in a run talk to take a second to import this one: they are forked from a process of its own.
_OF_SERVERS = "mcp"
_LARGEST_REQUEST = 4 * 1024 * 1024
_ANSWER = 16
_ANONYMOUS = re.compile(r"([0-9a-f]+)-([0-9a-f]+) rw-p 0+ 00:00 0\s*(?:\[heap\])?$")
_LARGE_PAGE = 2 * 1024 * 1024
_MADV_COLLAPSE = 25
_PROGRAM = str(Path(sys.executable).with_name("git-nexus"))


class Forker:
    """The door to the process that all commands are forked from. It ends when this one does."""

    def __init__(self, name: str = "tests", env: Mapping[str, str] | None = None) -> None:
        """`name` tells it from others of this process; `env` is what its own processes have besides the environment."""
        kinds = {"commands": "serve", "servers": "serve_servers", "launchers": "serve_launchers"}
        self.addresses = {kind: f"\0nexus-{name}-{kind}-{os.getpid()}" for kind in kinds}
        self._serving = [_start_serving(f"{call}({self.addresses[kind]!r})", env) for kind, call in kinds.items()]
        self._door = self._serving[0][0]
        # A socket that two threads send on at once keeps messages whole, but not which answer belongs to whom.
        self._lock = threading.Lock()

    def __call__(self, argv: Sequence[str], cwd: Path, stdin: str = "") -> "subprocess.CompletedProcess[str]":
        """Run `git nexus` with these arguments; `cwd` and the environment are those of the caller."""
        files = [os.memfd_create(name) for name in ("stdin", "stdout", "stderr")]
        try:
            os.write(files[0], stdin.encode())
            os.lseek(files[0], 0, os.SEEK_SET)
            with self.start(argv, cwd, files) as command:
                status = command.wait()
            out, err = (os.pread(fd, os.fstat(fd).st_size, 0).decode() for fd in files[1:])
        finally:
            for fd in files:
                os.close(fd)
        return subprocess.CompletedProcess(["git", "nexus", *argv], status, _lines(out), _lines(err))

    def start(
        self, argv: Sequence[str], cwd: Path, files: Sequence[int], env: Mapping[str, str] | None = None,
        session: bool = False, code: str = "",
    ) -> "StartedCommand":  # fmt: skip
        """Start `git nexus` with three files as its streams; in a session of its own, its terminal is the first.

        With `code` it is that which runs, as `python -c` would run it, and `git nexus` does not.
        """
        ours, theirs = socket.socketpair()
        given = {"argv": list(argv), "cwd": str(cwd), "env": {**os.environ, **(env or {})}, "session": session,
                 "addresses": self.addresses, "code": code}  # fmt: skip
        with theirs, self._lock:
            self._door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST_REQUEST)
            socket.send_fds(self._door, [json.dumps(given).encode()], [*files, theirs.fileno()])
        return StartedCommand(ours, list(argv))

    @property
    def processes(self) -> list[int]:
        """The processes that others are forked from."""
        return [server.pid for _, server in self._serving]

    def close(self) -> None:
        """End the servers."""
        for door, server in self._serving:
            door.close()
            server.wait()


def _start_serving(call: str, env: Mapping[str, str] | None) -> "tuple[socket.socket, subprocess.Popen[bytes]]":
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    root = Path(__file__).resolve().parent.parent
    argv = [sys.executable, "-c", f"from tests.forked import *; {call}"]
    with theirs:
        given = {**os.environ, **(env or {})}
        return ours, subprocess.Popen(argv, cwd=root, env=given, stdin=theirs, stdout=subprocess.DEVNULL)


@cache
def forker() -> Forker:
    """Return the one of this process."""
    return Forker()


class StartedCommand:
    """A command at work: its process, and how it ends."""

    def __init__(self, answers: socket.socket, argv: list[str]) -> None:
        self._answers, self._argv = answers, argv
        self._status: int | None = None
        self.pid = self._number()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._answers.close()

    def wait(self, seconds: float | None = None) -> int:
        """Return the exit status, or minus the signal. Raises: TimeoutError, if it is still at work after a time."""
        if self._status is None:
            self._answers.settimeout(seconds)
            self._status = self._number()
            self._answers.close()
        return self._status

    def kill(self) -> int:
        """Kill it if it is still at work, wait until it is gone and return its status."""
        if self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
        return self.wait()

    def _number(self) -> int:
        answer = self._answers.recv(_ANSWER)
        assert answer, f"the process that runs git nexus {self._argv} was lost"
        return int(answer)


def _lines(text: str) -> str:
    return text.replace("\r\n", "\n")


def serve(address: str) -> None:
    """Import all that commands import, then fork for each request until standard input is closed.

    Requests come from standard input, and to a socket with this address from the commands themselves.
    """
    listening = _listen(address)
    _import_all(_NOT_BEFORE)
    warm_up(_PROGRAM)
    _compute_constants()
    _serve(listening)


def serve_servers(address: str) -> None:
    """The same for the servers of runs, for requests that come to a socket with this address."""
    listening = _listen(address)
    _import_all(tuple(name for name in _NOT_BEFORE if name != _OF_SERVERS))
    _compute_constants()
    _serve(listening)


def _connect(door: socket.socket, address: str) -> None:
    """Connect to a process of ours, which may not listen yet: it is started beside the first test."""
    for _ in range(500):
        with contextlib.suppress(ConnectionRefusedError):
            return door.connect(address)
        time.sleep(0.01)
    return door.connect(address)


def _listen(address: str) -> socket.socket:
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address)
    listening.listen(64)
    return listening


def serve_launchers(address: str) -> None:
    """The same for the processes that start sandboxed commands: each would take an interpreter of its own."""
    listening = _listen(address)
    from gitnexus.sandbox.inner.serve import serve as launch

    def become(_: dict[str, Any], files: list[int]) -> None:
        try:
            os.setsid()
            for number in range(3):
                os.dup2(nowhere, number)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            launch(files[0])
        finally:
            os._exit(0)

    nowhere = os.open(os.devnull, os.O_RDWR)
    os.environ.clear()
    os.chdir("/")
    _serve(listening, become)


def _serve(listening: socket.socket, become: Callable[[dict[str, Any], list[int]], None] | None = None) -> None:
    gc.collect()
    gc.freeze()
    _use_large_pages()
    gc.set_threshold(20_000, 20, 20)  # few commands make so much; those that do have their garbage collected
    doors = {0: socket.socket(fileno=os.dup(0))}
    waiting: dict[int, tuple[int, int]] = {}  # by the descriptor of a command: its process, and who waits for its end
    with selectors.DefaultSelector() as selector:
        selector.register(doors[0], selectors.EVENT_READ, doors[0])
        selector.register(listening, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd in waiting:
                    selector.unregister(key.fd)
                    _report_end(key.fd, *waiting.pop(key.fd))
                elif key.data is None:
                    caller, _ = listening.accept()
                    selector.register(caller, selectors.EVENT_READ, caller)
                else:
                    request, files, _, _ = socket.recv_fds(key.data, _LARGEST_REQUEST, 4)
                    if request:
                        others = [fd for fd in selector.get_map() if fd not in waiting]
                        command, waiter = _start(
                            request, files, [*others, *waiting, *(fd for _, fd in waiting.values())],
                            become or _become,
                        )  # fmt: skip
                        ended = os.pidfd_open(command)
                        waiting[ended] = (command, waiter)
                        selector.register(ended, selectors.EVENT_READ)
                    elif key.data is doors[0]:
                        return
                    else:
                        selector.unregister(key.data)
                        key.data.close()


def _use_large_pages() -> None:
    """Have the kernel keep what is in memory now in pages of 2 MiB: a fork copies the table of all pages."""
    madvise = ctypes.CDLL(None).madvise
    madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/maps").read_text().splitlines():
            if anonymous := _ANONYMOUS.match(line):
                begin, end = (int(one, 16) for one in anonymous.groups())
                begin, end = -(-begin // _LARGE_PAGE) * _LARGE_PAGE, end // _LARGE_PAGE * _LARGE_PAGE
                if begin < end:
                    madvise(begin, end - begin, _MADV_COLLAPSE)  # fails before Linux 6.1: nothing is lost


def _start(
    request: bytes, files: list[int], of_others: list[int], become: Callable[[dict[str, Any], list[int]], None]
) -> tuple[int, int]:
    """Fork a command; return its process and the descriptor on which its exit status is awaited."""
    waiter = files.pop()
    command = os.fork()
    if command == 0:
        for fd in (waiter, *of_others):
            os.close(fd)
        become(json.loads(request), files)
    for fd in files:
        os.close(fd)
    _answer(waiter, command)
    return command, waiter


def _report_end(ended: int, command: int, waiter: int) -> None:
    status = os.waitstatus_to_exitcode(os.waitpid(command, 0)[1])
    _answer(waiter, status)
    os.close(ended)
    os.close(waiter)


def _answer(waiter: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # whoever started it may not care how it ends
        os.write(waiter, f"{number:{_ANSWER}}".encode())


def _import_all(not_before: Sequence[str]) -> None:
    for name in not_before:
        sys.modules[name] = None  # type: ignore[assignment] - whoever imports it now fails, and is imported later
    import gitnexus

    for module in pkgutil.walk_packages(gitnexus.__path__, "gitnexus.", onerror=lambda _: None):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module.name)
    for name in _INSIDE_COMMANDS:
        importlib.import_module(name)
    for name in not_before:
        del sys.modules[name]


def _compute_constants() -> None:
    """Fill the caches of what is the same in every process: compiled patterns, our own catalog, the sandbox's level."""
    from gitnexus.catalog import builtin as catalog
    from gitnexus.policy import builtin as policy
    from gitnexus.redaction import words
    from gitnexus.redaction.rules import RULES
    from gitnexus.sandbox import launcher, levels
    from gitnexus.sandbox.inner import kernel

    for name in ("any", "named", "processes", "ours", "guards", "asked"):
        policy._compile_list(name)
    words.any_rule_pattern()
    words._short_words()
    words._word_automaton()
    for rule in RULES:
        _ = rule.plain
    catalog.builtin_catalog()
    if levels.try_level("L2").there:  # L3 depends on what is on PATH
        launcher._stop_idle_launchers()
        kernel.prctl(kernel.PR_SET_DUMPABLE, 1)


def _become(request: dict[str, Any], files: list[int]) -> None:
    """Be the command: its folder, environment and streams, and what Python does around `main`."""
    status = 1
    try:
        for number, fd in enumerate(files):
            os.dup2(fd, number)
            os.close(fd)
        if request["session"]:
            os.setsid()
            if os.isatty(0):
                fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        elif request.get("caller_session", os.getsid(0)) != os.getsid(0):
            os.setpgid(0, 0)  # or who kills the group of this command kills the tests
        os.environ.clear()
        os.environ.update(request["env"])
        os.chdir(request["cwd"])
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.argv = [_PROGRAM, *request["argv"]]
        fork_from(request["addresses"])
        sys.stdin, sys.stdout = _stream(0, "r"), _stream(1, "w")
        sys.stderr = _stream(2, "w", errors="backslashreplace")
        sys.stderr.reconfigure(line_buffering=True)
        status = _run_code(request["code"]) if request.get("code") else _main()
    except BaseException:  # noqa: BLE001 - nothing of this process may go back into the server's loop
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)


def fork_from(addresses: Mapping[str, str]) -> None:
    """Have fork, from now on in this process, what the product starts as processes of its own: itself."""
    from gitnexus.cli.run import run
    from gitnexus.sandbox import launcher, tool_relay
    from gitnexus.tui import subprocesses
    from gitnexus.workers import worker

    for module, kind in ((tool_relay, "servers"), (worker, "commands"), (run, "commands"), (subprocesses, "commands")):
        popen: Any = partial(_start_process, addresses, addresses[kind])
        popen.terminate, popen.kill = ForkedProcess.terminate, ForkedProcess.kill
        module.subprocess = _Subprocess(popen)  # type: ignore[attr-defined]
    launcher.subprocess = _Subprocess(partial(ForkedLauncher, addresses["launchers"]))  # type: ignore[attr-defined]


class _Subprocess:
    """The module `subprocess` with another `Popen`."""

    def __init__(self, popen: Any) -> None:
        self.Popen = popen

    def __getattr__(self, name: str) -> Any:
        return getattr(subprocess, name)


def _start_process(addresses: Mapping[str, str], address: str, argv: Sequence[str], **given: Any) -> Any:
    """Start a process as `subprocess.Popen` would; one of ours is forked."""
    words = [word for word in argv[1:4] if word != "-P"]
    if argv[0] != sys.executable or words[:2] != ["-m", "gitnexus"]:
        return subprocess.Popen(argv, **given)
    return ForkedProcess(addresses, address, [*argv[list(argv).index("gitnexus") + 1 :]], **given)


class ForkedProcess:
    """What the product knows of a process of its own, as `subprocess.Popen` would tell it."""

    def __init__(
        self, addresses: Mapping[str, str], address: str, argv: list[str], *, stdin: Any, stdout: Any, stderr: Any,
        env: Mapping[str, str] | None = None, cwd: str = "/", start_new_session: bool = False, **_: Any,
    ) -> None:  # fmt: skip
        ours, theirs = socket.socketpair()
        given = {"argv": argv, "cwd": cwd, "env": dict(os.environ if env is None else env), "addresses": addresses,
                 "session": start_new_session or address == addresses["servers"],
                 "caller_session": os.getsid(0)}  # fmt: skip
        with (
            socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door, theirs,
            contextlib.ExitStack() as opened,
        ):  # fmt: skip
            door.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _LARGEST_REQUEST)
            _connect(door, address)
            files = [_descriptor(stream, opened) for stream in (stdin, stdout, stderr)]
            socket.send_fds(door, [json.dumps(given).encode()], [*files, theirs.fileno()])
        self._command = StartedCommand(ours, argv)
        self.args, self.pid = argv, self._command.pid
        self.returncode: int | None = None

    def wait(self, timeout: float | None = None) -> int:
        try:
            self.returncode = self._command.wait(timeout)
        except (TimeoutError, BlockingIOError) as exc:
            raise subprocess.TimeoutExpired("git nexus", timeout or 0) from exc
        return self.returncode

    def poll(self) -> int | None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return self.wait(0.0001)
        return None

    def __del__(self) -> None:
        self._command.__exit__()  # whoever left it to itself does not wait for its end

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


class ForkedLauncher(ForkedProcess):
    """A process that starts sandboxed commands, as the product knows it."""

    def __init__(self, address: str, argv: list[str], *, pass_fds: Sequence[int], **_: Any) -> None:
        ours, theirs = socket.socketpair()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as door, theirs:
            _connect(door, address)
            socket.send_fds(door, [b"{}"], [*pass_fds, theirs.fileno()])
        self._command = StartedCommand(ours, argv)
        self.args, self.pid, self.returncode = argv, self._command.pid, None

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            super().kill()


class ForkedServer(ForkedProcess):
    """A server that a test talks to through pipes, as it would to one that `subprocess.Popen` started."""

    def __init__(self, *argv: str) -> None:
        addresses = forker().addresses
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        try:
            super().__init__(addresses, addresses["servers"], [*argv], stdin=theirs_in, stdout=theirs_out, stderr=2)
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self.stdin, self.stdout = os.fdopen(ours_in, "wb"), os.fdopen(ours_out, "rb")

    def close(self) -> int:
        """Say that nothing more comes, and return how it ended."""
        self.stdin.close()
        self.stdout.read()
        self.stdout.close()
        return self.wait(60)


class ForkedPython:
    """Python code in a process of its own, as `python -c` would run it, but with all our modules imported already.

    For races between processes: not for code that looks at what it imports.
    """

    def __init__(self, code: str, *argv: str) -> None:
        theirs_in, ours_in = os.pipe()
        ours_out, theirs_out = os.pipe()
        self._said = os.memfd_create("stderr")
        try:
            self._command = forker().start(argv, Path.cwd(), [theirs_in, theirs_out, self._said], code=code)
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self.pid = self._command.pid
        self.stdin, self.stdout = os.fdopen(ours_in, "w"), os.fdopen(ours_out, "r")

    def communicate(self) -> tuple[str, str]:
        """Say that nothing more comes, wait for the end, and return what it printed since, and all on stderr."""
        self.stdin.close()
        with self.stdout:
            out = self.stdout.read()
        self._command.wait()
        err = os.pread(self._said, os.fstat(self._said).st_size, 0).decode()
        os.close(self._said)
        return out, err

    def wait(self) -> int:
        """Return how it ended; what it printed on stderr is shown if that is not 0."""
        err = self.communicate()[1]
        status = self._command.wait()
        if status:
            sys.stderr.write(err)
        return status


def _descriptor(stream: Any, opened: contextlib.ExitStack) -> int:
    if stream == subprocess.DEVNULL:
        return opened.enter_context(open(os.devnull, "r+b")).fileno()
    return stream if isinstance(stream, int) else int(stream.fileno())


def _stream(fd: int, mode: str, errors: str = "surrogateescape") -> io.TextIOWrapper:
    return open(fd, mode, encoding="utf-8", errors=errors, closefd=False)  # type: ignore[return-value]


def _run_code(code: str) -> int:
    """Run code as `python -c` would; what it raises is for the caller to print."""
    sys.argv[0] = "-c"
    exec(compile(code, "<string>", "exec"), {"__name__": "__main__"})
    return 0


def _main() -> int:
    import atexit

    from gitnexus.main import main

    try:
        main()
    except SystemExit as exc:
        if isinstance(exc.code, str):
            sys.stderr.write(f"{exc.code}\n")
            return 1
        return exc.code or 0
    finally:
        threading._shutdown()  # type: ignore[attr-defined] - as the interpreter does at its end
        atexit._run_exitfuncs()
    return 0
