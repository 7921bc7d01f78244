"""Lists, adds, revokes and trusts the approvers of a project; writes the signed chain and this machine's pin."""

from dataclasses import dataclass
from pathlib import Path

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import Approver, Approvers
from gitnexus.policy.keys import key_id, normalize_public_key
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.pins import Pin, newest_signature_times, pins_of_project, read_pin, write_pin
from gitnexus.policy.signed import SignedFiles
from gitnexus.policy.trust import describe_doubt, signer_for_repo, write_signed_files
from gitnexus.policy.witness import hear_history
from gitnexus.state import State

_LARGEST = 16_384


@dataclass(frozen=True, slots=True)
class ApproverListing:
    """The approvers, which of them is the local key, and whether this machine trusts them (or why not)."""

    approvers: Approvers
    own: str
    pin: Pin | None
    trouble: str

    @property
    def consent(self) -> bool:
        """True if their signatures count on this machine."""
        return self.pin is not None and self.pin.consent and not self.trouble


@dataclass(frozen=True, slots=True)
class ApproverCandidate:
    """A public key to be added."""

    public: str
    key: str
    name: str


def list_approvers(state: State) -> ApproverListing:
    """Return the approvers of the project. Raises: VerificationFailed."""
    view = SignedFiles(state.required(), state.repo.common_dir)
    found = view.listed()
    trouble = ""
    try:
        view.approvers()
    except NexusError as exc:
        trouble = exc.message
    return ApproverListing(found, own_key(state), read_pin(state.repo.common_dir), trouble)


def find_doubt(state: State) -> str:
    """Return evidence in this clone's commits against its approver list, "" if there is none."""
    return describe_doubt(hear_history(state), SignedFiles(state.required(), state.repo.common_dir).project)


def own_key(state: State) -> str:
    """Return the id of the local key, "" if there is none."""
    try:
        return signer_for_repo(state.repo).key_id
    except NexusError:
        return ""


def read_candidate_key(place: Path, given: str, name: str | None) -> ApproverCandidate:
    """Return the key from a file or from the given text. Raises: Invalid."""
    text = given
    file = place / expand_home(given) if " " not in given or (place / given).is_file() else None
    if file is not None:
        try:
            with file.open("rb") as handle:
                text = handle.read(_LARGEST).decode("utf-8", "replace")
        except OSError as exc:
            raise Invalid(f"{one_line(given, 80)}: {exc.strerror}", hint="give a .pub file, or the key itself") from exc
    if "PRIVATE KEY" in text:
        raise Invalid(
            f"{one_line(given, 80)} is a private key", hint="give its public half, the file that ends in .pub"
        )
    public = normalize_public_key(text)
    words = text.split(maxsplit=2)
    comment = one_line(words[2].strip(), 100) if len(words) > 2 else ""
    return ApproverCandidate(public, key_id(public), name or comment or (file.stem if file else "unnamed"))


def add_approver(state: State, new: ApproverCandidate) -> Approver:
    """Add a key to the signed list. Raises: Duplicate, VerificationFailed, Conflict, Failed."""
    snapshot = state.required()
    view = SignedFiles(snapshot, state.repo.common_dir)
    signer = signer_for_repo(state.repo)
    found = view.approvers_with_consent()
    found.public_of(signer.key_id)
    after = chain.with_added_key(found, new.public, new.name, signer, utc_now())
    write_signed_files(state, snapshot, {chain.FILE: after.to_bytes()}, f"approvers: add {new.key}")
    SignedFiles(state.required(), state.repo.common_dir).approvers()
    return after.known[new.key]


def revoke_approver(state: State, word: str, reason: str) -> Approver:
    """Revoke a key; everything it signed becomes invalid. Raises: NotFound, VerificationFailed, …."""
    snapshot = state.required()
    view = SignedFiles(snapshot, state.repo.common_dir)
    signer = signer_for_repo(state.repo)
    found = view.approvers()
    found.public_of(signer.key_id)
    after = chain.with_revoked_key(found, word, reason, signer, utc_now())
    gone = after.entries[-1].key
    write_signed_files(state, snapshot, {chain.FILE: after.to_bytes()}, f"approvers: revoke {gone}")
    SignedFiles(state.required(), state.repo.common_dir).approvers()
    return after.known[gone]


def trust_approvers(state: State, root: str) -> ApproverListing:
    """Trust the present approvers on this machine. Raises: VerificationFailed, Invalid."""
    found = SignedFiles(state.required(), state.repo.common_dir).listed()
    if found.root.key != root:
        raise Invalid(f"the first approver is {found.root.key}", hint="run the command again")
    known = [*(other.signed for other in pins_of_project(found.project)), hear_history(state).signed]
    write_pin(state.repo.common_dir, found, consent=True, signed=newest_signature_times(known))
    Ledger(state.repo.common_dir).begin(utc_now())
    return list_approvers(state)
