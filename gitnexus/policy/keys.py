"""The approver's key: creates, reads, encrypts and signs with it, and verifies signatures of any approver."""

import contextlib
import hashlib
import os
import shlex
import stat
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gitnexus.base.errors import Failed, Invalid, NotFound, VerificationFailed
from gitnexus.base.files import make_private_folder, replace_file
from gitnexus.base.randomness import random_hex
from gitnexus.policy import sshkeys
from gitnexus.policy.encoding import decode_base64, encode_base64
from gitnexus.policy.passphrase import read_passphrase
from gitnexus.state.home import home_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

# The first word of a public key selects the signature format: ours are raw Ed25519, all others SSHSIG.
OURS = "ed25519"
_PRIVATE = "approver.pem"
_PUBLIC = "approver.pub"
_ENCRYPTED = b"BEGIN ENCRYPTED PRIVATE KEY"


class Signer(Protocol):
    """Something that can sign; `public` is the public key as one line."""

    @property
    def public(self) -> str: ...

    @property
    def key_id(self) -> str: ...

    def sign(self, message: bytes) -> bytes: ...


def key_id(public: str) -> str:
    """Return the id of a public key, which is a digest. Raises: Invalid."""
    word, raw = _split_public_key(public)
    if word == OURS:
        return "nx:" + encode_base64(hashlib.sha256(b"git-nexus ed25519\0" + raw).digest())
    return sshkeys.fingerprint(raw)


def normalize_public_key(text: str) -> str:
    """Return a public key in stored form: type and key, without the comment. Raises: Invalid."""
    words = text.split()
    if len(words) < 2 or "\n" in text.strip():
        raise Invalid(
            f"{text.strip()[:40]!r} is not a public key",
            hint="give a .pub file, or one line such as: ssh-ed25519 AAAA…",
        )
    public = f"{words[0]} {words[1]}"
    _split_public_key(public)
    return public


def verify_signature(public: str, message: bytes, signature: bytes) -> None:
    """Raise an error unless the key made `signature` over `message`. Raises: VerificationFailed, Invalid."""
    if not public.startswith(f"{OURS} "):
        sshkeys.verify_ssh_signature(public, message, signature)
        return
    from cryptography.exceptions import InvalidSignature  # 58 ms with its library: only to verify a signature

    try:
        _load_public_key(public).verify(signature, message)
    except InvalidSignature as exc:
        raise VerificationFailed("the signature is not one of that key over this content") from exc


@lru_cache(maxsize=32)
def _load_public_key(public: str) -> "Ed25519PublicKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(_split_public_key(public)[1])


class FileSigner:
    """The key that `init` created, read only when something is signed."""

    def __init__(self, folder: Path, public: str) -> None:
        self._folder = folder
        self._public = public

    @property
    def public(self) -> str:
        return self._public

    @property
    def key_id(self) -> str:
        return key_id(self._public)

    def sign(self, message: bytes) -> bytes:
        """Return the raw Ed25519 signature. Raises: Failed if others can read the key, NotFound."""
        key = _load_private_key(self._folder)
        if _public_key_line(key.public_key().public_bytes_raw()) != self._public:
            raise Failed(
                f"{self._folder / _PRIVATE} is not the key that {_PUBLIC} beside it names",
                hint="restore both from a backup",
            )
        return key.sign(message)


def keys_folder() -> Path:
    """Return the folder of the user's key."""
    return home_folder() / "keys"


def own_signer() -> FileSigner:
    """Return the key that `init` created. Raises: NotFound, Failed."""
    folder = keys_folder()
    try:
        text = (folder / _PUBLIC).read_text(encoding="ascii")
    except FileNotFoundError as exc:
        raise NotFound("there is no approver key yet", hint="git nexus init makes one", fix="git nexus init") from exc
    except UnicodeDecodeError as exc:
        raise Failed(f"{folder / _PUBLIC} holds no key", hint="restore it from a backup") from exc
    return FileSigner(folder, normalize_public_key(text))


def make_own_key() -> tuple[FileSigner, bool]:
    """Return the user's key, and whether it was created now. Concurrent calls create one key. Raises: Failed."""
    folder = keys_folder()
    if not (folder / _PRIVATE).exists():
        make_private_folder(folder)
        _refuse_open_folder(folder)
        made = _create_private_key(folder)
    else:
        made = False
    if not (folder / _PUBLIC).exists():
        _write_public(folder)
    return own_signer(), made


