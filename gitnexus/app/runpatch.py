"""A run's patches: proposed as two trees, approved, and committed to the run's branch, each step taken up again.

Whatever was killed in between, the log says how far it came; what is done is never done twice.
"""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gitnexus.app import runact
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.clock import now
from gitnexus.base.errors import Conflict, DeniedByPolicy, Failed, Invalid, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.kinds import short
from gitnexus.events.log import Draft
from gitnexus.events.view import ActionView
from gitnexus.gateway.landing import refreshed
from gitnexus.gateway.paths import refusals
from gitnexus.git import Author
from gitnexus.git.branches import moved, raw_of, tip
from gitnexus.git.checkout import indexed
from gitnexus.git.commits import write
from gitnexus.git.identity import again
from gitnexus.git.ondisk import Odd, worktree_tree
from gitnexus.git.patches import tree_of
from gitnexus.git.private import private
from gitnexus.git.rows import TreeChange, difference, files
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.model import Change, Decision, PatchRequest, ProposedAction, Request, Scope
from gitnexus.policy.request import digest, parsed
from gitnexus.policy.tokens import Claims, checked, proved
from gitnexus.runs.message import Trailers, message
from gitnexus.runs.message import read as trailers_of
from gitnexus.runs.model import ENDED
from gitnexus.state.format import id_of

GATE = "gate"
_TOOL = "repo.apply_patch"
_MOST_ODD = 8


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a run wants: the request and the gate's answer."""

    action: str
    request: Request
    decision: Decision


def proposed_tree(desk: RunDesk, summary: str, node: str) -> str | None:
    """Propose what the worktree holds against the branch; return the action, None if nothing changed.

    The same tree again is the same action, whatever became of it. Raises: NexusError.
    """
    worktree = desk.worktree
    base = tip_of(desk)
    with private(worktree) as git:
        found = worktree_tree(git, desk.place, base)
        if not found.changes:
            return None
        git.keep(found.result_tree)
        # Where links lead is the gate's to judge: a tree that was read from the disk has nothing below a link.
        wrong = list(refusals(found.changes, (entry.path for entry in files(git, found.result_tree)), {}))
        # What fits into no tree would look like a deletion where there was a file before.
        wrong += [(odd.path, "odd", odd.why) for odd in found.odd if any(row.path == odd.path for row in found.changes)]
        request = request_of(desk, base, found.base_tree, found.result_tree, found.changes)
    _told_left_out(desk, found.odd, node)
    with desk.proposing():
        known = next((name for name, one in desk.view().actions.items() if one.digest == digest(request)), None)
        if known is not None:
            return known
        action = next_action(desk)
        if wrong:
            path, *_, why = wrong[0]
            rejected = {"action": action, "why": short(f"{one_line(path, 200)}: {why}"), "error": Invalid.name}
            desk.log.append("action.rejected", GATE, rejected)
            raise Invalid(f"the patch is refused for {one_line(path, 80)!r}: {why}", context={"path": path})
        propose(desk, action, request, summary, node)
    return action


def _told_left_out(desk: RunDesk, odd: tuple[Odd, ...], node: str) -> None:
    if odd:
        names = "; ".join(f"{one_line(one.path, 80)}: {one.why}" for one in odd[:_MOST_ODD])
        more = f" and {len(odd) - _MOST_ODD} more" if len(odd) > _MOST_ODD else ""
        desk.log.append("agent.progress", GATE, {"text": short(f"left out: {names}{more}", 1000), "node": node})


def next_action(desk: RunDesk) -> str:
    """Return the name of the next action; whoever asks is `proposing`."""
    return f"a{len(desk.view().actions) + 1}"


