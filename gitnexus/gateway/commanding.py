"""A command as a deed: one program with its arguments, never a line for a shell."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitnexus.base.errors import Conflict, Invalid, NotFound
from gitnexus.base.text import is_text, one_line
from gitnexus.gateway.bench import Bench
from gitnexus.gateway.door import Act
from gitnexus.gateway.paths import is_git, why_unreachable
from gitnexus.git.private import private
from gitnexus.git.revisions import head_of
from gitnexus.policy.model import CommandRequest, Network, Request

# Below what a kernel takes, so that a refusal is ours and says why: 2 MiB in all, 128 KiB each on Linux.
MOST_ARGUMENTS = 4096
MOST_BYTES = 128 * 1024
LARGEST_INPUT = 2**20
# Files that a command names are bound to what they hold, within reason.
MOST_FILES = 100
LARGEST_FILE = 16 * 2**20
LONGEST_NAME = 4096
LIMITS = {"seconds": 600, "cpuSeconds": 600, "memory": 2**31, "processes": 256, "fileSize": 2**30, "output": 2**20}


@dataclass(frozen=True, slots=True)
class CommandDeed:
    """A command in a folder of the worktree; `cwd` counts from its top. `limits` may only lower what holds."""

    bench: Bench
    argv: Sequence[str]
    summary: str
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    limits: Mapping[str, int] = field(default_factory=dict)
    network: Network = "none"

    @contextmanager
    def prepared(self) -> Iterator[tuple[Request, Act]]:
        """Look everything up again: folder, program, its content. Raises: Invalid, NotFound, and what confines."""
        request = self._request()
        if request.stdin_digest:
            self.bench.inputs[request.stdin_digest] = self.stdin
        yield request, lambda: ran(self.bench, request, self.stdin)

    def _request(self) -> CommandRequest:
        argv = checked_argv(self.argv)
        if len(self.stdin) > LARGEST_INPUT:
            raise Invalid(f"the input is larger than {LARGEST_INPUT // 2**20} MiB")
        if any("\0" in text or not is_text(text) for pair in self.env.items() for text in pair):
            raise Invalid("a variable holds a NUL or half of a surrogate pair")
        cwd = folder_of(self.bench.worktree, self.cwd)
        program, digest = self.bench.confine.resolved(argv[0], cwd)
        return CommandRequest(
            project=self.bench.project,
            run=self.bench.run,
            role=self.bench.role,
            argv=argv,
            program=program,
            program_digest=digest,
            cwd=str(cwd),
            base=base_of(self.bench),
            env=self.bench.confine.environment(self.env),
            limits=_lowered(self.limits),
            stdin_digest=f"sha256:{hashlib.sha256(self.stdin).hexdigest()}" if self.stdin else "",
            network=self.network,
            sandbox=self.bench.confine.level,
            files=named_files(argv, cwd, self.bench.worktree),
        )


def ran(bench: Bench, request: CommandRequest, stdin: bytes) -> dict[str, Any]:
    """Execute exactly this request, and return how it ended with its masked output. Raises: NexusError."""
    # Masked before anything is cut: half a secret at a cut would be found by no rule.
    stream, kept, most = bench.door.stream(), bytearray(), request.limits["output"]
    dropped = 0

    def take(piece: bytes) -> None:
        nonlocal dropped
        room = most - len(kept)
        kept.extend(piece[:room])
        dropped += max(0, len(piece) - room)

    done = bench.confine.run(request, stdin, lambda piece: take(stream.feed(piece)))
    take(stream.finish())
    return {**done.plain(), "cut": done.cut + dropped, "output": bytes(kept).decode("utf-8", "backslashreplace")}


def found_again(bench: Bench, request: CommandRequest) -> CommandRequest:
    """Return an earlier request as the world is now: folder, program, its content, commit, level. Raises: NexusError.

    The environment and the limits stay those that were looked at and approved.
    """
    root = bench.worktree.resolve()
    if not Path(request.cwd).is_relative_to(root):
        raise Conflict("the worktree is not where it was")
    below = Path(request.cwd).relative_to(root).as_posix()
    cwd = folder_of(bench.worktree, "" if below == "." else below)
    program, digest = bench.confine.resolved(request.argv[0], cwd)
    return request.changed(
        program=program, program_digest=digest, cwd=str(cwd), base=base_of(bench), sandbox=bench.confine.level,
        files=named_files(request.argv, cwd, bench.worktree),
    )  # fmt: skip


def named_files(argv: Sequence[str], cwd: Path, worktree: Path) -> dict[str, str] | None:
    """Return what the files of a worktree hold that arguments name, by the argument; None if they name none."""
    root = worktree.resolve()
    found: dict[str, str] = {}
    for word in argv[1:]:
        name = word.rpartition("=")[2] if word.startswith("-") else word
        if not name or len(name) > LONGEST_NAME or len(found) == MOST_FILES:
            continue
        with suppress(OSError, ValueError, RuntimeError):
            file = (cwd / name).resolve(strict=True)
            if file.is_relative_to(root) and file.is_file() and file.stat().st_size <= LARGEST_FILE:
                data = file.read_bytes()
                found[name] = f"sha256:{hashlib.sha256(data).hexdigest()}, {len(data)} bytes"
    return found or None


def checked_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return a list of arguments that a kernel would take. Raises: Invalid."""
    if isinstance(argv, str) or not argv:
        raise Invalid("argv should be a list of texts, the program first", hint='["git", "status"]')
    if not all(isinstance(one, str) for one in argv):
        raise Invalid("argv should be a list of texts")
    if not argv[0]:
        raise Invalid("argv names no program")
    if len(argv) > MOST_ARGUMENTS:
        raise Invalid(f"argv has more than {MOST_ARGUMENTS} arguments")
    for at, one in enumerate(argv):
        if "\0" in one or not is_text(one):
            raise Invalid(f"argument {at} holds a NUL or half of a surrogate pair")
    if sum(len(one.encode()) + 1 for one in argv) > MOST_BYTES:
        raise Invalid(f"argv is longer than {MOST_BYTES // 1024} KiB", hint="give large data as input or in a file")
    return tuple(argv)


def folder_of(worktree: Path, cwd: str) -> Path:
    """Return the folder that a command runs in, links resolved. Raises: Invalid, NotFound."""
    root = worktree.resolve()
    if cwd in ("", "."):
        return root
    if reason := why_unreachable(cwd.removesuffix("/")):
        raise Invalid(f"the folder {one_line(cwd, 80)!r} is refused: {reason}")
    try:
        found = (root / cwd).resolve(strict=True)
    except (OSError, RuntimeError) as exc:
        raise NotFound(f"there is no folder {one_line(cwd, 80)}") from exc
    if not found.is_relative_to(root) or any(is_git(part) for part in found.relative_to(root).parts):
        raise Invalid(f"the folder {one_line(cwd, 80)!r} is refused: it leads out of the worktree")
    if not found.is_dir():
        raise Invalid(f"{one_line(cwd, 80)} is not a folder")
    return found


def base_of(bench: Bench) -> str:
    """Return the commit that a worktree is at, empty before the first."""
    with private(bench.repo) as git:
        try:
            return head_of(bench.repo, git)
        except NotFound:
            return ""


def _lowered(wanted: Mapping[str, int]) -> dict[str, int]:
    for name, value in wanted.items():
        if name not in LIMITS or value < 1:
            raise Invalid(f"there is no limit {one_line(name, 40)!r} of {value}", hint=f"limits: {', '.join(LIMITS)}")
    return {name: min(most, wanted.get(name, most)) for name, most in LIMITS.items()}
