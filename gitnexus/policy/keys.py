"""The approver's key: made once, never replaced, used only while nobody else can read it; and how to check one."""

import base64
import contextlib
import os
import shlex
import stat
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from gitnexus.base.chance import token
from gitnexus.base.errors import Failed, Invalid, NotFound, VerificationFailed
from gitnexus.base.files import make_private_folder, replace, sync_file
from gitnexus.policy import sshkeys
from gitnexus.policy.encoding import encoded, raw_of
from gitnexus.policy.passphrase import passphrase
from gitnexus.state.home import home_folder

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

# The first word of a public key tells how its signatures are made: ours are bare Ed25519, all others are SSHSIG.
OURS = "ed25519"
_PRIVATE = "approver.pem"
_PUBLIC = "approver.pub"
_ENCRYPTED = b"BEGIN ENCRYPTED PRIVATE KEY"


class Signer(Protocol):
    """Who can sign: `public` is the one line that others know the key by."""

    @property
    def public(self) -> str: ...

    @property
    def key_id(self) -> str: ...

    def sign(self, message: bytes) -> bytes: ...


def key_id(public: str) -> str:
    """Return the name of a public key: a digest that no other key has. Raises: Invalid."""
    import hashlib  # 6 ms, and most commands name no key

    word, raw = _parts(public)
    if word == OURS:
        return "nx:" + encoded(hashlib.sha256(b"git-nexus ed25519\0" + raw).digest())
    # As `ssh-keygen -l` prints it, so that people can compare.
    return "SHA256:" + base64.b64encode(hashlib.sha256(raw).digest()).decode().rstrip("=")


def checked_public(text: str) -> str:
    """Return a public key as we keep it: kind and key, without the comment. Raises: Invalid."""
    words = text.split()
    if len(words) < 2 or "\n" in text.strip():
        raise Invalid(
            f"{text.strip()[:40]!r} is no public key",
            hint="give a .pub file, or one line such as: ssh-ed25519 AAAA…",
        )
    public = f"{words[0]} {words[1]}"
    _parts(public)
    return public


def verify(public: str, message: bytes, signature: bytes) -> None:
    """Return if `signature` was made over `message` by the key. Raises: VerificationFailed, Invalid."""
    if not public.startswith(f"{OURS} "):
        sshkeys.verify(public, message, signature)
        return
    from cryptography.exceptions import InvalidSignature  # with its library 58 ms: only who checks a signature pays

    try:
        _loaded(public).verify(signature, message)
    except InvalidSignature as exc:
        raise VerificationFailed("the signature is not one of that key over this content") from exc


@lru_cache(maxsize=32)
def _loaded(public: str) -> "Ed25519PublicKey":
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    return Ed25519PublicKey.from_public_bytes(_parts(public)[1])


class FileSigner:
    """The key that `init` made, read when something is signed and not before."""

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
        """Return the bare Ed25519 signature. Raises: Failed if others can read the key, NotFound."""
        key = _opened(self._folder)
        if _line(key.public_key().public_bytes_raw()) != self._public:
            raise Failed(
                f"{self._folder / _PRIVATE} is not the key that {_PUBLIC} beside it names",
                hint="bring both back from a backup",
            )
        return key.sign(message)


def keys_folder() -> Path:
    """Return where the user's own key lies."""
    return home_folder() / "keys"


def own_signer() -> FileSigner:
    """Return the key that `init` made. Raises: NotFound, Failed."""
    folder = keys_folder()
    try:
        text = (folder / _PUBLIC).read_text(encoding="ascii")
    except FileNotFoundError as exc:
        raise NotFound("there is no approver key yet", hint="git nexus init makes one", fix="git nexus init") from exc
    except UnicodeDecodeError as exc:
        raise Failed(f"{folder / _PUBLIC} holds no key", hint="bring it back from a backup") from exc
    return FileSigner(folder, checked_public(text))


