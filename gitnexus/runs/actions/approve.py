"""Approves or denies an action of a run: issues the token, executes the action and logs both; resumes after a kill.

The log records how far a killed command came, so nothing is executed twice.
"""

from collections.abc import Callable

from gitnexus.base.errors import Conflict
from gitnexus.events.fold import POLICY
from gitnexus.events.kinds import shorten_text
from gitnexus.events.view_builder import MENDED
from gitnexus.policy.model import PatchRequest, Scope
from gitnexus.policy.request import request_digest
from gitnexus.runs.actions import execute
from gitnexus.runs.actions.commit import find_earlier_commit, has_token, read_token
from gitnexus.runs.actions.execute_patch import execute_patch, refuse_denied_proposal, refuse_ended_run
from gitnexus.runs.actions.propose import GATE, JudgedRequest, find_action, judge_proposed_action, read_proposed_request
from gitnexus.runs.actions.tokens import check_action_token, issue_action_token, spend_action_token
from gitnexus.runs.open_run import OpenRun


def approve_action(
    run: OpenRun, action: str, scope: Scope = "once", by: str = "", *, shown: str = "", unseen: bool = False
) -> str:
    """Approve and execute an action; return its new status. Raises: NexusError.

    `shown` is the digest that the person saw, and only that is approved. `unseen` records that they saw nothing.
    """
    with run.deciding():
        known = find_action(run, action)
        if shown and known.digest != shown:
            raise Conflict(f"{action} is {known.digest}, and not what was shown")
        if known.status in ("executed", "denied"):
            _settle(run, action, "approved" if known.status == "executed" else "", by)
            return known.status
        if known.status in ("approved", "unknown") and run.is_asked_live(action):
            return "approved"  # the program that asked executes it now
        found = judge_proposed_action(run, action)
        if run.record.session:
            refuse_ended_run(run)
            refuse_denied_proposal(found)
            issue_action_token(run, found, scope, by or run.state.author.name, unseen=unseen)
            return "approved"
        execute.check_command_unchanged(run, action, found.request)
        # A begun action other than a patch may have happened: this approval repeats it, with its own token.
        again = known.status == "unknown" and known.kind not in MENDED
        # Issue a new token: the earlier one may have expired. A patch that was begun continues with its own.
        if known.status != "unknown" or again or not has_token(run, action):
            refuse_ended_run(run)
            refuse_denied_proposal(found)
            issue_action_token(run, found, scope, by or run.state.author.name, unseen=unseen)
        return _execute_proposal(run, found)


def deny_action(run: OpenRun, action: str, reason: str, by: str = "") -> str:
    """Log the denial of an action; return its new status. Raises: NotFound."""
    with run.deciding():
        known = find_action(run, action)
        if known.status in ("executed", "denied"):
            return "denied" if _settle(run, action, "denied", by) else known.status
        if known.status == "unknown" and _is_committed(run, action):
            return _execute_proposal(
                run, judge_proposed_action(run, action)
            )  # it was approved first and its commit exists
        body = {"action": action, "by": shorten_text(by or run.state.author.name, 200), "why": shorten_text(reason)}
        run.log.append("permission.denied", "user", body)
        _settle(run, action, "denied", by)
        return "denied"


def _settle(run: OpenRun, action: str, how: str, by: str) -> bool:
    """Log how a person settles a contradiction with another clone; False if there is none."""
    if not how or action not in run.view().disputed:
        return False
    who = shorten_text(by or run.state.author.name, 200)
    run.log.append("decision.settled", "user", {"action": action, "how": how, "by": who})
    return True


def _is_committed(run: OpenRun, action: str) -> bool:
    """True for a patch that was committed before a kill but is not yet in the log."""
    request = read_proposed_request(run, action)
    return isinstance(request, PatchRequest) and find_earlier_commit(run, action, request) is not None


def execute_if_allowed(run: OpenRun, action: str) -> bool:
    """Execute an action that the policy allows without approval; False if it does not. Raises: NexusError."""
    with run.deciding():
        known = find_action(run, action)
        if known.status in ("executed", "denied"):
            return known.status == "executed"
        found = judge_proposed_action(run, action)
        if known.status == "approved" and known.by and known.by != POLICY:
            _execute_proposal(run, found)
            return True
        if found.decision.verdict != "allow":
            if known.status == "approved":
                _log_decision(run, found)  # the rule that allowed it was removed
            return False
        execute.check_command_unchanged(run, action, found.request)
        if not has_token(run, action):
            issue_action_token(run, found, "once", POLICY, found.decision.rule)
        _execute_proposal(run, found)
        return True


def finish_interrupted(run: OpenRun, action: str) -> str:
    """Complete an action that began and has no recorded end, if its kind is in `MENDED`. Raises: NexusError."""
    with run.deciding():
        return _execute_proposal(run, judge_proposed_action(run, action))


def spend_token_for_caller(run: OpenRun, action: str) -> None:
    """Spend the token of an approved action for the program that asked and now executes it. Raises: NexusError."""
    with run.deciding():
        found = judge_proposed_action(run, action)
        execute.check_command_unchanged(run, action, found.request)
        refuse_ended_run(run)
        refuse_denied_proposal(found)
        claims = check_action_token(run, found, read_token(run, action), begun=False)
        tool, of = execute.TOOLS["command"], request_digest(found.request)
        run.log.append("tool.intended", GATE, {"action": action, "tool": tool, "digest": of, "nonce": claims.nonce})
        spend_action_token(run, claims)


def release_if_waiting(run: OpenRun, action: str, let_go: Callable[[], None]) -> str:
    """Return the status of an action; if nobody has answered, call `let_go`, so that the approver executes it."""
    with run.deciding():
        status = find_action(run, action).status
        if status == "waiting":
            let_go()
        return status


def _log_decision(run: OpenRun, found: JudgedRequest) -> None:
    decision = found.decision
    body = {
        "action": found.action,
        "verdict": decision.verdict,
        "rule": shorten_text(decision.rule, 200),
        "why": shorten_text(decision.why),
        "risk": decision.risk,
        "tags": list(decision.tags),
    }
    run.log.append("action.judged", GATE, body)


def _execute_proposal(run: OpenRun, found: JudgedRequest) -> str:
    if isinstance(found.request, PatchRequest):
        return execute_patch(run, found, found.request)
    if run.is_asked_live(found.action):
        return "approved"
    begun = found.request.kind in MENDED and find_action(run, found.action).status == "unknown"
    claims = check_action_token(run, found, read_token(run, found.action), begun=begun)
    return execute.execute_request(
        run, found.action, found.request, claims.nonce, lambda: spend_action_token(run, claims), begun=begun
    )
