"""This machine's key: creates it once, signs log parts with it, and makes and checks cards that vouch for a machine.

Owns `$NEXUS_HOME/keys/machine.pem` and `machine.pub`. It approves nothing: it only proves which machine wrote what.
"""

import os
from datetime import datetime
from pathlib import Path

from gitnexus.base.clock import format_timestamp
from gitnexus.base.errors import Failed, Invalid, VerificationFailed
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.events.authors import MachineCard
from gitnexus.policy.approvers import Approvers
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.keys import OURS, Signer, key_id, keys_folder, normalize_public_key, verify_signature

_PRIVATE, _PUBLIC = "machine.pem", "machine.pub"
# On the state ref: a file per machine that an approver vouches for and that has no approver's key itself.
CARDS = "policy/machines"


class MachineKey:
    """This machine's key."""

    def __init__(self, folder: Path, public: str) -> None:
        self._folder = folder
        self.public = public

    @property
    def id(self) -> str:
        """The id of the key."""
        return key_id(self.public)

    def sign(self, message: bytes) -> bytes:
        """Return the raw Ed25519 signature. Raises: Failed."""
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # 65 ms with its dependencies

        try:
            key = load_pem_private_key((self._folder / _PRIVATE).read_bytes(), None)
        except (OSError, ValueError, TypeError) as exc:
            raise Failed(f"{self._folder / _PRIVATE} holds no key", hint="move it away, and another is made") from exc
        if (
            not isinstance(key, Ed25519PrivateKey)
            or _public_key_line(key.public_key().public_bytes_raw()) != self.public
        ):
            raise Failed(f"{self._folder / _PRIVATE} is not the key that {_PUBLIC} beside it names")
        return key.sign(message)


def read_machine_key() -> MachineKey | None:
    """Return this machine's key, None if it has none yet."""
    folder = keys_folder()
    try:
        return MachineKey(folder, normalize_public_key((folder / _PUBLIC).read_text(encoding="ascii")))
    except (OSError, UnicodeDecodeError, Invalid):
        return None


def ensure_machine_key() -> MachineKey:
    """Return this machine's key, creating it if necessary. Concurrent calls create one. Raises: Failed."""
    known = read_machine_key()
    if known is not None:
        return known
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, load_pem_private_key

    folder = keys_folder()
    try:
        make_private_folder(folder)
        key = Ed25519PrivateKey.generate()
        _write_new_file(folder, _PRIVATE, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        held = load_pem_private_key((folder / _PRIVATE).read_bytes(), None)
        if not isinstance(held, Ed25519PrivateKey):
            raise Failed(f"{folder / _PRIVATE} is not an Ed25519 key", hint="move it away, and another is made")
        replace_file(folder / _PUBLIC, f"{_public_key_line(held.public_key().public_bytes_raw())}\n".encode(), 0o600)
    except (OSError, ValueError) as exc:
        raise Failed(f"the key of this machine cannot be made in {folder}: {exc}") from exc
    return ensure_machine_key()


def make_card(machine: str, public: str, name: str, project: str, now: datetime) -> MachineCard:
    """Return an unsigned card of a machine. Raises: Invalid."""
    if key_id(public) != machine:
        raise Invalid("that is the key of another machine")
    return MachineCard(id=machine, project=project, public=public, name=name, at=format_timestamp(now))


def sign_machine_card(card: MachineCard, signer: Signer) -> MachineCard:
    """Return a card signed by an approver, who vouches for the machine's owner. Raises: Failed."""
    said = card.changed(by=signer.key_id)
    return said.changed(signature=encode_base64(signer.sign(said.message())))


def check_card(card: MachineCard, project: str, approvers: Approvers) -> str:
    """Return the name of the approver who vouches for a machine. Raises: VerificationFailed, Invalid."""
    if card.project != project or key_id(card.public) != card.id:
        raise VerificationFailed("it is the card of another project or machine")
    verify_signature(approvers.public_of(card.by), card.message(), decode_base64(card.signature))
    by = approvers.known[card.by].name
    if card.name != by and any(one.name == card.name for one in approvers.active):
        # An approver may vouch for other people's machines, but not in another approver's name.
        raise VerificationFailed(f"{by} cannot vouch for a machine of {card.name}")
    return by


def _public_key_line(raw: bytes) -> str:
    return f"{OURS} {encode_base64(raw)}"


def _write_new_file(folder: Path, name: str, data: bytes) -> None:
    """Create a file; an existing one stays, because another process was first."""
    temporary = folder / f".{name}.{os.getpid()}.tmp"
    replace_file(temporary, data, 0o600)
    try:
        os.link(temporary, folder / name)
    except FileExistsError:
        pass
    finally:
        temporary.unlink(missing_ok=True)
