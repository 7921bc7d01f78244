"""Re-proposes a waiting patch on the new tip after the run's branch moved, or withdraws it."""

from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid
from gitnexus.events.kinds import shorten_text
from gitnexus.gateway.patching import check_patch
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.merging import patch_between, replay_change
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.worktree_tree import write_worktree_tree
from gitnexus.policy.model import PatchRequest
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.actions.propose import (
    GATE,
    ProposalContext,
    find_action,
    log_proposal,
    next_action_name,
    patch_request,
    read_proposed_request,
)
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.open_run import OpenRun


def rebase_waiting_patch(run: OpenRun, action: str) -> str | None:
    """Return the action that replaces a waiting patch on the present tip, itself if current, None if withdrawn.

    The replacement is a new proposal that is judged and approved again. Raises: NexusError.
    """
    with run.deciding(), run.proposing():
        known, request, head = find_action(run, action), read_proposed_request(run, action), branch_tip(run)
        if known.status != "waiting" or not isinstance(request, PatchRequest) or request.base == head:
            return action
        try:
            with private_git(run.worktree) as git:
                patch = _patch_on_tip(git, run, request, head)
                done = check_patch(git, head, patch, tool_context_for(run).rule_on)
                git.keep(done.result_tree)
        except (Conflict, Invalid, DeniedByPolicy) as exc:
            why = f"the branch moved since, and on that {exc.message}"
            run.log.append("action.rejected", GATE, {"action": action, "why": shorten_text(why), "error": exc.name})
            return None
        new = patch_request(run, done.base, done.base_tree, done.result_tree, done.changes, request.role)
        name = next_action_name(run)
        log_proposal(run, name, new, known.summary, known.node, ProposalContext(replaces=action))
    return name


def _patch_on_tip(git: PrivateGit, run: OpenRun, request: PatchRequest, head: str) -> bytes:
    """Return the same change on the present tip; if it does not apply, the diff of the worktree files to the tip."""
    onto = tree_of_commit(git, head)
    try:
        result = replay_change(git, onto, request.base_tree, request.result_tree)
    except Conflict:
        result = write_worktree_tree(git, run.worktree_path, head).result_tree
        if result == onto:
            raise
    return patch_between(git, onto, result)