def why_key_unusable() -> tuple[str, str] | None:
    """Return the problem with the user's key and the command that fixes it, None if usable. Raises: NotFound."""
    own_signer()
    try:
        _read_private_key(keys_folder())
    except Failed as exc:
        return exc.message, exc.fix or exc.hint or ""
    return None


def _create_private_key(folder: Path) -> bool:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    return _write_new_file(folder, _PRIVATE, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _write_public(folder: Path) -> None:
    _write_new_file(
        folder, _PUBLIC, (_public_key_line(_load_private_key(folder).public_key().public_bytes_raw()) + "\n").encode()
    )


def encrypt_own_key(passphrase: bytes) -> None:
    """Rewrite the user's key under a passphrase, or without one if it is empty; the key stays the same.

    Raises: NotFound, Failed.
    """
    from cryptography.hazmat.primitives.serialization import (
        BestAvailableEncryption,
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    folder = keys_folder()
    way = BestAvailableEncryption(passphrase) if passphrase else NoEncryption()
    replace_file(
        folder / _PRIVATE, _load_private_key(folder).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, way), 0o600
    )


def _load_private_key(folder: Path) -> "Ed25519PrivateKey":
    """Return the private key, decrypted if necessary. Raises: NotFound, Failed."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # 65 ms with its dependencies

    raw = _read_private_key(folder)
    secret = read_passphrase(f"Passphrase of {folder / _PRIVATE}: ") if _ENCRYPTED in raw else None
    try:
        key = load_pem_private_key(raw, secret)
    except (ValueError, TypeError) as exc:
        if secret is not None:
            read_passphrase.cache_clear()
            raise Failed(f"{folder / _PRIVATE} cannot be decrypted with that passphrase", hint="try again") from exc
        raise Failed(f"{folder / _PRIVATE} holds no key", hint="restore it from a backup") from exc
    if not isinstance(key, Ed25519PrivateKey):
        raise Failed(f"{folder / _PRIVATE} is not an Ed25519 key", hint="restore it from a backup")
    return key


def _write_new_file(folder: Path, name: str, data: bytes) -> bool:
    """Create a file durably; False if it already exists."""
    temporary = folder / f".{name}.{random_hex(12)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(fd)
        os.link(temporary, folder / name)  # unlike a rename, this never replaces a key
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return True


def _read_private_key(folder: Path) -> bytes:
    """Return the private key file if nobody else can read it. Raises: NotFound, Failed."""
    _refuse_open_folder(folder)
    path = folder / _PRIVATE
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as exc:
        raise NotFound(f"there is no approver key in {folder}", hint="restore it from a backup") from exc
    except OSError as exc:
        raise Failed(f"{path} cannot be read: {exc.strerror}") from exc
    with os.fdopen(fd, "rb") as handle:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise Failed(f"{path} is not a file of yours", hint="move it away")
        if found.st_mode & 0o077:
            raise Failed(
                f"{path} can be read by others, so it is not used",
                hint="if somebody may have read it, revoke it: git nexus approver revoke",
                fix=f"chmod 600 {shlex.quote(str(path))}",
            )
        return handle.read(16_384)


def _refuse_open_folder(folder: Path) -> None:
    found = folder.lstat() if os.path.lexists(folder) else None
    if found is None or not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise NotFound(f"{folder} is not a folder of yours", hint="git nexus init makes it", fix="git nexus init")
    if found.st_mode & 0o077:
        raise Failed(
            f"{folder} is accessible to others, so the key in it is not used",
            hint="only you may look into it",
            fix=f"chmod 700 {shlex.quote(str(folder))}",
        )


def _public_key_line(raw: bytes) -> str:
    return f"{OURS} {encode_base64(raw)}"


def _split_public_key(public: str) -> tuple[str, bytes]:
    word, _, text = public.partition(" ")
    if word != OURS:
        return word, sshkeys.ssh_key_bytes(public)
    try:
        raw = decode_base64(text)
    except VerificationFailed as exc:
        raise Invalid(f"{public[:40]!r} is not a public key") from exc
    if len(raw) != 32:
        raise Invalid(f"{public[:40]!r} is not a public key")
    return word, raw
