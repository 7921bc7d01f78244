"""`CommandAction`: prepares and executes one program with arguments in the sandbox; never a shell line."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitnexus.base.errors import Conflict, Invalid, NotFound
from gitnexus.base.files import files_upward
from gitnexus.base.text import is_utf8_name, one_line
from gitnexus.gateway.execute import Act
from gitnexus.gateway.paths import is_git_part, why_unreachable
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.git.private import private_git
from gitnexus.git.revisions import resolve_head
from gitnexus.policy.model import CommandRequest, Network, Request
from gitnexus.policy.obeyed import OBEYED
from gitnexus.policy.programs import programs_in

# Below the kernel's limits (on Linux 2 MiB in all, 128 KiB each), so that the error is ours and explains itself.
MOST_ARGUMENTS = 4096
MOST_BYTES = 128 * 1024
LARGEST_INPUT = 2**20
# Limits for the files whose content is bound to a command.
MOST_FILES = 100
LARGEST_FILE = 16 * 2**20
LONGEST_NAME = 4096
LIMITS = {"seconds": 600, "cpuSeconds": 600, "memory": 2**31, "processes": 256, "fileSize": 2**30, "output": 2**20}


@dataclass(frozen=True, slots=True)
class CommandAction:
    """A command in a folder of the worktree; `cwd` is relative to its top. `limits` can only lower the present ones."""

    context: ToolContext
    argv: Sequence[str]
    summary: str
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    stdin: bytes = b""
    limits: Mapping[str, int] = field(default_factory=dict)
    network: Network = "none"
    reads: tuple[str, ...] | None = None
    writes: tuple[str, ...] | None = None

    @contextmanager
    def prepared(self) -> Iterator[tuple[Request, Act]]:
        """Resolve folder, program and its content again. Raises: Invalid, NotFound, and errors of the sandbox."""
        request = self._build_request()
        if request.stdin_digest:
            self.context.inputs[request.stdin_digest] = self.stdin
        yield request, lambda: run_command_request(self.context, request, self.stdin)

    def _build_request(self) -> CommandRequest:
        argv = require_argv(self.argv)
        if len(self.stdin) > LARGEST_INPUT:
            raise Invalid(f"the input is larger than {LARGEST_INPUT // 2**20} MiB")
        if any("\0" in text or not is_utf8_name(text) for pair in self.env.items() for text in pair):
            raise Invalid("a variable holds a NUL or an unpaired surrogate")
        cwd = resolve_command_folder(self.context.worktree, self.cwd)
        program, digest = self.context.confine.resolved(argv[0], cwd)
        return CommandRequest(
            project=self.context.project,
            run=self.context.run,
            role=self.context.role,
            argv=argv,
            program=program,
            program_digest=digest,
            cwd=str(cwd),
            base=worktree_head(self.context),
            env=self.context.confine.environment(self.env),
            limits=_lower_limits(self.limits),
            stdin_digest=f"sha256:{hashlib.sha256(self.stdin).hexdigest()}" if self.stdin else "",
            network=self.network,
            sandbox=self.context.confine.level,
            files=bound_files(argv, cwd, self.context.worktree),
            reads=self.reads,
            writes=self.writes,
        )


def run_command_request(context: ToolContext, request: CommandRequest, stdin: bytes) -> dict[str, Any]:
    """Execute exactly this request; return its result with masked output. Raises: NexusError."""
    # Mask before truncating: no rule would find half a secret.
    stream, kept, most = context.gate.stream(), bytearray(), request.limits["output"]
    dropped = 0

    def take(piece: bytes) -> None:
        nonlocal dropped
        room = most - len(kept)
        kept.extend(piece[:room])
        dropped += max(0, len(piece) - room)

    done = context.confine.run(request, stdin, lambda piece: take(stream.feed(piece)))
    take(stream.finish())
    return {**done.plain(), "cut": done.cut + dropped, "output": bytes(kept).decode("utf-8", "backslashreplace")}


def refresh_command_request(context: ToolContext, request: CommandRequest) -> CommandRequest:
    """Return the request with present folder, program, content, commit and sandbox level. Raises: NexusError.

    The environment and the limits stay those that were approved.
    """
    root = context.worktree.resolve()
    if not Path(request.cwd).is_relative_to(root):
        raise Conflict("the worktree is not where it was")
    below = Path(request.cwd).relative_to(root).as_posix()
    cwd = resolve_command_folder(context.worktree, "" if below == "." else below)
    program, digest = context.confine.resolved(request.argv[0], cwd)
    return request.changed(
        program=program,
        program_digest=digest,
        cwd=str(cwd),
        base=worktree_head(context),
        sandbox=context.confine.level,
        files=bound_files(request.argv, cwd, context.worktree),
    )


def bound_files(argv: Sequence[str], cwd: Path, worktree: Path) -> dict[str, str] | None:
    """Return hashes of worktree files that a command names or its program reads by itself; None if there are none.

    Files that a program reads by itself (`Makefile`, `conftest.py`) are searched in its folder, in the folders that it
    names, and from there up to the top.
    """
    root = worktree.resolve()
    found: dict[str, str] = {}
    folders: dict[Path, None] = {cwd: None}
    for word in argv[1:]:
        name = word.rpartition("=")[2] if word.startswith("-") else word
        if not name or len(name) > LONGEST_NAME:
            continue
        _bind(found, name, cwd / name, root)
        with suppress(OSError, ValueError, RuntimeError):
            file = (cwd / name.partition("::")[0]).resolve(strict=True)
            folders[file if file.is_dir() else file.parent] = None
    obeyed = [name for program in programs_in(argv) for name in OBEYED.get(program, ())] if argv[0] else []
    inside = [folder for folder in folders if folder.is_relative_to(root)][:MOST_FILES] if obeyed else []
    for folder in inside:
        for path in files_upward(obeyed, folder, root):
            _bind(found, Path(os.path.relpath(path, cwd)).as_posix(), path, root)
    return found or None


def _bind(found: dict[str, str], name: str, path: Path, root: Path) -> None:
    """Add the hash of a worktree file, within size limits."""
    if name in found or len(found) >= MOST_FILES:
        return
    with suppress(OSError, ValueError, RuntimeError):
        file = path.resolve(strict=True)
        if file.is_relative_to(root) and file.is_file() and file.stat().st_size <= LARGEST_FILE:
            data = file.read_bytes()
            found[name] = f"sha256:{hashlib.sha256(data).hexdigest()}, {len(data)} bytes"


def require_argv(argv: Sequence[str]) -> tuple[str, ...]:
    """Return an argument list that the kernel accepts. Raises: Invalid."""
    if isinstance(argv, str) or not argv:
        raise Invalid("argv should be a list of texts, the program first", hint='["git", "status"]')
    if not all(isinstance(one, str) for one in argv):
        raise Invalid("argv should be a list of texts")
    if not argv[0]:
        raise Invalid("argv names no program")
    if len(argv) > MOST_ARGUMENTS:
        raise Invalid(f"argv has more than {MOST_ARGUMENTS} arguments")
    for at, one in enumerate(argv):
        if "\0" in one or not is_utf8_name(one):
            raise Invalid(f"argument {at} holds a NUL or an unpaired surrogate")
    if sum(len(one.encode()) + 1 for one in argv) > MOST_BYTES:
        raise Invalid(f"argv is longer than {MOST_BYTES // 1024} KiB", hint="give large data as input or in a file")
    return tuple(argv)


def resolve_command_folder(worktree: Path, cwd: str) -> Path:
    """Return the folder that a command runs in, with links resolved. Raises: Invalid, NotFound."""
    root = worktree.resolve()
    if cwd in ("", "."):
        return root
    if reason := why_unreachable(cwd.removesuffix("/")):
        raise Invalid(f"the folder {one_line(cwd, 80)!r} is refused: {reason}")
    try:
        found = (root / cwd).resolve(strict=True)
    except (OSError, RuntimeError) as exc:
        raise NotFound(f"there is no folder {one_line(cwd, 80)}") from exc
    if not found.is_relative_to(root) or any(is_git_part(part) for part in found.relative_to(root).parts):
        raise Invalid(f"the folder {one_line(cwd, 80)!r} is refused: it leads out of the worktree")
    if not found.is_dir():
        raise Invalid(f"{one_line(cwd, 80)} is not a folder")
    return found


def worktree_head(context: ToolContext) -> str:
    """Return the commit of a worktree, "" before the first one."""
    with private_git(context.repo) as git:
        try:
            return resolve_head(context.repo, git)
        except NotFound:
            return ""


def _lower_limits(wanted: Mapping[str, int]) -> dict[str, int]:
    for name, value in wanted.items():
        if name not in LIMITS or value < 1:
            raise Invalid(f"there is no limit {one_line(name, 40)!r} of {value}", hint=f"limits: {', '.join(LIMITS)}")
    return {name: min(most, wanted.get(name, most)) for name, most in LIMITS.items()}