def make_own() -> tuple[FileSigner, bool]:
    """Return the user's key, and whether it was made just now. Two at once make one. Raises: Failed."""
    folder = keys_folder()
    if not (folder / _PRIVATE).exists():
        make_private_folder(folder)
        _refuse_open_folder(folder)
        made = _create(folder)
    else:
        made = False
    if not (folder / _PUBLIC).exists():
        _write_public(folder)
    return own_signer(), made


def why_unusable() -> tuple[str, str] | None:
    """Return what is wrong with the user's key and the command that mends it, None if nothing is. Raises: NotFound."""
    own_signer()
    try:
        _guarded(keys_folder())
    except Failed as exc:
        return exc.message, exc.fix or exc.hint or ""
    return None


def _create(folder: Path) -> bool:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    key = Ed25519PrivateKey.generate()
    return _put_new(folder, _PRIVATE, key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))


def _write_public(folder: Path) -> None:
    _put_new(folder, _PUBLIC, (_line(_opened(folder).public_key().public_bytes_raw()) + "\n").encode())


def is_encrypted() -> bool:
    """True if the user's key needs a passphrase. Raises: NotFound, Failed."""
    return _ENCRYPTED in _guarded(keys_folder())


def encrypt_own(passphrase: bytes) -> None:
    """Write the user's key again under a passphrase, or with none if it is empty; the key stays the same.

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
    replace(folder / _PRIVATE, _opened(folder).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, way), 0o600)
    sync_file(folder / _PRIVATE)


def _opened(folder: Path) -> "Ed25519PrivateKey":
    """Return the private key, with its passphrase if it has one. Raises: NotFound, Failed."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    from cryptography.hazmat.primitives.serialization import load_pem_private_key  # 65 ms with all it needs

    raw = _guarded(folder)
    secret = passphrase(f"Passphrase of {folder / _PRIVATE}: ") if _ENCRYPTED in raw else None
    try:
        key = load_pem_private_key(raw, secret)
    except (ValueError, TypeError) as exc:
        if secret is not None:
            passphrase.cache_clear()
            raise Failed(f"{folder / _PRIVATE} is not opened by that passphrase", hint="try again") from exc
        raise Failed(f"{folder / _PRIVATE} holds no key", hint="bring it back from a backup") from exc
    if not isinstance(key, Ed25519PrivateKey):
        raise Failed(f"{folder / _PRIVATE} is no Ed25519 key", hint="bring it back from a backup")
    return key


def _put_new(folder: Path, name: str, data: bytes) -> bool:
    """Write a file that must not be there yet, whole and on the disk; False if another process was first."""
    temporary = folder / f".{name}.{token(12)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
            handle.flush()
            os.fsync(fd)
        os.link(temporary, folder / name)  # unlike a rename this never replaces a key
    except FileExistsError:
        return False
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return True


def _guarded(folder: Path) -> bytes:
    """Return the private key's file if nobody else can read it. Raises: NotFound, Failed."""
    _refuse_open_folder(folder)
    path = folder / _PRIVATE
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError as exc:
        raise NotFound(f"there is no approver key in {folder}", hint="bring it back from a backup") from exc
    except OSError as exc:
        raise Failed(f"{path} cannot be read: {exc.strerror}") from exc
    with os.fdopen(fd, "rb") as handle:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise Failed(f"{path} is no file of yours", hint="move it away")
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
        raise NotFound(f"{folder} is no folder of yours", hint="git nexus init makes it", fix="git nexus init")
    if found.st_mode & 0o077:
        raise Failed(
            f"{folder} is open to others, so the key in it is not used",
            hint="only you may look into it",
            fix=f"chmod 700 {shlex.quote(str(folder))}",
        )


def _line(raw: bytes) -> str:
    return f"{OURS} {encoded(raw)}"


def _parts(public: str) -> tuple[str, bytes]:
    word, _, text = public.partition(" ")
    if word != OURS:
        return word, sshkeys.blob_of(public)
    try:
        raw = raw_of(text)
    except VerificationFailed as exc:
        raise Invalid(f"{public[:40]!r} is no public key") from exc
    if len(raw) != 32:
        raise Invalid(f"{public[:40]!r} is no public key")
    return word, raw
