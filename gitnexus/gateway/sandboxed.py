"""The sandbox as the gateway needs it: for one worktree, at the level that the policy asks for."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path

from gitnexus.base.chance import token
from gitnexus.base.errors import DeniedByPolicy, Failed
from gitnexus.base.files import expand_home, replace
from gitnexus.gateway.needs import Ran
from gitnexus.git import Repo
from gitnexus.git.config import of_the_user
from gitnexus.policy.law import Law, why_unreadable
from gitnexus.policy.model import CommandRequest
from gitnexus.sandbox.around import around_folder
from gitnexus.sandbox.environment import environment
from gitnexus.sandbox.levels import chosen
from gitnexus.sandbox.program import resolved
from gitnexus.sandbox.run import run
from gitnexus.sandbox.spec import Level, Limits, Spec
from gitnexus.state.home import home_folder

# Folders with programs of the user's own, such as those of pyenv or npm, separated by a colon.
TOOLS = "nexus.toolPath"
_DEEPEST = 200
_MOST_LOOKED_AT = 200_000


def foreseen(law: Law) -> None:
    """Find out what any sandbox under `law` needs and keep it: who makes one has it at once."""
    with contextlib.suppress(DeniedByPolicy):  # said to who makes one
        chosen(law.level, law.minimum)
    why_unreadable(law, "x")


class Sandbox:
    """The sandbox of one worktree."""

    def __init__(self, repo: Repo, law: Law) -> None:
        if repo.worktree is None:
            raise Failed("a bare repository has no files to run anything on")
        self._repo = repo
        self._law = law
        self._root = os.path.realpath(repo.worktree)

    @cached_property
    def level(self) -> Level:
        """The level that a command started now would run at. Raises: DeniedByPolicy below the policy's minimum."""
        return chosen(self._law.level, self._law.minimum)

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """The user's own folders on PATH."""
        named = (of_the_user(self._repo, TOOLS) or "").split(":")
        return tuple(os.path.realpath(expand_home(name)) for name in named if name)

    def environment(self, wanted: Mapping[str, str]) -> dict[str, str]:
        """Return the whole environment of a command. Raises: Invalid, DeniedByPolicy."""
        return environment(wanted, os.environ, self.folders)

    def resolved(self, name: str, cwd: Path) -> tuple[str, str]:
        """Return the file that `name` would execute and the digest of its content. Raises: Invalid, NotFound."""
        found = resolved(name, self.environment({})["PATH"], str(cwd), self._root)
        return found.path, found.digest

    def run(self, request: CommandRequest, stdin: bytes, sink: Callable[[bytes], None]) -> Ran:
        """Execute exactly this request. Raises: Invalid, DeniedByPolicy, Failed."""
        limits = request.limits
        spec = Spec(
            argv=request.argv,
            program=request.program,
            cwd=request.cwd,
            root=self._root,
            env=request.env,
            readable=self.libraries,
            hidden=self.hidden(request.sandbox),
            network=request.network,
            limits=Limits(
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
        with self._kept_link():
            done = run(spec, sink)
        cut = done.stdout.cut + done.stderr.cut
        return Ran(status=done.status, seconds=round(done.seconds, 3), level=done.level, signal=done.signal,
                   ended_by=done.ended_by, cut=cut)  # fmt: skip

    def hidden(self, level: Level, *kept: Path) -> tuple[str, ...]:
        """Return what no command may see, whatever folder around it is within reach; the worktree and `kept` are left.

        Where one of those lies in a folder that is to be hidden, as a run's worktree does in NEXUS_HOME beside the
        keys, all that lies beside the way to it is hidden instead.
        """
        found = [home_folder(), self._repo.common_dir, Path.home()]
        if level in ("L2", "L3") or not self._repo.is_linked:
            found.append(Path(self._root, ".git"))
        if level in ("L2", "L3"):
            found += [Path(self._root, ".nexus"), *self._denied]
        left = [Path(self._root), *(path.resolve() for path in (*kept, *map(Path, self.libraries)))]
        real = dict.fromkeys(path.resolve() for path in found if path.exists())
        return tuple(dict.fromkeys(str(one) for path in real for one in _beside(path, left)))

    @cached_property
    def _denied(self) -> list[Path]:
        """The files of the worktree that nobody reads; links are left out, what they lead to is out of reach anyway."""
        found: list[Path] = []
        left = _MOST_LOOKED_AT
        for folder, names, files in os.walk(self._root):
            names[:] = [name for name in names if name not in (".git", ".nexus")]
            left -= len(files)
            if left < 0:
                raise DeniedByPolicy(
                    f"the worktree has more than {_MOST_LOOKED_AT} files, too many to look for those that are denied",
                    hint="use a linked worktree, which has only what is tracked",
                )
            below = folder[len(self._root) + 1 :] + os.sep if len(folder) > len(self._root) else ""
            if below.count(os.sep) > _DEEPEST:
                raise DeniedByPolicy(
                    f"the worktree is more than {_DEEPEST} folders deep, too deep to look for files that are denied",
                    hint="remove those folders, or git nexus clean the run",
                )
            found += [Path(folder, name) for name in files if why_unreadable(self._law, below + name)]
        return [path for path in found if not path.is_symlink()]

    @cached_property
    def libraries(self) -> tuple[str, ...]:
        """What the programs in the user's own folders need."""
        path = self.search
        return tuple(dict.fromkeys(one for folder in self.folders for one in around_folder(folder, path)))

    @property
    def search(self) -> str:
        """Where the user's own shell would look for a program."""
        return ":".join((*self.folders, os.environ.get("PATH", os.defpath)))

    @contextlib.contextmanager
    def _kept_link(self) -> Iterator[None]:
        """Keep the file `.git` of a linked worktree as it is: below L2 a command could make it lead elsewhere."""
        link = Path(self._root, ".git")
        before = link.read_bytes() if self._repo.is_linked and link.is_file() and not link.is_symlink() else None
        try:
            yield
        finally:
            if before is not None and (link.is_symlink() or not link.is_file() or link.read_bytes() != before):
                if link.is_dir() and not link.is_symlink():
                    link.rename(link.with_name(f".git-{token(6)}"))
                replace(link, before)


def _beside(path: Path, left: list[Path]) -> Iterator[Path]:
    """Yield `path`, or what lies in it beside the ways to the folders that are left."""
    if path in left:
        return
    if not any(one.is_relative_to(path) for one in left):
        yield path
        return
    with contextlib.suppress(OSError):
        for child in sorted(path.iterdir()):
            if not child.is_symlink():
                yield from _beside(child, left)
