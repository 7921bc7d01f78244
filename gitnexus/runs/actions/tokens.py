"""Issues, checks and spends the approval token of one action of a run."""

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import VerificationFailed
from gitnexus.events.kinds import shorten_text
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.model import Scope
from gitnexus.policy.request import request_digest
from gitnexus.policy.tokens import TokenClaims, check_token, verify_token
from gitnexus.runs.actions.propose import GATE, JudgedRequest
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.policy_changes import log_policy_change


def issue_action_token(
    run: OpenRun, found: JudgedRequest, scope: Scope, by: str, rule: str = "", *, unseen: bool = False
) -> None:
    """Sign a token for a judged action, store it as an artifact and log the approval with its scope."""
    of = request_digest(found.request)
    log_policy_change(run.log, run.view().policy, found.gatekeeper.here, run.state)
    token = found.gatekeeper.approve_request(found.request, of, scope, unseen=unseen)
    # Store the token before logging the approval: after a kill it is there to continue with.
    kept = run.artifacts.write(f"approval-{found.action}", token.encode(), exact=True)
    body = {
        "action": found.action,
        "digest": of,
        "by": shorten_text(by, 200),
        "scope": scope,
        "token": kept.digest,
        "why": shorten_text(rule),
        **({"unseen": True} if unseen else {}),
    }
    run.log.append("permission.granted", GATE, body)


def check_action_token(run: OpenRun, found: JudgedRequest, token: str, *, begun: bool) -> TokenClaims:
    """Return the claims of a token for exactly this request; one already spent for this action may be finished."""
    gatekeeper = found.gatekeeper
    expected = gatekeeper.expected(found.request, request_digest(found.request))
    if not begun:
        return check_token(token, expected, gatekeeper.approvers, utc_now(), Ledger(run.repo.common_dir))
    claims = verify_token(token, gatekeeper.approvers)
    if any(getattr(claims, name) != value for name, value in vars(expected).items()):
        raise VerificationFailed("the token is for a different action than the one that was started")
    return claims


def spend_action_token(run: OpenRun, claims: TokenClaims) -> None:
    """Record in the ledger that a token is spent. Raises: VerificationFailed if it was spent for another action."""
    ledger = Ledger(run.repo.common_dir)
    try:
        ledger.spend(claims, utc_now())
    except VerificationFailed:
        # Spent for this action before a kill: its nonce is in the log and nothing was committed.
        if claims.nonce not in run.view().nonces:
            raise
