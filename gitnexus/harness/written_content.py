"""Computes the bytes of a file after a tool call that writes it whole or replaces texts in it. Pure."""

from gitnexus.base.errors import Conflict, Invalid
from gitnexus.harness.calls import WriteCall


def content_after_write(call: WriteCall, before: bytes | None) -> bytes:
    """Return the content of a file after a call; `before` is None for a new file. Raises: Conflict, Invalid."""
    if call.content is not None:
        return _require_text(call.content).encode("utf-8")
    if not call.edits:
        raise Invalid("it does not say what the file would be", hint="write it whole, or replace a text in it")
    # Bytes that are no UTF-8 stay as they are.
    text = (before or b"").decode("utf-8", "surrogateescape")
    # Programs edit lines that end in \n, and give the file its own line ends back.
    is_crlf = "\r\n" in text
    text = text.replace("\r\n", "\n")
    for edit in call.edits:
        old, new = (_require_text(part).replace("\r\n", "\n") if is_crlf else _require_text(part) for part in edit[:2])
        if not old and not text:
            text = new
            continue
        count = text.count(old) if old else 0
        if count == 0 or (count > 1 and not edit.everywhere):
            raise Conflict("the text to be replaced is there " + ("more than once" if count else "nowhere"))
        text = text.replace(old, new)
    return (text.replace("\n", "\r\n") if is_crlf else text).encode("utf-8", "surrogateescape")


def _require_text(text: str) -> str:
    """Return a text that UTF-8 can express. Raises: Invalid."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Invalid("it holds an unpaired surrogate")
    return text
