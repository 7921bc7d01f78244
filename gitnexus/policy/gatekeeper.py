"""`Gatekeeper`: judges the requests of one run by the policy in force, issues and checks tokens, and spends them."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from gitnexus.base.clock import utc_now
from gitnexus.base.randomness import random_hex as chance
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.gate import BatchUsage, GateContext, decide_request
from gitnexus.policy.grant_store import LASTS, LASTS_OTHERWISE, GrantStore, grant_digest
from gitnexus.policy.grants import ApprovalGrant, make_grant
from gitnexus.policy.in_force import PolicyInForce, read_policy_in_force
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.linked_programs import deny_linked_program
from gitnexus.policy.model import CommandRequest, GateDecision, HandoffRequest, Mode, PatchRequest, Request, Scope
from gitnexus.policy.pins import read_pin
from gitnexus.policy.seen import format_statement
from gitnexus.policy.signed import GUARDED, SignedFiles
from gitnexus.policy.tokens import ExpectedAction, TokenClaims, issue_token, make_claims, redeem_token
from gitnexus.policy.trust import signer_for_repo
from gitnexus.state import State

# How long an approval waits to be executed.
_ONCE = timedelta(hours=12)


class Gatekeeper:
    """The gate of one run. `action` is the id of the present action; `decide` assigns a new one.

    `patch_id` identifies a patch independent of its position, so that a rebased commit still verifies.
    """

    def __init__(
        self,
        state: State,
        run: str,
        worktree: str,
        *,
        mode: Mode | None = None,
        workflow: str = "",
        patch_id: Callable[[PatchRequest], str] = lambda request: "",
    ) -> None:
        self._state = state
        self._run = run
        self._workflow = workflow
        self._patch_id = patch_id
        self.here: PolicyInForce = read_policy_in_force(state)
        self.mode: Mode = mode or self.here.compiled.mode
        self.action = ""
        self._used = BatchUsage()
        self._around = GateContext(worktree=worktree, executed_changed=True)
        self._grants: list[tuple[str, ApprovalGrant]] | None = None

    @property
    def around(self) -> GateContext:
        """What the gate knows besides the request."""
        return GateContext(worktree=self._around.worktree, executed_changed=True, used=self._used)

    def decide(self, request: Request) -> GateDecision:
        """Return the gate's decision; never raises."""
        self.action = self.action or f"a{chance(8)}"
        grants = [grant for _, grant in self.grants()]
        context = self.around
        if isinstance(request, CommandRequest) and request.sandbox == "L0":
            from gitnexus.policy.command_folder import why_folder_matters  # only needed without a sandbox

            folder = why_folder_matters(request.argv, request.cwd, context.worktree)[0]
            context = replace(context, folder=folder)
        found = decide_request(request, self.here.compiled, grants, self.mode, world=context, now=utc_now())
        if isinstance(request, CommandRequest):
            found = deny_linked_program(request, self.here.compiled, found)
        if found.verdict != "deny" and isinstance(request, CommandRequest) and self.here.compiled.deny_reads():
            from gitnexus.policy.denied_reads import unreached  # only needed with such a rule

            return unreached(request, self.here.compiled, self._around.worktree, found)
        return found

    def issue(self, request: Request, digest: str, decision: GateDecision) -> str:
        """Return a token for a request that the policy allows. Raises: NexusError."""
        self._used = self._used.after(request, decision.risk)
        return self.approve_request(request, digest)

    def approve_request(self, request: Request, digest: str, scope: Scope = "once", *, unseen: bool = False) -> str:
        """Return a token for exactly this request, and store a grant if the scope is wider. Raises: NexusError.

        `unseen` records in the tokens that the person was not shown what they approve.
        """
        if scope != "once":
            self._store_grant(request, scope, unseen)
        return self._sign_token(self.expected(request, digest), "once", _ONCE, unseen=unseen)[1]

    def spend(self, token: str, request: Request, digest: str) -> None:
        """Check a token against the request to execute, and spend it. Raises: VerificationFailed, Busy."""
        redeem_token(
            token, self.expected(request, digest), self.approvers, utc_now(), Ledger(self._state.repo.common_dir)
        )

    def expected(self, request: Request, digest: str) -> ExpectedAction:
        """Return the claims that a token for this request must have."""
        patch = request if isinstance(request, PatchRequest) else None
        base = patch.base_tree if patch else request.base if isinstance(request, CommandRequest) else ""
        return ExpectedAction(
            project=request.project,
            run=self._run,
            action=self.action,
            kind=request.kind,
            request=digest,
            mode=self.mode,
            base=base,
            result=patch.result_tree if patch else "",
            patch_id=self._patch_id(patch) if patch else "",
            role=request.role,
            session=self._run,
            workflow=request.workflow if isinstance(request, HandoffRequest) else self._workflow,
        )

    @property
    def approvers(self) -> Approvers:
        """The approvers that count here. Raises: VerificationFailed."""
        return SignedFiles(self._state.latest(), self._state.repo.common_dir).approvers_with_consent()

    def grants(self) -> list[tuple[str, ApprovalGrant]]:
        """Return the valid standing approvals by name."""
        if self._grants is None:
            common_dir = self._state.repo.common_dir
            stored = GrantStore(common_dir)
            self._grants = [] if stored.is_empty else stored.holding(self.approvers, Ledger(common_dir), utc_now())
        return self._grants

    def _store_grant(self, request: Request, scope: Scope, unseen: bool) -> None:
        lasts = LASTS.get(scope, LASTS_OTHERWISE)
        grant = make_grant(request, scope, utc_now() + lasts, self._around)
        expected = self.expected(request, grant_digest(grant)).changed(base="", result="", patch_id="")
        claims, token = self._sign_token(expected, scope, lasts, grant, unseen=unseen)
        GrantStore(self._state.repo.common_dir).keep(grant, claims, token)
        self._grants = None

    def _sign_token(
        self,
        expected: ExpectedAction,
        scope: Scope,
        lasts: timedelta,
        grant: ApprovalGrant | None = None,
        *,
        unseen: bool = False,
    ) -> tuple[TokenClaims, str]:
        signer = signer_for_repo(self._state.repo)
        self.approvers.public_of(signer.key_id)
        claims = make_claims(
            expected,
            scope=scope,
            ledger=Ledger(self._state.repo.common_dir).begin(utc_now()),
            approver=signer.key_id,
            now=utc_now(),
            lasts=lasts,
            paths=grant.paths if grant and scope == "path" else (),
            argv=grant.argv if grant and scope == "argv" else (),
        ).changed(seen=format_statement(read_pin(self._state.repo.common_dir), GUARDED), unseen=unseen)
        return claims, issue_token(claims, signer)
