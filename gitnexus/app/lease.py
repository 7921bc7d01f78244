"""The lease of a worker on a run: a ref on the server that only one can make, and that moves as long as it lives.

Every push of the worker names the claim as it must be, together with what it publishes, and all or nothing is taken:
who lost the lease cannot publish.
"""

from collections.abc import Sequence
from typing import Literal

from gitnexus.app.wire import Wire
from gitnexus.base.chance import token
from gitnexus.git.exchange import Order as Push
from gitnexus.git.exchange import Unreachable, listed, pushed
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

    @property
    def _ref(self) -> str:
        return f"{CLAIMS}{self.run}"

    def claimed(self, instead: str = "") -> bool:
        """Take the run, if nobody has it, or from who has the claim `instead`. Raises: Unreachable."""
        new = self._next()
        outcome = pushed(self._state.repo, self._wire.remote, [Push(self._ref, new, instead)])
        self._at = new
        if outcome[self._ref].kind not in ("done", "same"):
            return False
        if f"{QUEUE}{self.run}" in listed(self._state.repo, self._wire.remote, [QUEUE]):
            return True
        self.publish([])  # it was brought to its end while we looked
        return False

    def beat(self, progress: Sequence[Push] = ()) -> Held:
        """Say that we live, and how far the run is."""
        new = self._next()
        found = self._pushed([Push(self._ref, new, self._at), *progress])
        if found == "held":
            self._at = new
        elif found == "lost" and self._is_there(new):
            self._at = new  # the answer to an earlier try was lost, not the lease
            return "held"
        return found

    def publish(self, result: Sequence[Push]) -> Held:
        """Publish what came of the run and give the claim back, in one step."""
        found = self._pushed([*result, Push(self._ref, None, self._at)])
        if found == "lost" and result and self._published(result):
            return "held"
        return found

    def _pushed(self, orders: Sequence[Push]) -> Held:
        try:
            outcome = pushed(self._state.repo, self._wire.remote, orders, atomic=len(orders) > 1)
        except Unreachable:
            return "unreachable"
        return "held" if all(one.kind in ("done", "same") for one in outcome.values()) else "lost"

    def _is_there(self, commit: str) -> bool:
        try:
            return listed(self._state.repo, self._wire.remote, [CLAIMS]).get(self._ref) == commit
        except Unreachable:
            return False

    def _published(self, result: Sequence[Push]) -> bool:
        """True if the server took it and only its answer got lost."""
        try:
            there = listed(self._state.repo, self._wire.remote, [one.ref for one in result])
        except Unreachable:
            return False
        return all(there.get(one.ref) == one.new for one in result)

    def _next(self) -> str:
        self._taken = self._taken.changed(beat=self._taken.beat + 1)
        commit, _ = self._state.objects.write_commit(
            parents=[], changes={CLAIM_FILE: self._taken.to_bytes()}, message=f"claim: {self.run}\n",
            author=self._state.author,
        )  # fmt: skip
        return commit
