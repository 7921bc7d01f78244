"""The records for a sandboxed command (argv, limits, levels) and its outcome, and the checks on them."""

import os
from dataclasses import field
from typing import Literal

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.base.text import one_line

Level = Literal["L0", "L1", "L2", "L3"]
Network = Literal["none", "loopback", "full"]
EndedBy = Literal["time", "cpu", "memory", "processes", "output", "file_size", "disk"]

LEVELS: tuple[Level, ...] = ("L0", "L1", "L2", "L3")

# Linux takes 128 KiB for one word and a quarter of the stack, mostly 2 MiB, for all; half of that is enough.
_WORDS, _LONGEST, _ALL = 10_000, 128 * 1024 - 1, 1024 * 1024
_MIB = 1024 * 1024


class SandboxLimits(Record):
    """How much a command may take; sizes in bytes."""

    seconds: int = 600
    cpu_seconds: int = 600
    memory: int = 4096 * _MIB
    processes: int = 256
    file_size: int = 1024 * _MIB
    # kept of each of the two streams
    output: int = 1 * _MIB
    # read of both together and thrown away before the command is ended
    flood: int = 256 * _MIB
    # by how much the free space of the worktree's disk may shrink meanwhile
    disk: int = 8192 * _MIB


class SandboxSpec(Record):
    """One command with everything it may use. `program` is the file to execute, `argv[0]` the name that it sees.

    `env` is its whole environment except HOME and the folders for temporary files, which each run gets anew. `root` is
    the worktree: writable unless `root_writable` is False, which works from L1 on. From L1 on, everything that is
    neither named here nor a system folder is inaccessible.
    """

    argv: tuple[str, ...]
    program: str
    cwd: str
    root: str
    env: dict[str, str] = field(default_factory=dict)
    readable: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: Network = "none"
    limits: SandboxLimits = field(default_factory=SandboxLimits)
    stdin: bytes = field(default=b"", repr=False)
    level: Level = "L1"
    # A folder among those that are writable, to be the home instead of a fresh one.
    home: str = ""
    root_writable: bool = True


class KeptOutput(Record):
    """The beginning and the end of a stream, with a line between them that says how much was cut."""

    data: bytes = b""
    total: int = 0
    cut: int = 0


class SandboxOutcome(Record):
    """How a command ended: `status`, or the `signal` that ended it; `ended_by` names the limit that did.

    `dismissed` is true for a command that was told to exit after its last answer and did not: that is not a failure.
    `left_behind` is the number of processes it left running, which were ended. Output that went to a sink is not
    stored.
    """

    status: int | None
    signal: int | None
    seconds: float
    level: Level
    stdout: KeptOutput
    stderr: KeptOutput
    ended_by: EndedBy | None = None
    dismissed: bool = False
    left_behind: int = 0
    cpu_seconds: float = 0.0
    memory: int = 0


def check_spec(spec: SandboxSpec) -> SandboxSpec:
    """Return `spec` if it can be run as it says. Raises: Invalid."""
    check_argv(spec.argv)
    for path in (spec.program, spec.cwd, spec.root, *spec.readable, *spec.writable, *spec.hidden):
        _check_path(path)
    if os.path.realpath(spec.root) != spec.root or spec.root == "/":
        raise Invalid(f"the worktree is not where it seems to be: {one_line(spec.root)}")
    if not any(is_within(spec.cwd, folder) for folder in (spec.root, *spec.writable)):
        raise Invalid(f"the working folder is outside the worktree: {one_line(spec.cwd)}")
    if os.path.realpath(spec.cwd) != spec.cwd:
        raise Invalid(f"the working folder is reached through a link: {one_line(spec.cwd)}")
    for name, value in spec.limits.plain().items():
        if not 0 < value < 2**53:
            raise Invalid(f"the limit {name} should be above 0")
    return spec


def check_argv(argv: object) -> None:
    """Refuse what is not a list of words that the kernel would take. Raises: Invalid."""
    if not isinstance(argv, (list, tuple)) or not all(isinstance(word, str) for word in argv):
        raise Invalid(
            "a command is a list of words", hint='for instance ["git", "status"]; nothing is split or expanded'
        )
    if not argv or not argv[0]:
        raise Invalid("a command needs a program as its first word")
    if len(argv) > _WORDS:
        raise Invalid(f"a command has at most {_WORDS} words, this one has {len(argv)}")
    size = 0
    for word in argv:
        length = _word_length(word)
        size += length + 1
        if length > _LONGEST or size > _ALL:
            raise Invalid("the command is too long", hint="put long values in a file, or on standard input")


def is_within(path: str, folder: str) -> bool:
    """True if `path` is `folder` or below it; both absolute and resolved."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _word_length(word: str) -> int:
    if "\0" in word:
        raise Invalid("a word of the command has a NUL in it")
    try:
        return len(os.fsencode(word))
    except UnicodeEncodeError as exc:
        raise Invalid("a word of the command is not text") from exc


def _check_path(path: str) -> None:
    if not path.startswith("/") or "\0" in path or os.path.normpath(path) != path:
        raise Invalid(f"not an absolute path in plain form: {one_line(path)}")
