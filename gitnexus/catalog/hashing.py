"""Computes the hash of a prompt that the manifest stores."""

import hashlib


def body_hash(raw: bytes) -> str:
    """Return `sha256:` and the hex digits over the bytes of a body.md."""
    return f"sha256:{hashlib.sha256(raw).hexdigest()}"
