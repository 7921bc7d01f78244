"""A patch that waits while the branch moved on: proposed anew on what is there now, or given up."""

from gitnexus.app.runact import bench_for
from gitnexus.app.runcommit import tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import GATE, action_of, next_action, propose, proposed_request, request_of
from gitnexus.base.errors import Conflict, DeniedByPolicy, Invalid
from gitnexus.events.kinds import short
from gitnexus.gateway.patching import checked
from gitnexus.git.commits import tree_of
from gitnexus.git.merging import patch_between, replayed
from gitnexus.git.ondisk import worktree_tree
from gitnexus.git.private import PrivateGit, private
from gitnexus.policy.model import PatchRequest


def current(desk: RunDesk, action: str) -> str | None:
    """Return the action that stands for one that waits: itself, or its like on the present tip; None if given up.

    What stands in its place is a proposal of its own: judged again, and approved again. Raises: NexusError.
    """
    with desk.deciding(), desk.proposing():
        known, request, head = action_of(desk, action), proposed_request(desk, action), tip_of(desk)
        if known.status != "waiting" or not isinstance(request, PatchRequest) or request.base == head:
            return action
        try:
            with private(desk.worktree) as git:
                patch = _on(git, desk, request, head)
                done = checked(git, head, patch, bench_for(desk).rule_on)
                git.keep(done.result_tree)
        except (Conflict, Invalid, DeniedByPolicy) as exc:
            why = f"the branch moved since, and on that {exc.message}"
            desk.log.append("action.rejected", GATE, {"action": action, "why": short(why), "error": exc.name})
            return None
        new = request_of(desk, done.base, done.base_tree, done.result_tree, done.changes, request.role)
        name = next_action(desk)
        propose(desk, name, new, known.summary, known.node, replaces=action)
    return name


def _on(git: PrivateGit, desk: RunDesk, request: PatchRequest, head: str) -> bytes:
    """Return the same change on the present tip; where it does not fit, what the files differ from that by."""
    onto = tree_of(git, head)
    try:
        result = replayed(git, onto, request.base_tree, request.result_tree)
    except Conflict:
        result = worktree_tree(git, desk.place, head).result_tree
        if result == onto:
            raise
    return patch_between(git, onto, result)