def propose(
    desk: RunDesk, action: str, request: Request, summary: str, node: str, claims: Mapping[str, Any] | None = None
) -> Decision:
    """Write a request into the log with the gate's answer. What an agent `claims` of it is only logged.

    Raises: NexusError.
    """
    asked = ProposedAction(
        id=action, kind=request.kind, summary=summary, details=request.plain(), claims=dict(claims or {})
    )
    keeper = desk.keeper(asked.id)
    decision = keeper.decide(request)
    desk.recorder(keeper, desk.run.agent, node).note(
        "action.proposed",
        {
            "digest": digest(request),
            "kind": asked.kind,
            "summary": asked.summary,
            "request": asked.details,
            "claims": asked.claims,
            "verdict": decision.verdict,
            "rule": decision.rule,
            "why": decision.why,
            "risk": decision.risk,
            "tags": decision.tags,
        },
    )
    return decision


def proposal(desk: RunDesk, action: str) -> Proposal:
    """Return an action as it would be judged now, its request made again from the objects. Raises: NexusError."""
    known = _action(desk, action)
    for event in desk.log.read():
        if event.kind == "action.proposed" and event.body["action"] == action:
            request = parsed(desk.artifacts.read(event.body["artifact"]))
            break
    else:
        raise NotFound(f"{desk.run.id} has no action {action}")
    if digest(request) != known.digest:
        raise VerificationFailed(f"the request of {action} is not the one that was proposed")
    if isinstance(request, PatchRequest):
        request = _recomputed(desk, request)
    keeper = desk.keeper(action)
    return Proposal(action, request, keeper.decide(request))


def approve(desk: RunDesk, action: str, scope: Scope = "once", by: str = "") -> str:
    """Say yes to an action and execute it; return what came of it in one word. Raises: NexusError."""
    with desk.deciding():
        known = _action(desk, action)
        if known.status in ("executed", "denied"):
            return known.status
        found = proposal(desk, action)
        runact.check(desk, action, found.request)
        # What was begun and is no patch may have happened: this yes is to do it once more, with a token of its own.
        again = known.status == "unknown" and not isinstance(found.request, PatchRequest)
        # A new yes is a new token: the one before may have expired. A patch that was begun goes on with its own.
        if known.status != "unknown" or again or not _has_token(desk, action):
            _refuse_over(desk)
            _refuse_denied(found)
            _granted(desk, found, scope, by or desk.state.author.name)
        return _carried_out(desk, found)


def deny(desk: RunDesk, action: str, reason: str, by: str = "") -> str:
    """Say no to an action. Raises: NotFound."""
    with desk.deciding():
        known = _action(desk, action)
        if known.status in ("executed", "denied"):
            return known.status
        body = {"action": action, "by": short(by or desk.state.author.name, 200), "why": short(reason)}
        desk.log.append("permission.denied", "user", body)
        return "denied"


def allowed(desk: RunDesk, action: str) -> bool:
    """Execute an action that the policy allows by itself; False if it does not. Raises: NexusError."""
    with desk.deciding():
        known = _action(desk, action)
        if known.status in ("executed", "denied"):
            return known.status == "executed"
        found = proposal(desk, action)
        if known.status == "approved" and known.by and known.by != "policy":
            _carried_out(desk, found)
            return True
        if found.decision.verdict != "allow":
            return False
        runact.check(desk, action, found.request)
        if not _has_token(desk, action):
            _granted(desk, found, "once", "policy", found.decision.rule)
        _carried_out(desk, found)
        return True


def unknown(desk: RunDesk, action: str) -> str:
    """Bring a patch that was begun and not seen to end to its end. Raises: NexusError."""
    with desk.deciding():
        return _carried_out(desk, proposal(desk, action))


def _granted(desk: RunDesk, found: Proposal, scope: Scope, by: str, rule: str = "") -> None:
    of = digest(found.request)
    keeper = desk.keeper(found.action)
    token = keeper.approve(found.request, of, scope)
    # The token is kept before anybody knows of the yes: after a kill it is there to go on with.
    kept = desk.artifacts.write(f"approval-{found.action}", token.encode())
    body = {"action": found.action, "digest": of, "by": short(by, 200), "scope": scope, "token": kept.digest,
            "why": short(rule)}  # fmt: skip
    desk.log.append("permission.granted", GATE, body)


