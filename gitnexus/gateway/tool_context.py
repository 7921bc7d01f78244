"""`ToolContext`: the worktree, run, role, sandbox and gate that each gateway tool receives."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gitnexus.base.errors import DeniedByPolicy, Invalid
from gitnexus.base.text import one_line
from gitnexus.gateway.execute import ExecutionGate, mask_value
from gitnexus.gateway.paths import path_as_opened, why_unreachable
from gitnexus.gateway.protocols import CommandSandbox, Denied
from gitnexus.gateway.testrun.protocol import Runner
from gitnexus.git import Repo
from gitnexus.policy import denied_by


def denying_rule(denied: Denied, path: str) -> str | None:
    """Return the rule that denies `path`, or the path that some file system would open for it."""
    return denied(path) or denied(path_as_opened(path))


@dataclass(frozen=True)
class ToolContext:
    """`run` is the run or session of the caller, `role` the agent's role; `artifacts` a folder."""

    repo: Repo
    project: str
    run: str
    role: str
    gate: ExecutionGate
    confine: CommandSandbox
    artifacts: Path
    denied: Denied = denied_by
    runners: Mapping[str, Runner] = field(default_factory=dict)
    # Inputs of prepared commands by digest: the approver has to see them.
    inputs: dict[str, bytes] = field(default_factory=dict)

    @property
    def worktree(self) -> Path:
        """The folder that all paths are relative to. Raises: Invalid in a bare repository."""
        if self.repo.worktree is None:
            raise Invalid("a bare repository has no files to work on", hint="give a revision, or use a worktree")
        return self.repo.worktree

    def rule_on(self, path: str) -> str | None:
        """Return the rule that denies reading `path`, or the path that some file system would open for it."""
        return denying_rule(self.denied, path)

    def hides_path(self, path: str) -> bool:
        """True if `path` may not be read."""
        return self.rule_on(path) is not None

    def readable(self, path: str) -> str:
        """Return the path if its name may be read. Raises: Invalid, DeniedByPolicy."""
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
        """Return a reading tool's result with secrets masked, and log the read."""
        found: dict[str, Any] = mask_value(self.gate.mask, answer)
        self.gate.note("tool.read", mask_value(self.gate.mask, {"tool": tool, **asked}))
        return found
