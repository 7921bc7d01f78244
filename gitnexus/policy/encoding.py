"""Base64 for signatures: without padding, and one spelling only."""

import base64

from gitnexus.base.errors import VerificationFailed


def encoded(raw: bytes) -> str:
    """Return the text of some bytes."""
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def raw_of(text: str) -> bytes:
    """Return the bytes of a text that `encoded` made. Raises: VerificationFailed for every other spelling."""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError as exc:
        raise VerificationFailed("it is no base64") from exc
    # Unused bits at the end could spell one value in several ways.
    if encoded(raw) != text:
        raise VerificationFailed("its base64 is not canonical")
    return raw
