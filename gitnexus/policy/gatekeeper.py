"""The gate at work for one run: judges by the law in force, signs what is allowed or approved, and burns tokens."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

from gitnexus.app.policy import PolicyHere, policy_here
from gitnexus.app.standing import LASTS, LASTS_OTHERWISE, Grants, grant_digest
from gitnexus.app.trust import signer_of
from gitnexus.base.chance import token as chance
from gitnexus.base.clock import now
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.gate import Used, World, decide
from gitnexus.policy.grants import Grant, granted
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.model import CommandRequest, Decision, HandoffRequest, Mode, PatchRequest, Request, Scope
from gitnexus.policy.pins import pinned
from gitnexus.policy.seen import statement_of
from gitnexus.policy.signed import GUARDED, Signed
from gitnexus.policy.tokens import Claims, Expected, approved, issue, redeemed
from gitnexus.state import State

# How long a yes waits for what it approves; longer ones are given again.
_ONCE = timedelta(hours=12)


class Gatekeeper:
    """One run's gate. `action` is the id of the action that is judged now; `decide` gives each a new one.

    `patch_id` tells what a patch changes apart from its place, so that a rebased commit still verifies.
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
        self.here: PolicyHere = policy_here(state)
        self.mode: Mode = mode or self.here.law.mode
        self.action = ""
        self._used = Used()
        self._around = World(worktree=worktree, executed_changed=True)
        self._grants: list[tuple[str, Grant]] | None = None

    @property
    def around(self) -> World:
        """What the gate knows beside the request."""
        return World(worktree=self._around.worktree, executed_changed=True, used=self._used)

    def decide(self, request: Request) -> Decision:
        """Return the verdict; never raises."""
        self.action = self.action or f"a{chance(8)}"
        grants = [grant for _, grant in self.grants()]
        around = self.around
        if isinstance(request, CommandRequest) and request.sandbox == "L0":
            from gitnexus.app.judgefolder import why_folder_matters  # only what nothing confines pays

            folder = why_folder_matters(request.argv, request.cwd, around.worktree)[0]
            around = replace(around, folder=folder)
        found = decide(request, self.here.law, grants, self.mode, world=around, now=now())
        if found.verdict != "deny" and isinstance(request, CommandRequest) and self.here.law.deny_reads():
            return self._unreached(request, found)
        return found

    def _unreached(self, request: CommandRequest, found: Decision) -> Decision:
        """Return a decision, or a no where the command reaches files that a rule keeps from agents."""
        from gitnexus.app.judgereads import Reach, words_of  # only where such a rule is
        from gitnexus.policy.parts import parts_of

        top = self._around.worktree
        reached = Reach(self.here.law, top).by_commands(parts_of(request.argv, request.cwd))
        if reached is None:
            return found
        instead = "a command that names the files or folders it needs"
        return found.changed(verdict="deny", rule=reached.rule, why=words_of(reached, top), instead=instead)

    def issue(self, request: Request, digest: str, decision: Decision) -> str:
        """Return a token for what the policy allows by itself. Raises: NexusError."""
        self._used = self._used.after(request, decision.risk)
        return self.approve(request, digest)

    def approve(self, request: Request, digest: str, scope: Scope = "once", *, unseen: bool = False) -> str:
        """Return a token for exactly this request, and keep the wider approval if one was given. Raises: NexusError.

        `unseen` says that the person was not shown what they approve; the tokens say so, too.
        """
        if scope != "once":
            self._stand(request, scope, unseen)
        return self._signed(self.expected(request, digest), "once", _ONCE, unseen=unseen)[1]

    def spend(self, token: str, request: Request, digest: str) -> None:
        """Check a token against what is about to be done, and burn it. Raises: VerificationFailed, Busy."""
        redeemed(token, self.expected(request, digest), self.approvers, now(), Ledger(self._state.repo.common_dir))

    def expected(self, request: Request, digest: str) -> Expected:
        """Return what a token for this request has to say."""
        patch = request if isinstance(request, PatchRequest) else None
        base = patch.base_tree if patch else request.base if isinstance(request, CommandRequest) else ""
        return Expected(
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
        """Whose word counts here. Raises: VerificationFailed."""
        return Signed(self._state.latest(), self._state.repo.common_dir).consented()

    def grants(self) -> list[tuple[str, Grant]]:
        """Return the standing approvals that hold, by name."""
        if self._grants is None:
            common_dir = self._state.repo.common_dir
            stored = Grants(common_dir)
            self._grants = [] if stored.is_empty else stored.holding(self.approvers, Ledger(common_dir), now())
        return self._grants

    def _stand(self, request: Request, scope: Scope, unseen: bool) -> None:
        lasts = LASTS.get(scope, LASTS_OTHERWISE)
        grant = granted(request, scope, now() + lasts, self._around)
        expected = self.expected(request, grant_digest(grant)).changed(base="", result="", patch_id="")
        claims, token = self._signed(expected, scope, lasts, grant, unseen=unseen)
        Grants(self._state.repo.common_dir).keep(grant, claims, token)
        self._grants = None

    def _signed(
        self, expected: Expected, scope: Scope, lasts: timedelta, grant: Grant | None = None, *, unseen: bool = False
    ) -> tuple[Claims, str]:
        signer = signer_of(self._state.repo)
        self.approvers.public_of(signer.key_id)
        claims = approved(
            expected,
            scope=scope,
            ledger=Ledger(self._state.repo.common_dir).begin(now()),
            approver=signer.key_id,
            now=now(),
            lasts=lasts,
            paths=grant.paths if grant and scope == "path" else (),
            argv=grant.argv if grant and scope == "argv" else (),
        ).changed(seen=statement_of(pinned(self._state.repo.common_dir), GUARDED), unseen=unseen)
        return claims, issue(claims, signer)
