"""Base64 for signatures, without padding and with a single valid encoding."""

import base64

from gitnexus.base.errors import VerificationFailed


def encode_base64(raw: bytes) -> str:
    """Return bytes as base64 text."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def decode_base64(text: str) -> bytes:
    """Return the bytes of a text made by `encode_base64`. Raises: VerificationFailed for any other encoding."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError as exc:
        raise VerificationFailed("it is not base64") from exc
    # Unused bits at the end would allow several encodings of one value.
    if encode_base64(raw) != text:
        raise VerificationFailed("its base64 is not canonical")
    return raw
