"""Commits an approved patch on its run's branch and updates the worktree; continues after a kill at each step."""

import contextlib
from collections.abc import Iterator

from gitnexus.base.errors import DeniedByPolicy, Failed, NotFound
from gitnexus.events.log import EventDraft
from gitnexus.events.view import ActionView
from gitnexus.git.checkout import add_worktree, reset_index_to_tree
from gitnexus.policy.model import PatchRequest
from gitnexus.policy.request import request_digest
from gitnexus.runs.actions.commit import commit_patch, find_earlier_commit, has_token, read_token, update_worktree_files
from gitnexus.runs.actions.propose import GATE, JudgedRequest, find_action, judge_proposed_action, read_proposed_request
from gitnexus.runs.actions.tokens import check_action_token, issue_action_token, spend_action_token
from gitnexus.runs.model import ENDED
from gitnexus.runs.open_run import OpenRun

_TOOL = "repo.apply_patch"


def commit_approved_patch(run: OpenRun, patch: str, action: str) -> str:
    """Commit the patch of an approved action in the approver's name; return the commit.

    The caller holds `deciding` and has checked that the patch is the approved one. Raises: NexusError.
    """
    found = judge_proposed_action(run, patch)
    if not isinstance(found.request, PatchRequest):
        raise Failed(f"{patch} is not a patch")
    if not has_token(run, patch):
        refuse_denied_proposal(found)
        issue_action_token(run, found, "once", find_action(run, action).by, f"{action} approves exactly this")
    execute_patch(run, found, found.request)
    return find_action(run, patch).commit


def write_committed_patch(run: OpenRun, action: str) -> None:
    """Write a committed patch to the worktree files that lack it. Raises: NexusError."""
    request = read_proposed_request(run, action)
    if isinstance(request, PatchRequest):
        update_worktree_files(
            run, request, [old.result_tree for old in _replaced_patches(run, find_action(run, action))]
        )


def execute_patch(run: OpenRun, found: JudgedRequest, request: PatchRequest) -> str:
    """Commit an approved patch on the run's branch and update the worktree; a second call changes nothing.

    Returns "executed". Raises: NexusError.
    """
    live, action, of = run.is_asked_live(found.action), found.action, request_digest(request)
    known = find_action(run, action)
    if known.status == "executed":
        return "executed"
    commit = find_earlier_commit(run, action, request)
    if commit is None:
        refuse_ended_run(run)
        refuse_denied_proposal(found)
    token = read_token(run, action)
    claims = check_action_token(run, found, token, begun=known.status == "unknown")
    if known.status != "unknown":
        body = {"action": action, "tool": _TOOL, "digest": of, "nonce": claims.nonce}
        run.log.append("tool.intended", GATE, body)
    if commit is None:
        spend_action_token(run, claims)
        commit = commit_patch(run, request, action, known, token)
    if not run.has_worktree():  # it was proposed on another machine
        add_worktree(run.repo, run.worktree_path, run.branch, commit, run.record.id)
    if not live:  # a program that asked writes it itself, and would stumble over a file that changed meanwhile
        update_worktree_files(run, request, [old.result_tree for old in _replaced_patches(run, known)])
    reset_index_to_tree(run.worktree, request.result_tree)
    done = {"action": action, "commit": commit, "tree": request.result_tree, "branch": run.record.branch}
    run.log.append_many(
        [
            EventDraft("run.committed", GATE, done),
            EventDraft("tool.executed", GATE, {"action": action, "tool": _TOOL, "ok": True, "result": commit}),
        ]
    )
    return "executed"


def _replaced_patches(run: OpenRun, known: ActionView) -> Iterator[PatchRequest]:
    """Yield the chain of patches that an action replaced, newest first, without those that are not on this machine."""
    while known.replaces:
        name, known = known.replaces, find_action(run, known.replaces)
        with contextlib.suppress(NotFound):  # withheld where it was proposed, because it holds a secret
            request = read_proposed_request(run, name)
            if isinstance(request, PatchRequest):
                yield request


def refuse_ended_run(run: OpenRun) -> None:
    """Raise an error if the run has ended: nothing more is approved in it. Raises: Failed."""
    status = run.view().status
    if status in ENDED:
        raise Failed(f"{run.record.id} is {status}", hint="start a new run for it")


def refuse_denied_proposal(found: JudgedRequest) -> None:
    """Raise an error if the policy now denies the request, even if it was approved. Raises: DeniedByPolicy."""
    if found.decision.verdict == "deny":
        raise DeniedByPolicy(
            f"{found.decision.rule} denies it: {found.decision.why}", hint=found.decision.instead or None
        )
