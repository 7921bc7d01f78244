"""A run that anybody may carry out: what it is to do, signed by an approver, and who has taken it."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from gitnexus.base.canonical import canonical
from gitnexus.base.clock import ELSEWHERE, read
from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.record import StoredRecord
from gitnexus.events.model import definition_hash, digest
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.encoding import encoded, raw_of
from gitnexus.policy.keys import Signer, verify
from gitnexus.runs.ids import is_id
from gitnexus.runs.model import Run

QUEUE = "refs/nexus/queue/"
CLAIMS = "refs/nexus/claims/"
ORDER_FILE, CLAIM_FILE = "order.json", "claim.json"
# How long a worker may begin what was ordered.
LASTS = timedelta(days=7)
_DOMAIN = b"git-nexus order v1\0"


class Order(StoredRecord):
    """One entry of the queue. `labels` are what a worker must have; `network` is what its agent may reach."""

    id: str
    project: str
    title: str
    agent: str
    base: str
    workflow: dict[str, Any]
    created: str
    key: str
    onto: str = ""
    task: str = ""
    network: str = ""
    labels: tuple[str, ...] = ()
    # None, as in orders that were signed before this was known: their signature stays what it was.
    expires: str | None = None
    # The last event of the log that it goes on from, 0 where it begins the run; None as above.
    after: int | None = None
    signature: str = ""
    unknown: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def signed(self, signer: Signer) -> "Order":
        """Return the order with the word of who wants it."""
        return self.changed(signature=encoded(signer.sign(self._message())))

    def check(self, project: str, approvers: Approvers, now: datetime) -> None:
        """Refuse an order that no approver of this project wants any more. Raises: VerificationFailed, Invalid."""
        if self.project != project:
            raise VerificationFailed(f"the order {self.id[:40]!r} is for another project")
        verify(approvers.public_of(self.key), self._message(), raw_of(self.signature))
        if not is_id(self.id):
            raise Invalid(f"{self.id[:40]!r} is no run")
        begun = read(self.created)
        if begun is not None and begun > now + ELSEWHERE:
            raise VerificationFailed(
                f"the order for {self.id} was signed in the future, {self.created}",
                hint="look at the clock of this machine, and at that of who ordered it",
            )
        ends = read(self.expires) if self.expires else begun and begun + LASTS
        if ends is None or now >= ends or ends > now + 2 * LASTS:
            raise VerificationFailed(
                f"the order for {self.id} expired", hint=f"git nexus resume {self.id} --queue orders it again"
            )

    def digest(self) -> str:
        """Return the name of this very order: the same run ordered again is another one."""
        return digest(self._message() + self.signature.encode())

    def run(self) -> Run:
        """Return the record of the run as it begins."""
        return Run(
            id=self.id, title=self.title, agent=self.agent, base=self.base, created=self.created,
            definition=definition_hash(self.workflow), onto=self.onto, task=self.task,
        )  # fmt: skip

    def _message(self) -> bytes:
        return _DOMAIN + canonical(self.changed(signature="").plain())


class Taken(StoredRecord):
    """Who carries a run out now. `beat` counts: a claim whose ref does not move any more is a dead worker's."""

    run: str
    worker: str
    token: str
    beat: int = 0
