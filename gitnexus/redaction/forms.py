"""Returns the forms in which a known secret may appear: plain, base64, hex, URL-encoded, JSON-escaped."""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from urllib.parse import quote, quote_plus

# A shorter piece would be met by chance.
_SHORTEST = 8


def forms_of_secret(value: str) -> frozenset[bytes]:
    """Return every form of a value that a stream is searched for."""
    raw = value.encode("utf-8", "surrogatepass")
    forms = {raw, raw.hex().encode(), raw.hex().upper().encode()}
    for encode in (b64encode, urlsafe_b64encode):
        forms |= {_base64_form(raw, before, encode) for before in range(3)}
    for text in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        forms |= {text.encode(), _lowercase_escapes(text).encode()}
    for ascii_only in (True, False):
        text = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        forms |= {each.encode("utf-8", "surrogatepass") for each in (text, text.replace("/", "\\/"))}
    return frozenset(form for form in (_without_line_breaks(form) for form in forms) if len(form) >= _SHORTEST)


def _base64_form(raw: bytes, before: int, encode: Callable[[bytes], bytes]) -> bytes:
    # In the encoding of a longer text the value begins at one of three places; only the letters that are made of the
    # value alone are sure.
    whole = encode(b"\0" * before + raw)
    first = (before * 8 + 5) // 6
    return whole[first : (before + len(raw)) * 8 // 6]


def _lowercase_escapes(text: str) -> str:
    pieces = text.split("%")
    return "%".join([pieces[0], *(piece[:2].lower() + piece[2:] for piece in pieces[1:])])


def _without_line_breaks(form: bytes) -> bytes:
    # A stream is searched without its line breaks, for encoders wrap; so a value of several lines is one, too.
    return form.translate(None, b"\r\n")
