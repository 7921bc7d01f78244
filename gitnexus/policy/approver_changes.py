"""The approvers of a project as a person changes them: who is in, who comes, who goes, and whose word counts here."""

from dataclasses import dataclass
from pathlib import Path

from gitnexus.app.trust import describe_doubt, signer_of, written
from gitnexus.app.witness import hear_history
from gitnexus.base.clock import now
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.policy import approvers as chain
from gitnexus.policy.approvers import Approver, Approvers
from gitnexus.policy.keys import checked_public, key_id
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.pins import Pin, elsewhere, newest, pin, pinned
from gitnexus.policy.signed import Signed
from gitnexus.state import State

_LARGEST = 16_384


@dataclass(frozen=True, slots=True)
class Listed:
    """The approvers, which of them is the key at hand, and whether this machine goes by them (else why not)."""

    approvers: Approvers
    own: str
    pin: Pin | None
    trouble: str

    @property
    def consent(self) -> bool:
        """True if what they sign counts on this machine."""
        return self.pin is not None and self.pin.consent and not self.trouble


@dataclass(frozen=True, slots=True)
class Candidate:
    """A public key that might come in."""

    public: str
    key: str
    name: str


def listed(state: State) -> Listed:
    """Return who may approve here. Raises: VerificationFailed."""
    view = Signed(state.required(), state.repo.common_dir)
    found = view.listed()
    trouble = ""
    try:
        view.approvers()
    except NexusError as exc:
        trouble = exc.message
    return Listed(found, own_key(state), pinned(state.repo.common_dir), trouble)


def find_doubt(state: State) -> str:
    """Return what the commits of this clone say against its state, empty if nothing."""
    return describe_doubt(hear_history(state), Signed(state.required(), state.repo.common_dir).project)


def own_key(state: State) -> str:
    """Return the id of the key at hand, nothing where there is none."""
    try:
        return signer_of(state.repo).key_id
    except NexusError:
        return ""


def candidate(place: Path, given: str, name: str | None) -> Candidate:
    """Return the key in a file or in the words themselves. Raises: Invalid."""
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
    public = checked_public(text)
    words = text.split(maxsplit=2)
    comment = one_line(words[2].strip(), 100) if len(words) > 2 else ""
    return Candidate(public, key_id(public), name or comment or (file.stem if file else "unnamed"))


def add(state: State, new: Candidate) -> Approver:
    """Sign a key in. Raises: Duplicate, VerificationFailed, Conflict, Failed."""
    snapshot = state.required()
    view = Signed(snapshot, state.repo.common_dir)
    signer = signer_of(state.repo)
    found = view.consented()
    found.public_of(signer.key_id)
    after = chain.added(found, new.public, new.name, signer, now())
    written(state, snapshot, {chain.FILE: after.to_bytes()}, f"approvers: add {new.key}")
    Signed(state.required(), state.repo.common_dir).approvers()
    return after.known[new.key]


def revoke(state: State, word: str, reason: str) -> Approver:
    """Sign a key out; all that it signed is worth nothing from now on. Raises: NotFound, VerificationFailed, …"""
    snapshot = state.required()
    view = Signed(snapshot, state.repo.common_dir)
    signer = signer_of(state.repo)
    found = view.approvers()
    found.public_of(signer.key_id)
    after = chain.revoked(found, word, reason, signer, now())
    gone = after.entries[-1].key
    written(state, snapshot, {chain.FILE: after.to_bytes()}, f"approvers: revoke {gone}")
    Signed(state.required(), state.repo.common_dir).approvers()
    return after.known[gone]


def trust(state: State, root: str) -> Listed:
    """Let what these approvers sign count on this machine, as they are now. Raises: VerificationFailed, Invalid."""
    found = Signed(state.required(), state.repo.common_dir).listed()
    if found.root.key != root:
        raise Invalid(f"the first approver is {found.root.key}", hint="run the command again")
    known = [*(other.signed for other in elsewhere(found.project)), hear_history(state).signed]
    pin(state.repo.common_dir, found, consent=True, signed=newest(known))
    Ledger(state.repo.common_dir).begin(now())
    return listed(state)
