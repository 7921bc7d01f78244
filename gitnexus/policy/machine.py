"""The key of this machine: made once, it signs what this machine writes into logs. And who vouches for such a key.

Owns `$NEXUS_HOME/keys/machine.pem` and `machine.pub`. It approves nothing: whoever has it can only say who wrote what.
"""

import os
from datetime import datetime
from pathlib import Path

from gitnexus.base.clock import stamp
from gitnexus.base.errors import Failed, Invalid, NexusError, VerificationFailed
from gitnexus.base.files import replace
from gitnexus.events.authors import MachineCard
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.encoding import encoded, raw_of
from gitnexus.policy.keys import OURS, Signer, checked_public, key_id, keys_folder, verify

_PRIVATE, _PUBLIC = "machine.pem", "machine.pub"
# On the state ref, a file for each machine that an approver vouches for and that has no approver's key itself.
CARDS = "policy/machines"


class MachineKey:
    """This machine's key."""

    def __init__(self, folder: Path, public: str) -> None:
        self._folder = folder
        self.public = public

    @property
    def id(self) -> str:
        """The name of the key."""
        return key_id(self.public)

    def sign(self, message: bytes) -> bytes:
        """Return the bare Ed25519 signature. Raises: Failed."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # 65 ms with all it needs

        try:
            key = load_pem_private_key((self._folder / _PRIVATE).read_bytes(), None)
        except (OSError, ValueError, TypeError) as exc:
            raise Failed(f"{self._folder / _PRIVATE} holds no key", hint="move it away, and another is made") from exc
        if not isinstance(key, Ed25519PrivateKey) or _line(key.public_key().public_bytes_raw()) != self.public:
            raise Failed(f"{self._folder / _PRIVATE} is not the key that {_PUBLIC} beside it names")
        return key.sign(message)


def known_machine() -> MachineKey | None:
    """Return the key of this machine, None if it has none yet."""
    folder = keys_folder()
    try:
        return MachineKey(folder, checked_public((folder / _PUBLIC).read_text(encoding="ascii")))
    except (OSError, UnicodeDecodeError, Invalid):
        return None


def own_machine() -> MachineKey:
    """Return the key of this machine, made if there is none. Two at once make one. Raises: Failed."""
    known = known_machine()
    if known is not None:
        return known
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

    folder = keys_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = Ed25519PrivateKey.generate()
        _put_new(folder, _PRIVATE, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        held = load_pem_private_key((folder / _PRIVATE).read_bytes(), None)
        if not isinstance(held, Ed25519PrivateKey):
            raise Failed(f"{folder / _PRIVATE} is no Ed25519 key", hint="move it away, and another is made")
        replace(folder / _PUBLIC, f"{_line(held.public_key().public_bytes_raw())}\n".encode(), 0o600)
    except (OSError, ValueError) as exc:
        raise Failed(f"the key of this machine cannot be made in {folder}: {exc}") from exc
    return own_machine()


def make_card(machine: str, public: str, name: str, project: str, now: datetime) -> MachineCard:
    """Return what is said of a machine, with nobody's word for it yet. Raises: Invalid."""
    if key_id(public) != machine:
        raise Invalid("that is the key of another machine")
    return MachineCard(id=machine, project=project, public=public, name=name, at=stamp(now))


def vouch(card: MachineCard, signer: Signer) -> MachineCard:
    """Return a card with an approver's word that the machine is whose it says. Raises: Failed."""
    said = card.changed(by=signer.key_id)
    return said.changed(signature=encoded(signer.sign(said.message())))


def check_card(card: MachineCard, project: str, approvers: Approvers) -> str:
    """Return who vouches for a machine, by name. Raises: VerificationFailed, Invalid."""
    if card.project != project or key_id(card.public) != card.id:
        raise VerificationFailed("it is the card of another project or machine")
    verify(approvers.public_of(card.by), card.message(), raw_of(card.signature))
    by = approvers.known[card.by].name
    if card.name != by and any(one.name == card.name for one in approvers.active):
        # An approver may name the machines of others, but not speak as another approver.
        raise VerificationFailed(f"{by} cannot vouch for a machine of {card.name}")
    return by


def is_vouched(card: MachineCard, project: str, approvers: Approvers) -> bool:
    """True if an approver vouches for a machine."""
    try:
        check_card(card, project, approvers)
    except NexusError:
        return False
    return True


def _line(raw: bytes) -> str:
    return f"{OURS} {encoded(raw)}"


def _put_new(folder: Path, name: str, data: bytes) -> None:
    """Write a file that is not there yet; one that is stays, since another process made it first."""
    temporary = folder / f".{name}.{os.getpid()}.tmp"
    replace(temporary, data, 0o600)
    try:
        os.link(temporary, folder / name)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
