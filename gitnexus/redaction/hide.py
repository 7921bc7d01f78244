"""Masks the secrets of a text, whole or as a stream, for display. Never used on bytes that are applied later."""

from typing import TYPE_CHECKING, AnyStr

from gitnexus.redaction.lines import LineRedactor
from gitnexus.redaction.result import Hidden, Redacted, Reveal, SecretLocation, hidden_by_rule
from gitnexus.redaction.scan import make_searcher
from gitnexus.redaction.values import Values

if TYPE_CHECKING:
    from gitnexus.redaction.known import KnownValueFilter


class Redactor:
    """Removes secrets from a stream of bytes. Holds back a possible beginning of one, at most about 128 KiB."""

    def __init__(self, values: Values | None = None) -> None:
        self._known = _known_value_filter(values) if values else None
        self._lines = LineRedactor(also=self._known.spans if self._known else None)

    def feed(self, chunk: bytes) -> bytes:
        """Return the output that is certain so far."""
        return self._lines.feed(self._known.feed(chunk) if self._known else chunk)

    def finish(self) -> bytes:
        """Return the rest of the output."""
        rest = self._lines.feed(self._known.finish()) if self._known else b""
        return rest + self._lines.finish()

    @property
    def hidden(self) -> tuple[Hidden, ...]:
        return hidden_by_rule(self._lines.counts + self._known.counts if self._known else self._lines.counts)


class MessageRedactor:
    """Masks the messages of one sender one by one; a key may begin in one message and end in a later one."""

    def __init__(self, values: Values | None = None) -> None:
        self._values = values
        self._lines = LineRedactor()

    def mask(self, message: str) -> str:
        """Return the message without its secrets; empty for a message inside a private key."""
        raw = message.encode("utf-8", "surrogatepass")
        if self._values:
            known = _known_value_filter(self._values)
            raw = known.feed(raw) + known.finish()
        return self._lines.feed(raw + b"\n").decode("utf-8", "surrogatepass").strip("\n")


def redact(text: AnyStr, values: Values | None = None, *, reveal: Reveal | None = None) -> Redacted[AnyStr]:
    """Return the text with each secret replaced by the name of its rule, and the number of secrets."""
    if reveal is not None:
        return Redacted(text, revealed=reveal)
    if isinstance(text, str):
        shown, hidden, places = _redact_bytes(text.encode("utf-8", "surrogatepass"), values)
        return Redacted(shown.decode("utf-8", "surrogatepass"), hidden, places=places)
    shown, hidden, places = _redact_bytes(text, values)
    return Redacted(shown, hidden, places=places)


def mask(text: str, values: Values | None = None) -> str:
    """Return `text` with every secret replaced by the name of its rule."""
    return redact(text, values).text


def _known_value_filter(values: Values) -> "KnownValueFilter":
    from gitnexus.redaction.known import KnownValueFilter  # bisect and more: the git hooks know no values

    return KnownValueFilter(values)


def _redact_bytes(raw: bytes, values: Values | None) -> tuple[bytes, tuple[Hidden, ...], tuple[SecretLocation, ...]]:
    if values:
        stream = Redactor(values)
        return stream.feed(raw) + stream.finish(), stream.hidden, ()
    search = make_searcher(raw)
    if search is None:
        return raw, (), ()
    lines = LineRedactor(search)
    return lines.feed(raw) + lines.finish(), hidden_by_rule(lines.counts), tuple(lines.places)
