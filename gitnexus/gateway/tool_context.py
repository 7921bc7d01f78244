"""The bench that every tool of this room works at: one worktree, who works there, and the door."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitnexus.base.errors import DeniedByPolicy, Invalid
from gitnexus.base.text import one_line
from gitnexus.gateway.door import Door, masked
from gitnexus.gateway.needs import Confine, Denied
from gitnexus.gateway.paths import as_opened, why_unreachable
from gitnexus.gateway.testrun.protocol import Runner
from gitnexus.git import Repo
from gitnexus.git.patches import Applied
from gitnexus.git.private import PrivateGit
from gitnexus.policy import denied_by

# Takes an approved patch in: keeps the objects and makes a commit of exactly the result tree. Runs have one.
Land = Callable[[PrivateGit, Applied], dict[str, Any]]


def ruled(denied: Denied, path: str) -> str | None:
    """Return the rule that denies `path`, or what some file system would open for it."""
    return denied(path) or denied(as_opened(path))


@dataclass(frozen=True)
class Bench:
    """`run` is the run or session that everything here belongs to, `role` the agent's; `artifacts` a folder."""

    repo: Repo
    project: str
    run: str
    role: str
    door: Door
    confine: Confine
    artifacts: Path
    denied: Denied = denied_by
    runners: Mapping[str, Runner] = field(default_factory=dict)
    land: Land | None = None
    # What commands that were prepared here read, by its digest: a person who is asked has to see it.
    inputs: dict[str, bytes] = field(default_factory=dict)

    @property
    def worktree(self) -> Path:
        """The folder that all paths begin at. Raises: Invalid in a bare repository."""
        if self.repo.worktree is None:
            raise Invalid("a bare repository has no files to work on", hint="give a revision, or use a worktree")
        return self.repo.worktree

    def rule_on(self, path: str) -> str | None:
        """Return the rule that denies `path`, or what some file system would open for it, to every reader."""
        return ruled(self.denied, path)

    def hides(self, path: str) -> bool:
        """True if `path` may not be read."""
        return self.rule_on(path) is not None

    def readable(self, path: str) -> str:
        """Return a path that may be read by its name. Raises: Invalid, DeniedByPolicy."""
        if reason := why_unreachable(path):
            raise Invalid(f"{one_line(path, 80)!r} is refused: {reason}")
        if rule := self.rule_on(path):
            raise DeniedByPolicy(
                f"{one_line(path, 80)} may not be read: {rule}",
                hint="no agent reads files that hold credentials",
                context={"path": path, "rule": rule},
            )
        return path

    def read(self, tool: str, answer: dict[str, Any], **asked: Any) -> dict[str, Any]:
        """Return what a reading tool found, secrets hidden, and note that it was read."""
        found: dict[str, Any] = masked(self.door.mask, answer)
        self.door.note("tool.read", masked(self.door.mask, {"tool": tool, **asked}))
        return found
