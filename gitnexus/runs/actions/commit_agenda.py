"""Commits an approved change of a phase document on the run's branch, as a patch with its own token."""

import hashlib

from gitnexus.base.errors import Conflict, DeniedByPolicy
from gitnexus.docgraph.phases import DocEdit
from gitnexus.gateway.patching import check_patch
from gitnexus.git.private import private_git
from gitnexus.policy.model import AgendaRequest
from gitnexus.policy.request import request_digest
from gitnexus.runs.actions.commit import branch_tip
from gitnexus.runs.actions.execute_patch import commit_approved_patch
from gitnexus.runs.actions.propose import log_proposal, next_action_name, patch_request
from gitnexus.runs.actions.tool_context import tool_context_for
from gitnexus.runs.agenda import diff_of_edit
from gitnexus.runs.open_run import OpenRun


def commit_agenda_change(run: OpenRun, action: str, request: AgendaRequest) -> str:
    """Commit an approved document change; return the commit id. Raises: NexusError."""
    now = _read_committed_file(run, request.path)
    if _content_digest(now) == request.new_digest:
        return branch_tip(run)  # committed before a kill
    if _content_digest(now) != request.old_digest:
        raise Conflict(f"{request.path} is not what it was when {action} was proposed", hint="start a new run for it")
    after = run.artifacts.read(request.new_digest)
    diff = diff_of_edit(DocEdit(request.path, now, after, "")).encode()
    context = tool_context_for(run)
    with run.proposing(), private_git(run.worktree) as git:
        done = check_patch(git, branch_tip(run), diff, context.rule_on)
        git.keep(done.result_tree)
        patch = patch_request(run, done.base, done.base_tree, done.result_tree, done.changes, request.role)
        name = next((name for name, one in run.view().actions.items() if one.digest == request_digest(patch)), "")
        if not name:
            name = next_action_name(run)
            decision = log_proposal(run, name, patch, run.view().actions[action].summary, "")
            if decision.verdict == "deny":
                raise DeniedByPolicy(f"{decision.rule} denies it: {decision.why}", hint=decision.instead or None)
    return commit_approved_patch(run, name, action)


def _read_committed_file(run: OpenRun, path: str) -> bytes | None:
    with private_git(run.worktree) as git:
        found = git.run("cat-file", "blob", f"{branch_tip(run)}:{path}")
    return found.stdout if found.returncode == 0 else None


def _content_digest(raw: bytes | None) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}" if raw is not None else ""
