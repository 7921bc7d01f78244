"""Computes a deterministic delimiter that does not occur in a text; used to quote untrusted text in prompts."""

import hashlib
from collections.abc import Sequence

LENGTH = 16


def fence_mark_for(texts: Sequence[str]) -> str:
    """Return 16 hex digits that occur in none of the texts. An author of a text cannot predict them."""
    whole = hashlib.sha256(b"\0".join(text.encode("utf-8", "surrogatepass") for text in texts)).hexdigest()
    turn = 0
    while True:
        mark = hashlib.sha256(f"{turn} {whole}".encode()).hexdigest()[:LENGTH]
        if not any(mark in text for text in texts):
            return mark
        turn += 1
