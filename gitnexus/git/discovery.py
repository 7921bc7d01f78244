"""Where a repository is: from a sub-folder, a linked worktree, a bare repository or a submodule."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import Failed, NotFound
from gitnexus.git.child import GitFailed, clean_environment, reason

_INHERITED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR")
_ASK = (
    "rev-parse",
    "--path-format=absolute",
    "--is-bare-repository",
    "--show-object-format",
    "--git-common-dir",
    "--git-dir",
    "--show-toplevel",  # fails where there is no work tree, after the rest was printed: keep it last
)


@dataclass(frozen=True, slots=True)
class Repo:
    """A repository as git sees it from one place."""

    git_dir: Path
    common_dir: Path
    worktree: Path | None
    object_format: str

    @property
    def is_linked(self) -> bool:
        """True in a worktree that `git worktree add` made."""
        return self.git_dir != self.common_dir

    @property
    def place(self) -> Path:
        """The folder a person would name: the work tree, or the bare repository itself."""
        return self.worktree or self.common_dir

    @property
    def main_place(self) -> Path:
        """The same for every linked worktree: what the project as a whole is known by."""
        if not self.is_linked:
            return self.place
        return self.common_dir.parent if self.common_dir.name == ".git" else self.common_dir


def disinherit() -> None:
    """Let GIT_DIR and its like speak no more in this process: the project was named."""
    for name in _INHERITED:
        os.environ.pop(name, None)


def discover(start: Path, *, inherit: bool = False) -> Repo:
    """Return the repository that `start` lies in.

    `inherit` lets GIT_DIR and GIT_WORK_TREE speak, as `git --git-dir=… nexus` and git hooks set them: for the
    command's own project only, never for another one. Raises: NotFound, Failed.
    """
    env = clean_environment()
    if inherit:
        env |= {name: os.environ[name] for name in _INHERITED if name in os.environ}
    try:
        asked = subprocess.run(["git", *_ASK], cwd=start, env=env, capture_output=True, check=False)
    except FileNotFoundError as exc:
        if not start.is_dir():
            raise NotFound(f"there is no folder {start}") from exc
        raise Failed("git is not to be found on PATH", hint="install git 2.34 or newer") from exc
    except NotADirectoryError as exc:
        raise NotFound(f"{start} is not a folder") from exc
    lines = os.fsdecode(asked.stdout).split("\n")[:-1]
    if len(lines) < 4:
        raise _unusable(start, asked.stderr)
    bare, object_format, common, git_dir = lines[0] == "true", lines[1], Path(lines[2]), Path(lines[3])
    if len(lines) > 5 or not common.is_absolute():
        raise Failed(
            f"{start}: git names its folders in a way git nexus does not understand",
            hint="a line break in the path of a repository is not supported; git must be 2.34 or newer",
        )
    worktree = Path(lines[4]) if len(lines) == 5 else None
    if worktree is None and not bare and git_dir == common and git_dir.name == ".git":
        worktree = git_dir.parent  # asked from inside .git
    return Repo(git_dir, common, worktree, object_format)


def _unusable(start: Path, stderr: bytes) -> Exception:
    said = reason(stderr)
    if "not a git repository" in said:
        return NotFound(
            f"not in a git repository: {start}", hint="change into one, or make one with: git init", fix="git init"
        )
    if "dubious ownership" in said:
        return Failed(
            f"git does not trust this repository: {said}",
            hint="if it is yours, tell git so (git help config, safe.directory)",
        )
    if "unknown repository extension" in stderr.decode("utf-8", "replace"):
        return Failed(
            "this repository uses a format that the installed git cannot read",
            hint="a newer git can: reftable needs 2.45",
        )
    return GitFailed(f"git cannot use this repository: {said}")
