"""Stores the artifacts of a run under their SHA-256 digests, and checks the digest again on every read."""

import contextlib
import hashlib
import os
import re
from pathlib import Path

from gitnexus.base.errors import Failed, Invalid, NotFound, VerificationFailed
from gitnexus.base.files import make_private_folder
from gitnexus.base.randomness import random_hex
from gitnexus.base.record import Record
from gitnexus.events.anchor import sync_folder
from gitnexus.events.kinds import LONGEST_NAME

FOLDER = "artifacts"
LARGEST = 16 * 1024 * 1024
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_FILE = re.compile(r"[0-9a-f]{64}")


class ArtifactRef(Record):
    """The reference to an artifact in an event. `name` is for people and never a path."""

    name: str
    digest: str
    size: int


class Artifacts:
    """The artifacts of a run: `artifacts/<sha256>` in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / FOLDER

    def write(self, name: str, data: bytes, *, exact: bool = False) -> ArtifactRef:
        """Store `data` with secrets removed and return its reference; equal bytes are stored once.

        `exact` stores the bytes unchanged, for data bound by a digest or to be applied. Raises: Invalid, Failed.
        """
        if not 0 < len(name) <= LONGEST_NAME:
            raise Invalid(f"an artifact's name has 1 to {LONGEST_NAME} characters")
        if len(data) > LARGEST:
            raise Invalid(
                f"{name[:80]!r} is larger than {LARGEST // 2**20} MiB", hint="store only the part that matters"
            )
        if not exact:
            from gitnexus.redaction.stored import redact_file  # its rules take 10 ms: only who writes pays

            data = redact_file(name, data)
        hexadecimal = hashlib.sha256(data).hexdigest()
        ref = ArtifactRef(name=name, digest=f"sha256:{hexadecimal}", size=len(data))
        # A file of that name may have been tampered with: only the right bytes count as being there.
        with contextlib.suppress(NotFound, VerificationFailed):
            self.read(ref.digest)
            return ref
        try:
            self._write_file(hexadecimal, data)
        except OSError as exc:
            raise Failed(f"the artifact {name[:80]!r} could not be stored: {exc.strerror}") from exc
        return ref

    def read(self, digest: str) -> bytes:
        """Return the bytes that have this digest. Raises: NotFound, VerificationFailed."""
        path = self.folder / artifact_file_name(digest)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            with os.fdopen(fd, "rb", buffering=0) as handle:
                data = handle.read(LARGEST + 1) if os.fstat(fd).st_size <= LARGEST else None
        except FileNotFoundError as exc:
            raise NotFound(f"no artifact {digest} here") from exc
        except OSError as exc:
            raise VerificationFailed(f"the artifact {digest} cannot be read: {exc.strerror}") from exc
        return require_same_digest(digest, data or b"")

    def names(self) -> list[str]:
        """Return the digests of all stored artifacts."""
        try:
            return sorted(f"sha256:{name}" for name in os.listdir(self.folder) if _FILE.fullmatch(name))
        except FileNotFoundError:
            return []

    def _write_file(self, name: str, data: bytes) -> None:
        make_private_folder(self.folder)
        temporary = self.folder / f".{random_hex(12)}.tmp"
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            with os.fdopen(fd, "wb") as handle:
                handle.write(data)
                handle.flush()
                os.fsync(fd)
            temporary.replace(self.folder / name)
            sync_folder(self.folder)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise


def artifact_file_name(digest: str) -> str:
    """Return the file name of an artifact. Raises: Invalid for an invalid digest, which could be a path."""
    found = _DIGEST.fullmatch(digest)
    if not found:
        raise Invalid(f"{digest[:80]!r} is not the digest of an artifact", hint="sha256: and 64 hex digits")
    return found[1]


def require_same_digest(digest: str, data: bytes) -> bytes:
    """Return `data` if it has this digest. Raises: VerificationFailed."""
    if hashlib.sha256(data).hexdigest() != artifact_file_name(digest):
        raise VerificationFailed(
            f"the artifact {digest} holds something else",
            hint="it was changed after it was stored; the run's ref may have the original",
        )
    return data
