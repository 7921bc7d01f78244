"""`WorktreeSandbox`: runs commands for one worktree at the sandbox level that the policy requires."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

from gitnexus.base.errors import DeniedByPolicy, Failed
from gitnexus.base.files import expand_home, replace_file
from gitnexus.base.randomness import random_hex
from gitnexus.gateway.declared_effects import undeclared_paths, undo_undeclared_writes
from gitnexus.gateway.protocols import CommandResult
from gitnexus.git import Repo
from gitnexus.git.config import user_config_value
from gitnexus.policy.compiled_rules import CompiledPolicy, why_unreadable
from gitnexus.policy.model import CommandRequest
from gitnexus.sandbox.environment import command_environment
from gitnexus.sandbox.levels import choose_level
from gitnexus.sandbox.program import resolve_program
from gitnexus.sandbox.run import run_in_sandbox
from gitnexus.sandbox.runtime_files import runtime_files_in_folder, runtime_files_of
from gitnexus.sandbox.spec import Level, SandboxLimits, SandboxSpec, is_within
from gitnexus.state.home import home_folder

# Folders with the user's own programs, such as pyenv's or npm's, separated by colons.
TOOLS = "nexus.toolPath"
_DEEPEST = 200
_MOST_LOOKED_AT = 200_000


def probe_sandbox_early(policy: CompiledPolicy) -> None:
    """Warm the sandbox-level probe and pattern caches while git checks the worktree out."""
    with contextlib.suppress(DeniedByPolicy):  # raised again when one is created
        choose_level(policy.level, policy.minimum)
    why_unreadable(policy, "x")


def tool_folders(repo: Repo) -> tuple[str, ...]:
    """Return the user's own folders on PATH."""
    named = (user_config_value(repo, TOOLS) or "").split(":")
    return tuple(os.path.realpath(expand_home(name)) for name in named if name)


def tool_libraries(folders: Iterable[str], search: str) -> tuple[str, ...]:
    """Return the libraries that programs in the user's folders need."""
    return tuple(dict.fromkeys(one for folder in folders for one in runtime_files_in_folder(folder, search)))


def search_path(folders: Iterable[str]) -> str:
    """Return the search path of the user's shell, behind the user's own folders."""
    return ":".join((*folders, os.environ.get("PATH", os.defpath)))


def libraries_of_named_program(argv: Sequence[str], root: str, search: str) -> tuple[str, ...]:
    """Return what a program needs that a command names by its path, such as the Python of a virtual environment."""
    name = argv[0] if argv else ""
    if not name.startswith("/") or is_within(os.path.normpath(name), root):
        return ()
    return runtime_files_of(os.path.normpath(name), search).readable


def list_denied_files(root: str, policy: CompiledPolicy) -> list[Path]:
    """Return the files below a folder that nobody may read. Raises: DeniedByPolicy if there are too many to look at.

    Links are left out, because their targets are out of reach anyway.
    """
    found: list[Path] = []
    left = _MOST_LOOKED_AT
    for folder, names, files in os.walk(root):
        names[:] = [name for name in names if name not in (".git", ".nexus")]
        left -= len(files)
        if left < 0:
            raise DeniedByPolicy(
                f"the worktree has more than {_MOST_LOOKED_AT} files, too many to look for those that are denied",
                hint="use a linked worktree, which has only what is tracked",
            )
        below = folder[len(root) + 1 :] + os.sep if len(folder) > len(root) else ""
        if below.count(os.sep) > _DEEPEST:
            raise DeniedByPolicy(
                f"the worktree is more than {_DEEPEST} folders deep, too deep to look for files that are denied",
                hint="remove those folders, or git nexus clean the run",
            )
        found += [Path(folder, name) for name in files if why_unreadable(policy, below + name)]
    return [path for path in found if not path.is_symlink()]


