"""Stores and reads a run's artifacts by the hash of their content; a changed artifact is not returned."""

import hashlib
import re
from pathlib import Path

from gitnexus.base.errors import Invalid, NotFound, VerificationFailed
from gitnexus.base.files import replace_file

LARGEST = 16 * 2**20
_NAME = re.compile(r"sha256:([0-9a-f]{64})")


def store_artifact(folder: Path, data: bytes) -> str:
    """Store `data` and return its name. Raises: Invalid, OSError."""
    if len(data) > LARGEST:
        raise Invalid(f"an artifact is at most {LARGEST // 2**20} MiB")
    digest = hashlib.sha256(data).hexdigest()
    replace_file(folder / digest[:2] / digest[2:], data, mode=0o444)
    return f"sha256:{digest}"


def read_artifact(folder: Path, name: str) -> bytes:
    """Return an artifact. Raises: Invalid, NotFound, VerificationFailed if it was changed."""
    found = _NAME.fullmatch(name)
    if found is None:
        raise Invalid(f"{name[:80]!r} does not name an artifact")
    try:
        data = (folder / found[1][:2] / found[1][2:]).read_bytes()
    except OSError as exc:
        raise NotFound(f"there is no artifact {name}") from exc
    if hashlib.sha256(data).hexdigest() != found[1]:
        raise VerificationFailed(f"the artifact {name} was changed after it was stored")
    return data