def _carried_out(desk: RunDesk, found: Proposal) -> str:
    if not isinstance(found.request, PatchRequest):
        claims = _checked(desk, found, _token(desk, found.action), begun=False)
        return runact.carried_out(desk, found.action, found.request, claims.nonce, lambda: _spend(desk, claims))
    request, action, of = found.request, found.action, digest(found.request)
    known = _action(desk, action)
    if known.status == "executed":
        return "executed"
    commit = _committed_already(desk, action, request)
    if commit is None:
        _refuse_over(desk)
        _refuse_denied(found)
    token = _token(desk, action)
    claims = _checked(desk, found, token, begun=known.status == "unknown")
    if known.status != "unknown":
        body = {"action": action, "tool": _TOOL, "digest": of, "nonce": claims.nonce}
        desk.log.append("tool.intended", GATE, body)
    if commit is None:
        _spend(desk, claims)
        commit = _commit(desk, request, action, known, token)
    _brought(desk, request)
    indexed(desk.worktree, request.result_tree)
    done = {"action": action, "commit": commit, "tree": request.result_tree, "branch": desk.run.branch}
    desk.log.append_many(
        [
            Draft("run.committed", GATE, done),
            Draft("tool.executed", GATE, {"action": action, "tool": _TOOL, "ok": True, "result": commit}),
        ]
    )
    return "executed"


def _refuse_over(desk: RunDesk) -> None:
    status = desk.view().status
    if status in ENDED:
        raise Failed(f"{desk.run.id} is {status}", hint="start a new run for it")


def _refuse_denied(found: Proposal) -> None:
    """Refuse what the policy denies by now, whoever approved it before. Raises: DeniedByPolicy."""
    if found.decision.verdict == "deny":
        raise DeniedByPolicy(
            f"{found.decision.rule} denies it: {found.decision.why}", hint=found.decision.instead or None
        )


def _checked(desk: RunDesk, found: Proposal, token: str, *, begun: bool) -> Claims:
    """Return the claims of a token for exactly this; one that was burned for it before may be used to its end."""
    keeper = desk.keeper(found.action)
    expected = keeper.expected(found.request, digest(found.request))
    if not begun:
        return checked(token, expected, keeper.approvers, now(), Ledger(desk.repo.common_dir))
    claims = proved(token, keeper.approvers)
    if any(getattr(claims, name) != value for name, value in vars(expected).items()):
        raise VerificationFailed("the token is for something else than what was begun")
    return claims


def _spend(desk: RunDesk, claims: Claims) -> None:
    ledger = Ledger(desk.repo.common_dir)
    try:
        ledger.spend(claims, now())
    except VerificationFailed:
        # Burned by us for this very action before a kill: its nonce stands in the log, and nothing was committed.
        if claims.nonce not in desk.view().nonces:
            raise


def _commit(desk: RunDesk, request: PatchRequest, action: str, known: ActionView, token: str) -> str:
    person = again(desk.state.author)
    agent = Author(
        one_line(f"{desk.run.agent} (agent)", 80), "agent@nexus.invalid", person.seconds, person.offset_minutes
    )
    trailers = Trailers(desk.run.id, (action,), desk.run.agent, (token,))
    text = message(known.summary, "", trailers)
    with private(desk.repo) as git:
        commit = write(git, request.result_tree, [request.base], text, agent, person)
    if not moved(desk.repo, desk.branch, request.base, commit, f"nexus: {action}"):
        raise Conflict(
            f"the branch {desk.run.branch} moved since {action} was approved",
            hint="look at it again; it needs a new yes",
        )
    return commit


