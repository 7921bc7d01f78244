"""`RunOrder`, a queued run signed by an approver, and `RunClaim`, the worker that has taken it."""

from collections.abc import Mapping
from dataclasses import field
from datetime import datetime, timedelta
from typing import Any

from gitnexus.base.canonical import canonical_json
from gitnexus.base.clock import ELSEWHERE, parse_timestamp
from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.base.record import StoredRecord
from gitnexus.events.model import definition_hash, sha256_digest
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.keys import Signer, verify_signature
from gitnexus.runs.ids import is_run_id
from gitnexus.runs.model import Run

QUEUE = "refs/nexus/queue/"
CLAIMS = "refs/nexus/claims/"
ORDER_FILE, CLAIM_FILE = "order.json", "claim.json"
# How long after its creation an order may be started.
LASTS = timedelta(days=7)
_DOMAIN = b"git-nexus order v1\0"


class RunOrder(StoredRecord):
    """One queue entry. `labels` are required of the worker; `network` is what the agent may reach."""

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
    # None in orders of older versions, so that their signatures stay valid.
    expires: str | None = None
    # The last event of the log to continue from, 0 for a new run; None as above.
    after: int | None = None
    signature: str = ""
    unknown: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def signed(self, signer: Signer) -> "RunOrder":
        """Return a copy signed by `signer`."""
        return self.changed(signature=encode_base64(signer.sign(self._signed_message())))

    def check(self, project: str, approvers: Approvers, now: datetime) -> None:
        """Raise an error unless a current approver of this project signed it. Raises: VerificationFailed, Invalid."""
        if self.project != project:
            raise VerificationFailed(f"the order {self.id[:40]!r} is for another project")
        verify_signature(approvers.public_of(self.key), self._signed_message(), decode_base64(self.signature))
        if not is_run_id(self.id):
            raise Invalid(f"{self.id[:40]!r} is no run")
        begun = parse_timestamp(self.created)
        if begun is not None and begun > now + ELSEWHERE:
            raise VerificationFailed(
                f"the order for {self.id} was signed in the future, {self.created}",
                hint="look at the clock of this machine, and at that of who ordered it",
            )
        ends = parse_timestamp(self.expires) if self.expires else begun and begun + LASTS
        if ends is None or now >= ends or ends > now + 2 * LASTS:
            raise VerificationFailed(
                f"the order for {self.id} expired", hint=f"git nexus resume {self.id} --queue orders it again"
            )

    def digest(self) -> str:
        """Return the digest of this order; ordering the same run again gives another digest."""
        return sha256_digest(self._signed_message() + self.signature.encode())

    def run(self) -> Run:
        """Return the initial record of the run."""
        return Run(
            id=self.id,
            title=self.title,
            agent=self.agent,
            base=self.base,
            created=self.created,
            definition=definition_hash(self.workflow),
            onto=self.onto,
            task=self.task,
        )

    def _signed_message(self) -> bytes:
        return _DOMAIN + canonical_json(self.changed(signature="").plain())


class RunClaim(StoredRecord):
    """The worker that carries out a run. `beat` increases; a claim whose ref stops moving belongs to a dead worker."""

    run: str
    worker: str
    token: str
    beat: int = 0
