"""The verbs: hide the secrets of a text, whole or as a stream. For what is shown, never for bytes to be applied."""

from typing import TYPE_CHECKING, AnyStr

from gitnexus.redaction.lines import Lines
from gitnexus.redaction.result import Hidden, Place, Redacted, Reveal, counted
from gitnexus.redaction.scan import searcher
from gitnexus.redaction.values import Values

if TYPE_CHECKING:
    from gitnexus.redaction.known import Known


class Redactor:
    """A stream of bytes without its secrets. Holds back what may be the beginning of one, at most some 128 KiB."""

    def __init__(self, values: Values | None = None) -> None:
        self._known = _known(values) if values else None
        self._lines = Lines(also=self._known.spans if self._known else None)

    def feed(self, chunk: bytes) -> bytes:
        """Return what can be shown by now."""
        return self._lines.feed(self._known.feed(chunk) if self._known else chunk)

    def finish(self) -> bytes:
        """Return the rest."""
        rest = self._lines.feed(self._known.finish()) if self._known else b""
        return rest + self._lines.finish()

    @property
    def hidden(self) -> tuple[Hidden, ...]:
        return counted(self._lines.counts + self._known.counts if self._known else self._lines.counts)


def redact(text: AnyStr, values: Values | None = None, *, reveal: Reveal | None = None) -> Redacted[AnyStr]:
    """Return the text with each secret replaced by the name of its rule, and how many there were."""
    if reveal is not None:
        return Redacted(text, revealed=reveal)
    if isinstance(text, str):
        shown, hidden, places = _redacted(text.encode("utf-8", "surrogatepass"), values)
        return Redacted(shown.decode("utf-8", "surrogatepass"), hidden, places=places)
    shown, hidden, places = _redacted(text, values)
    return Redacted(shown, hidden, places=places)


def mask(text: str, values: Values | None = None) -> str:
    """Return `text` with every secret replaced by the name of its rule."""
    return redact(text, values).text


def _known(values: Values) -> "Known":
    from gitnexus.redaction.known import Known  # bisect and more: the git hooks know no values

    return Known(values)


def _redacted(raw: bytes, values: Values | None) -> tuple[bytes, tuple[Hidden, ...], tuple[Place, ...]]:
    if values:
        stream = Redactor(values)
        return stream.feed(raw) + stream.finish(), stream.hidden, ()
    search = searcher(raw)
    if search is None:
        return raw, (), ()
    lines = Lines(search)
    return lines.feed(raw) + lines.finish(), counted(lines.counts), tuple(lines.places)
