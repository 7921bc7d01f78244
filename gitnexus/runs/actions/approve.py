"""A yes or a no to what a run proposed: the token, and what it approves carried out, each step taken up again.

Whatever was killed in between, the log says how far it came; what is done is never done twice.
"""

from collections.abc import Callable, Iterator

from gitnexus.app import runact
from gitnexus.app.runcommit import brought, committed, committed_already, has_token, token_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import GATE, Proposal, action_of, proposal, proposed_request
from gitnexus.base.clock import now
from gitnexus.base.errors import Conflict, DeniedByPolicy, Failed, VerificationFailed
from gitnexus.events.fold import MENDED, POLICY
from gitnexus.events.kinds import short
from gitnexus.events.log import Draft
from gitnexus.events.view import ActionView
from gitnexus.git.checkout import added, indexed
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.model import PatchRequest, Scope
from gitnexus.policy.request import digest
from gitnexus.policy.tokens import Claims, checked, proved
from gitnexus.runs.model import ENDED

_TOOL = "repo.apply_patch"


def approve(
    desk: RunDesk, action: str, scope: Scope = "once", by: str = "", *, shown: str = "", unseen: bool = False
) -> str:
    """Say yes to an action and execute it; return what came of it in one word. Raises: NexusError.

    `shown` is the digest that the person saw: nothing else is approved. `unseen` records that they saw none.
    """
    with desk.deciding():
        known = action_of(desk, action)
        if shown and known.digest != shown:
            raise Conflict(f"{action} is {known.digest}, and not what was shown")
        if known.status in ("executed", "denied"):
            return known.status
        if known.status in ("approved", "unknown") and desk.is_asked_live(action):
            return "approved"  # its program does it right now
        found = proposal(desk, action)
        if desk.run.session:
            _refuse_over(desk)
            _refuse_denied(found)
            _granted(desk, found, scope, by or desk.state.author.name, unseen=unseen)
            return "approved"
        runact.check(desk, action, found.request)
        # What was begun and is no patch may have happened: this yes is to do it once more, with a token of its own.
        again = known.status == "unknown" and known.kind not in MENDED
        # A new yes is a new token: the one before may have expired. A patch that was begun goes on with its own.
        if known.status != "unknown" or again or not has_token(desk, action):
            _refuse_over(desk)
            _refuse_denied(found)
            _granted(desk, found, scope, by or desk.state.author.name, unseen=unseen)
        return _carried_out(desk, found)


def deny(desk: RunDesk, action: str, reason: str, by: str = "") -> str:
    """Say no to an action. Raises: NotFound."""
    with desk.deciding():
        known = action_of(desk, action)
        if known.status in ("executed", "denied"):
            return known.status
        body = {"action": action, "by": short(by or desk.state.author.name, 200), "why": short(reason)}
        desk.log.append("permission.denied", "user", body)
        return "denied"


def allowed(desk: RunDesk, action: str) -> bool:
    """Execute an action that the policy allows by itself; False if it does not. Raises: NexusError."""
    with desk.deciding():
        known = action_of(desk, action)
        if known.status in ("executed", "denied"):
            return known.status == "executed"
        found = proposal(desk, action)
        if known.status == "approved" and known.by and known.by != POLICY:
            _carried_out(desk, found)
            return True
        if found.decision.verdict != "allow":
            if known.status == "approved":
                _judged(desk, found)  # the rule that allowed it is gone
            return False
        runact.check(desk, action, found.request)
        if not has_token(desk, action):
            _granted(desk, found, "once", POLICY, found.decision.rule)
        _carried_out(desk, found)
        return True


def unknown(desk: RunDesk, action: str) -> str:
    """Bring what was begun and not seen to end to its end, if it is one of `MENDED`. Raises: NexusError."""
    with desk.deciding():
        return _carried_out(desk, proposal(desk, action))


def handed_over(desk: RunDesk, action: str) -> None:
    """Burn the token of what was approved, for the program that asked and does it now. Raises: NexusError."""
    with desk.deciding():
        found = proposal(desk, action)
        runact.check(desk, action, found.request)
        _refuse_over(desk)
        _refuse_denied(found)
        claims = _checked(desk, found, token_of(desk, action), begun=False)
        tool, of = runact.TOOLS["command"], digest(found.request)
        desk.log.append("tool.intended", GATE, {"action": action, "tool": tool, "digest": of, "nonce": claims.nonce})
        _spend(desk, claims)


