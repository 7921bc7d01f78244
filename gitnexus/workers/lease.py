"""The lease of a worker on a run: a ref on the server that only one can make, and that moves as long as it lives.

Every push of the worker names the claim as it must be, together with what it publishes, and all or nothing is taken:
who lost the lease cannot publish.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from gitnexus.app.across import brought, given, known
from gitnexus.app.wire import Wire
from gitnexus.base.chance import token
from gitnexus.base.errors import Failed
from gitnexus.git.branches import tip
from gitnexus.git.exchange import Order as Push
from gitnexus.git.exchange import Outcome, Unreachable
from gitnexus.runs.order import CLAIM_FILE, CLAIMS, QUEUE, Taken
from gitnexus.state import State

Held = Literal["held", "lost", "unreachable"]


class Lease:
    """One run, held by one worker."""

    def __init__(self, state: State, wire: Wire, run: str, worker: str) -> None:
        self._state, self._wire = state, wire
        self.run = run
        self._taken = Taken(run=run, worker=worker, token=token(16))
        self._at = ""
        # What we pushed without an answer: the server may have it or not.
        self._unsure: set[str] = set()

    @property
    def _ref(self) -> str:
        return f"{CLAIMS}{self.run}"

    def claimed(self, instead: str = "") -> bool:
        """Take the run, if nobody has it, or from who has the claim `instead`. Raises: Unreachable, Failed."""
        if instead:
            brought(self._state.repo, self._wire, [self._ref])
            if tip(self._state.repo, self._wire.tracking(self._ref)) != instead:
                return False  # who has it lives
        self._at = instead
        self._at = self._next()
        outcome = given(self._state.repo, self._wire, [Push(self._ref, self._at, instead)])
        self._refuse_refused(outcome)
        if outcome[self._ref].kind not in ("done", "same"):
            return False
        if f"{QUEUE}{self.run}" in known(self._state.repo, self._wire, [f"{QUEUE}{self.run}"]):
            return True
        self.publish([])  # it was brought to its end while we looked
        return False

    def beat(self, progress: Sequence[Push] = ()) -> Held:
        """Say that we live, and how far the run is. Raises: Failed where the server takes no such thing."""
        new = self._next()
        found = self._pushed([Push(self._ref, new, self._at), *progress])
        if found == "held":
            self._at = new
        elif found == "unreachable":
            self._unsure.add(new)
        elif self._heard_late():
            return "held"
        return found

    def publish(self, result: Sequence[Push]) -> Held:
        """Publish what came of the run and give the claim back, in one step. Raises: Failed, as above."""
        found = self._pushed([*result, Push(self._ref, None, self._at)])
        if found == "lost" and self._heard_late():
            return self.publish(result)
        if found == "lost" and result and self._published(result):
            return "held"
        return found

    def _pushed(self, orders: Sequence[Push]) -> Held:
        try:
            outcome = given(self._state.repo, self._wire, orders, atomic=len(orders) > 1)
        except Unreachable:
            return "unreachable"
        self._refuse_refused(outcome)
        return "held" if all(one.kind in ("done", "same") for one in outcome.values()) else "lost"

    def _refuse_refused(self, outcome: Mapping[str, Outcome]) -> None:
        """A lease that is lost is no refusal: this is a hook or a rule of the server, and trying again helps nobody."""
        for ref, one in outcome.items():
            if one.kind == "refused":
                raise Failed(f"{self._wire.shown} refuses {self._wire.there(ref)}: {one.why}")

    def _heard_late(self) -> bool:
        """True if the server has a sign of life of ours whose answer got lost: then that is the claim to go on from."""
        if not self._unsure:
            return False
        try:
            there = known(self._state.repo, self._wire, [self._ref]).get(self._ref, "")
        except Unreachable:
            return False
        if there in self._unsure:
            self._at = there
            self._unsure.clear()
            return True
        return False

    def _published(self, result: Sequence[Push]) -> bool:
        """True if the server took it and only its answer got lost."""
        try:
            there = known(self._state.repo, self._wire, [one.ref for one in result])
        except Unreachable:
            return False
        return all(there.get(one.ref) == one.new for one in result)

    def _next(self) -> str:
        # Each goes on from the one before: where a claim is a branch, a server may take nothing but steps forward.
        self._taken = self._taken.changed(beat=self._taken.beat + 1)
        commit, _ = self._state.objects.write_commit(
            parents=[self._at] if self._at else [],
            changes={CLAIM_FILE: self._taken.to_bytes()},
            message=f"claim: {self.run}\n",
            author=self._state.author,
        )
        return commit
