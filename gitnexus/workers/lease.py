"""`RunLease`: a worker's exclusive lease on a run, as a ref on the remote that moves while the worker lives.

Every push of the worker is atomic and names the expected claim, so a worker that lost its lease cannot publish.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

from gitnexus.base.errors import Failed
from gitnexus.base.randomness import random_hex
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.exchange import PushOutcome, RemoteUnreachable
from gitnexus.git.exchange import RefUpdate as Push
from gitnexus.runs.order import CLAIM_FILE, CLAIMS, QUEUE, RunClaim
from gitnexus.state import State
from gitnexus.sync.remote import Remote
from gitnexus.sync.remote_refs import fetch_to_tracking, find_remote_refs, push_to_remote

Held = Literal["held", "lost", "unreachable"]


class RunLease:
    """One run held by one worker."""

    def __init__(self, state: State, remote: Remote, run: str, worker: str) -> None:
        self._state, self._remote = state, remote
        self.run = run
        self._taken = RunClaim(run=run, worker=worker, token=random_hex(16))
        self._at = ""
        # Pushes without a response: the server may have them or not.
        self._unsure: set[str] = set()

    @property
    def _ref(self) -> str:
        return f"{CLAIMS}{self.run}"

    def claimed(self, instead: str = "") -> bool:
        """Claim the run if it is free, or replace the claim `instead`; True on success. Raises: Unreachable, Failed."""
        if instead:
            fetch_to_tracking(self._state.repo, self._remote, [self._ref])
            if tip_of_ref(self._state.repo, self._remote.tracking_ref(self._ref)) != instead:
                return False  # its holder is alive
        self._at = instead
        self._at = self._write_claim_commit()
        outcome = push_to_remote(self._state.repo, self._remote, [Push(self._ref, self._at, instead)])
        self._raise_refused_pushes(outcome)
        if outcome[self._ref].kind not in ("done", "same"):
            return False
        if f"{QUEUE}{self.run}" in find_remote_refs(self._state.repo, self._remote, [f"{QUEUE}{self.run}"]):
            return True
        self.publish([])  # it was finished meanwhile
        return False

    def beat(self, progress: Sequence[Push] = ()) -> Held:
        """Renew the claim and push the run's progress. Raises: Failed if the server rejects it."""
        new = self._write_claim_commit()
        found = self._push_claim([Push(self._ref, new, self._at), *progress])
        if found == "held":
            self._at = new
        elif found == "unreachable":
            self._unsure.add(new)
        elif self._adopt_unconfirmed_claim():
            return "held"
        return found

    def publish(self, result: Sequence[Push]) -> Held:
        """Publish the run's result and release the claim in one push. Raises: Failed, as above."""
        found = self._push_claim([*result, Push(self._ref, None, self._at)])
        if found == "lost" and self._adopt_unconfirmed_claim():
            return self.publish(result)
        if found == "lost" and result and self._is_published(result):
            return "held"
        return found

    def _push_claim(self, orders: Sequence[Push]) -> Held:
        try:
            outcome = push_to_remote(self._state.repo, self._remote, orders, atomic=len(orders) > 1)
        except RemoteUnreachable:
            return "unreachable"
        self._raise_refused_pushes(outcome)
        return "held" if all(one.kind in ("done", "same") for one in outcome.values()) else "lost"

    def _raise_refused_pushes(self, outcome: Mapping[str, PushOutcome]) -> None:
        """Raise an error for a rejection by a hook or rule of the server, where a retry is useless."""
        for ref, one in outcome.items():
            if one.kind == "refused":
                raise Failed(f"{self._remote.shown} refuses {self._remote.there(ref)}: {one.disk or one.why}")

    def _adopt_unconfirmed_claim(self) -> bool:
        """True if the server has our last heartbeat whose response was lost; continue from that claim."""
        if not self._unsure:
            return False
        try:
            there = find_remote_refs(self._state.repo, self._remote, [self._ref]).get(self._ref, "")
        except RemoteUnreachable:
            return False
        if there in self._unsure:
            self._at = there
            self._unsure.clear()
            return True
        return False

    def _is_published(self, result: Sequence[Push]) -> bool:
        """True if the server accepted the push and only its response was lost."""
        try:
            there = find_remote_refs(self._state.repo, self._remote, [one.ref for one in result])
        except RemoteUnreachable:
            return False
        return all(there.get(one.ref) == one.new for one in result)

    def _write_claim_commit(self) -> str:
        # Each claim descends from the one before: a server may accept only fast-forwards for branches.
        self._taken = self._taken.changed(beat=self._taken.beat + 1)
        commit, _ = self._state.objects.write_commit(
            parents=[self._at] if self._at else [],
            changes={CLAIM_FILE: self._taken.to_bytes()},
            message=f"claim: {self.run}\n",
            author=self._state.author,
        )
        return commit
