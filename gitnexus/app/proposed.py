"""What a patch would do to the last commit: applied in an index of its own, nothing of the repository is touched."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.errors import Conflict, Invalid
from gitnexus.git import Repo
from gitnexus.git.child import reason, run
from gitnexus.policy.facts import SUBMODULE, SYMLINK
from gitnexus.policy.model import Change

LARGEST = 10 * 1024 * 1024
_NOTHING = "0" * 6


@dataclass(frozen=True)
class Proposed:
    """The two trees and the raw difference between them."""

    base: str
    base_tree: str
    result_tree: str
    changes: tuple[Change, ...]


def proposed(repo: Repo, patch: bytes) -> Proposed:
    """Return what `patch` makes of HEAD. Raises: Conflict if it does not apply, Invalid."""
    if len(patch) > LARGEST:
        raise Invalid(f"the patch is larger than {LARGEST // 1024 // 1024} MiB")
    with tempfile.TemporaryDirectory(prefix="git-nexus-") as scratch:
        git = _Git(repo, Path(scratch))
        base = git.text("rev-parse", "--verify", "HEAD^{commit}")
        git("read-tree", base)
        git("apply", "--cached", "--whitespace=nowarn", "-p1", "-", stdin=patch)
        before, after = git.text("rev-parse", f"{base}^{{tree}}"), git.text("write-tree")
        raw = git("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", before, after)
        return Proposed(base, before, after, tuple(_rows(git, raw)))


class _Git:
    """Git with an index and new objects in a scratch folder, and the repository's objects behind them."""

    def __init__(self, repo: Repo, scratch: Path) -> None:
        (scratch / "objects").mkdir()
        self._git_dir, self._place = repo.git_dir, scratch
        self._env = {
            "GIT_INDEX_FILE": str(scratch / "index"),
            "GIT_OBJECT_DIRECTORY": str(scratch / "objects"),
            "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(repo.common_dir / "objects"),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null",
        }

    def __call__(self, *argv: str, stdin: bytes = b"") -> bytes:
        safe = ("-c", "core.protectHFS=true", "-c", "core.protectNTFS=true", "-c", "core.autocrlf=false")
        done = run(*safe, *argv, git_dir=self._git_dir, cwd=self._place, stdin=stdin, env=self._env)
        if done.returncode != 0:
            raise Conflict(f"the patch does not apply to HEAD: {reason(done.stderr)}")
        return done.stdout

    def text(self, *argv: str) -> str:
        """Return one line of output."""
        return self(*argv).decode().strip()


def _rows(git: _Git, raw: bytes) -> Iterator[Change]:
    fields = raw.split(b"\0")
    for head, name in zip(fields[::2], fields[1::2], strict=False):
        old_mode, new_mode, old, new, _ = head.decode().removeprefix(":").split(" ")
        here, there = old_mode != _NOTHING, new_mode != _NOTHING
        held = git("cat-file", "blob", new) if there and new_mode != SUBMODULE else b""
        yield Change(
            path=name.decode("utf-8", "surrogateescape"),
            old_mode=old_mode if here else "",
            new_mode=new_mode if there else "",
            old_blob=old if here else "",
            new_blob=new if there else "",
            link_target=held.decode("utf-8", "surrogateescape") if new_mode == SYMLINK else "",
            binary=b"\0" in held,
        )