class WorktreeSandbox:
    """The sandbox of one worktree."""

    def __init__(self, repo: Repo, policy: CompiledPolicy) -> None:
        if repo.worktree is None:
            raise Failed("a bare repository has no files to run anything on")
        self._repo = repo
        self._policy = policy
        self._root = os.path.realpath(repo.worktree)

    @cached_property
    def level(self) -> Level:
        """The sandbox level of a command started now. Raises: DeniedByPolicy below the policy's minimum."""
        return choose_level(self._policy.level, self._policy.minimum)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The user's own folders on PATH."""
        return tool_folders(self._repo)

    def environment(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return the complete environment of a command. Raises: Invalid, DeniedByPolicy."""
        return command_environment(wanted, os.environ, self.folders)

    def resolved(self, name: str, cwd: Path) -> tuple[str, str]:
        """Return the file that `name` executes and the digest of its content. Raises: Invalid, NotFound."""
        found = resolve_program(name, self.environment({})["PATH"], str(cwd), self._root)
        return found.path, found.digest

    def run(self, request: CommandRequest, stdin: bytes, sink: Callable[[bytes], None]) -> CommandResult:
        """Execute exactly this request. Raises: Invalid, DeniedByPolicy, Failed."""
        limits = request.limits
        needs = libraries_of_named_program(request.argv, self._root, self.search)
        spec = SandboxSpec(
            argv=request.argv,
            program=request.program,
            cwd=request.cwd,
            root=self._root,
            env=request.env,
            readable=(*self.libraries, *needs),
            hidden=(*self.hidden(request.sandbox, *map(Path, needs)), *map(str, self._undeclared(request))),
            network=request.network,
            limits=SandboxLimits(
                seconds=limits["seconds"],
                cpu_seconds=limits["cpuSeconds"],
                memory=limits["memory"],
                processes=limits["processes"],
                file_size=limits["fileSize"],
                output=limits["output"],
            ),
            stdin=stdin,
            level=request.sandbox,
        )
        declared = undo_undeclared_writes(self._repo, Path(self._root), request.writes)
        with declared, self._preserve_git_link():
            done = run_in_sandbox(spec, sink)
        cut = done.stdout.cut + done.stderr.cut
        return CommandResult(
            status=done.status,
            seconds=round(done.seconds, 3),
            level=done.level,
            signal=done.signal,
            ended_by=done.ended_by,
            cut=cut,
        )

    def _undeclared(self, request: CommandRequest) -> list[Path]:
        """Return what a command may not see because its tool does not declare it; below L2 nothing can be hidden."""
        return undeclared_paths(self._root, request) if request.sandbox in ("L2", "L3") else []

    def hidden(self, level: Level, *kept: Path) -> tuple[str, ...]:
        """Return the paths that no command may see; the worktree and `kept` stay visible.

        If one of those is inside a hidden folder, as a run's worktree is in NEXUS_HOME beside the keys, everything
        beside the path to it is hidden instead.
        """
        found = [home_folder(), self._repo.common_dir, Path.home()]
        if level in ("L2", "L3") or not self._repo.is_linked:
            found.append(Path(self._root, ".git"))
        if level in ("L2", "L3"):
            found += [Path(self._root, ".nexus"), *self._denied]
        left = [Path(self._root), *(path.resolve() for path in (*kept, *map(Path, self.libraries)))]
        real = dict.fromkeys(path.resolve() for path in found if path.exists())
        return tuple(dict.fromkeys(str(one) for path in real for one in _paths_beside(path, left)))

    @cached_property
    def _denied(self) -> list[Path]:
        """The worktree files that nobody may read."""
        return list_denied_files(self._root, self._policy)

    @cached_property
    def libraries(self) -> tuple[str, ...]:
        """The libraries that programs in the user's folders need."""
        return tool_libraries(self.folders, self.search)

    @property
    def search(self) -> str:
        """The search path of the user's shell."""
        return search_path(self.folders)

    @contextlib.contextmanager
    def _preserve_git_link(self) -> Iterator[None]:
        """Restore the `.git` file of a linked worktree: below L2 a command could redirect it."""
        link = Path(self._root, ".git")
        before = link.read_bytes() if self._repo.is_linked and link.is_file() and not link.is_symlink() else None
        try:
            yield
        finally:
            if before is not None and (link.is_symlink() or not link.is_file() or link.read_bytes() != before):
                if link.is_dir() and not link.is_symlink():
                    link.rename(link.with_name(f".git-{random_hex(6)}"))
                replace_file(link, before)


def _paths_beside(path: Path, left: list[Path]) -> Iterator[Path]:
    """Yield `path`, or its content beside the paths to the folders in `left`."""
    if path in left:
        return
    if not any(one.is_relative_to(path) for one in left):
        yield path
        return
    with contextlib.suppress(OSError):
        for child in sorted(path.iterdir()):
            if not child.is_symlink():
                yield from _paths_beside(child, left)
