"""Re-proposes a waiting command from another machine's worktree for the worktree on this machine."""

from pathlib import Path

from gitnexus.gateway.commanding import refresh_command_request
from gitnexus.policy.model import CommandRequest
from gitnexus.runs.actions.propose import (
    ProposalContext,
    find_action,
    log_proposal,
    next_action_name,
    read_proposed_request,
)
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.worktree import ensure_worktree


def repropose_command_here(run: OpenRun, action: str) -> str:
    """Return the action for this machine: itself, or the same command proposed in the local worktree.

    The replacement is a new proposal, judged and approved for its effect here. Raises: NexusError.
    """
    known = find_action(run, action)
    request = read_proposed_request(run, action)
    if known.status != "waiting" or not isinstance(request, CommandRequest) or run.record.session:
        return action
    if Path(request.cwd).is_relative_to(run.worktree_path.resolve()):
        return action
    below = _path_below_worktree(request.cwd, run.record.id)
    if below is None:
        return action
    with run.undriven():
        ensure_worktree(run)
    with run.deciding(), run.proposing():
        context = tool_context_for(run)
        here = request.changed(cwd=str(Path(context.worktree.resolve(), *below)), env=context.confine.environment({}))
        name = next_action_name(run)
        log_proposal(
            run,
            name,
            refresh_command_request(context, here),
            known.summary,
            known.node,
            ProposalContext(replaces=action),
        )
    return name


def _path_below_worktree(cwd: str, run: str) -> tuple[str, ...] | None:
    """Return the path below the run's worktree, recognized by the run id in the path; None if outside."""
    parts = Path(cwd).parts
    return parts[parts.index(run) + 1 :] if run in parts and ".." not in parts else None
