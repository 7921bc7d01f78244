"""The tool context of a run: the gate, the recorder and the sandbox of its own worktree."""

from dataclasses import replace

from gitnexus.gateway.assemble import build_tool_context
from gitnexus.gateway.sandboxed import WorktreeSandbox
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.runs.open_run import OpenRun

GATE = "gate"


def tool_context_for(run: OpenRun, role: str = "") -> ToolContext:
    """Return the tool context of a run for an agent with `role`, on the run's worktree. Raises: NexusError."""
    gatekeeper, worktree = run.make_gatekeeper(), run.worktree
    made = build_tool_context(
        run.state, gatekeeper, run.make_recorder(gatekeeper, run.record.agent), None, run.record.id, role
    )
    return replace(made, repo=worktree, confine=WorktreeSandbox(worktree, gatekeeper.here.compiled))