def _brought(desk: RunDesk, request: PatchRequest) -> None:
    """Bring a commit into the files of the worktree, each that still is what the patch was made from.

    A patch that was made from the files is there already, and what the agent has changed since is its next proposal.
    """
    with private(desk.worktree) as git:
        rows = difference(git, request.base_tree, request.result_tree)
        try:
            refreshed(git, desk.place, rows)
        except Conflict:
            for row in sorted(rows, key=lambda row: row.new_mode != ""):
                with contextlib.suppress(Conflict):
                    refreshed(git, desk.place, (row,))


def _committed_already(desk: RunDesk, action: str, request: PatchRequest) -> str | None:
    """Return the commit that we made before a kill: this tree on this base with this token, not what only says so."""
    at = tip(desk.repo, desk.branch)
    of = _token_digest(desk, action)
    if at is None or at == request.base or of is None:
        return None
    head, _, text = raw_of(desk.repo, at).partition(b"\n\n")
    made = f"tree {request.result_tree}\nparent {request.base}\nauthor ".encode()
    found = trailers_of(text.decode("utf-8", "replace"))
    wanted = Trailers(desk.run.id, (action,), desk.run.agent, (_token(desk, action),))
    return at if head.startswith(made) and found == wanted else None


def _recomputed(desk: RunDesk, request: PatchRequest) -> PatchRequest:
    """Return the request as the objects tell it now. Raises: Conflict where it is another one."""
    committed = _committed_already(desk, _action_of(desk, digest(request)), request)
    base = request.base if committed else tip_of(desk)
    with private(desk.repo) as git:
        rows = difference(git, request.base_tree, request.result_tree)
        same = tree_of(git, base) == request.base_tree
    found = request_of(desk, base, request.base_tree, request.result_tree, rows)
    if not same or digest(found) != digest(request):
        raise Conflict(
            "what was proposed is no longer what would be done: the branch moved since",
            hint=f"git nexus resume {desk.run.id} proposes it anew; that needs a new approval",
        )
    return found


def request_of(desk: RunDesk, base: str, old: str, new: str, rows: tuple[TreeChange, ...]) -> PatchRequest:
    """Return the request for a patch from one tree to another, on the commit `base`."""
    changes = (
        Change(
            path=row.path,
            old_mode=row.old_mode,
            new_mode=row.new_mode,
            old_blob=row.old_blob,
            new_blob=row.new_blob,
            link_target=row.link_target,
            binary=row.binary and row.new_mode != "",
        )
        for row in rows
    )
    return PatchRequest(
        project=id_of(desk.state.snapshot) or "",
        run=desk.run.id,
        base=base,
        base_tree=old,
        result_tree=new,
        changes=tuple(changes),
    )


def tip_of(desk: RunDesk) -> str:
    """Return the last commit of the run's branch. Raises: NotFound."""
    found = tip(desk.repo, desk.branch)
    if found is None:
        raise NotFound(f"the branch {desk.run.branch} is gone", hint="git reflog may still know it")
    return found


def _action(desk: RunDesk, action: str) -> ActionView:
    found = desk.view().actions.get(action)
    if found is None:
        raise NotFound(f"{desk.run.id} has no action {action[:40]!r}", hint=f"git nexus review {desk.run.id}")
    return found


def _action_of(desk: RunDesk, of: str) -> str:
    return next((name for name, one in desk.view().actions.items() if one.digest == of), "")


def _has_token(desk: RunDesk, action: str) -> bool:
    return _token_digest(desk, action) is not None


def _token(desk: RunDesk, action: str) -> str:
    of = _token_digest(desk, action)
    if of is None:
        raise VerificationFailed(f"{action} has no approval")
    return desk.artifacts.read(of).decode("ascii", "replace")


def _token_digest(desk: RunDesk, action: str) -> str | None:
    found = None
    for event in desk.log.read():
        if event.kind == "permission.granted" and event.body["action"] == action:
            found = event.body.get("token")
    return found