def left_waiting(desk: RunDesk, action: str, let_go: Callable[[], None]) -> str:
    """Return how an action stands; where nobody has answered, `let_go`: whoever does from now on carries it out."""
    with desk.deciding():
        status = action_of(desk, action).status
        if status == "waiting":
            let_go()
        return status


def committed_for(desk: RunDesk, patch: str, action: str) -> str:
    """Commit the one patch that an approved action stands for, in the name of who approved it; return the commit.

    Whoever calls is `deciding`, and has made sure that it is that one. Raises: NexusError.
    """
    found = proposal(desk, patch)
    if not has_token(desk, patch):
        _refuse_denied(found)
        _granted(desk, found, "once", action_of(desk, action).by, f"{action} approves exactly this")
    _carried_out(desk, found)
    return action_of(desk, patch).commit


def written(desk: RunDesk, action: str) -> None:
    """Bring a patch that was committed for a program into the files, as far as it has not. Raises: NexusError."""
    request = proposed_request(desk, action)
    if isinstance(request, PatchRequest):
        brought(desk, request, [old.result_tree for old in _replaced(desk, action_of(desk, action))])


def _judged(desk: RunDesk, found: Proposal) -> None:
    decision = found.decision
    body = {"action": found.action, "verdict": decision.verdict, "rule": short(decision.rule, 200),
            "why": short(decision.why), "risk": decision.risk, "tags": list(decision.tags)}  # fmt: skip
    desk.log.append("action.judged", GATE, body)


def _granted(desk: RunDesk, found: Proposal, scope: Scope, by: str, rule: str = "", *, unseen: bool = False) -> None:
    of = digest(found.request)
    keeper = desk.keeper(found.action)
    token = keeper.approve(found.request, of, scope, unseen=unseen)
    # The token is kept before anybody knows of the yes: after a kill it is there to go on with.
    kept = desk.artifacts.write(f"approval-{found.action}", token.encode(), exact=True)
    body = {"action": found.action, "digest": of, "by": short(by, 200), "scope": scope, "token": kept.digest,
            "why": short(rule), **({"unseen": True} if unseen else {})}  # fmt: skip
    desk.log.append("permission.granted", GATE, body)


def _carried_out(desk: RunDesk, found: Proposal) -> str:
    live = desk.is_asked_live(found.action)
    if not isinstance(found.request, PatchRequest):
        if live:
            return "approved"
        begun = found.request.kind in MENDED and action_of(desk, found.action).status == "unknown"
        claims = _checked(desk, found, token_of(desk, found.action), begun=begun)
        return runact.carried_out(
            desk, found.action, found.request, claims.nonce, lambda: _spend(desk, claims), begun=begun
        )
    request, action, of = found.request, found.action, digest(found.request)
    known = action_of(desk, action)
    if known.status == "executed":
        return "executed"
    commit = committed_already(desk, action, request)
    if commit is None:
        _refuse_over(desk)
        _refuse_denied(found)
    token = token_of(desk, action)
    claims = _checked(desk, found, token, begun=known.status == "unknown")
    if known.status != "unknown":
        body = {"action": action, "tool": _TOOL, "digest": of, "nonce": claims.nonce}
        desk.log.append("tool.intended", GATE, body)
    if commit is None:
        _spend(desk, claims)
        commit = committed(desk, request, action, known, token)
    if not (desk.place / ".git").exists():  # it was proposed on another machine
        added(desk.repo, desk.place, desk.branch, commit, desk.run.id)
    if not live:  # a program that asked writes it itself, and would stumble over a file that changed meanwhile
        brought(desk, request, [old.result_tree for old in _replaced(desk, known)])
    indexed(desk.worktree, request.result_tree)
    done = {"action": action, "commit": commit, "tree": request.result_tree, "branch": desk.run.branch}
    desk.log.append_many(
        [
            Draft("run.committed", GATE, done),
            Draft("tool.executed", GATE, {"action": action, "tool": _TOOL, "ok": True, "result": commit}),
        ]
    )
    return "executed"


def _replaced(desk: RunDesk, known: ActionView) -> Iterator[PatchRequest]:
    """Yield the patches that one was put in the place of, one after the other."""
    while known.replaces:
        request, known = proposed_request(desk, known.replaces), action_of(desk, known.replaces)
        if isinstance(request, PatchRequest):
            yield request


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
