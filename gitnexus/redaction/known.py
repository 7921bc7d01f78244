"""Masks known secret values in a stream, in all their encoded forms, across chunks and line breaks."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from gitnexus.redaction.rule import compile_any_of
from gitnexus.redaction.scan import KNOWN_VALUE
from gitnexus.redaction.span import SecretSpan
from gitnexus.redaction.unescape import has_escapes, unescape_line
from gitnexus.redaction.values import Values

if TYPE_CHECKING:
    from gitnexus.redaction.rule import Linear

_PIECE = 256 * 1024
_SHORT = 4 * 1024
_HEAD = 8
_BREAKS = b"\r\n"
_MARK = f"[{KNOWN_VALUE}]".encode()


class _Automaton(Protocol):
    def iter(self, text: str, /) -> Iterator[tuple[int, int]]: ...


class KnownValueFilter:
    """The state between chunks: the possible beginning of a value, and how much of it is masked already."""

    def __init__(self, values: Values) -> None:
        self.counts: Counter[str] = Counter()
        self._forms = values.forms()
        self._heads = tuple({form[:_HEAD] for form in self._forms})
        # A value may be wrapped: by each of its letters on a line of its own, and no more.
        self._longest = 3 * max((len(form) for form in self._forms), default=0)
        self._automaton: _Automaton | None = None
        self._pattern: Linear | None = None
        self._pending = b""
        self._covered = 0

    def feed(self, data: bytes) -> bytes:
        """Return the output that is certain so far."""
        return b"".join(self._filter_piece(data[at : at + _PIECE], last=False) for at in range(0, len(data), _PIECE))

    def finish(self) -> bytes:
        """Return the rest of the output."""
        return self._filter_piece(b"", last=True)

    def spans(self, line: bytes) -> list[SecretSpan]:
        """Return the values in a line that appear only after unescaping it."""
        if not has_escapes(line):
            return []
        plain, offsets = unescape_line(line)
        return [SecretSpan(offsets[start], offsets[end], KNOWN_VALUE) for start, end in self._find_occurrences(plain)]

    def _filter_piece(self, data: bytes, last: bool) -> bytes:
        text = self._pending + data
        cut = len(text) if last else max(0, len(text) - self._longest)
        if cut == 0:
            self._pending = text
            return b""
        out, at = [], min(self._covered, cut)
        covered = self._covered
        for start, end in sorted(self._find_occurrences(text)):
            if start >= cut:
                break
            if start >= covered:
                out += [text[at:start], _MARK]
                self.counts[KNOWN_VALUE] += 1
            covered = max(covered, end)
            at = min(covered, cut)
        out.append(text[at:cut])
        self._covered = max(0, covered - cut)
        self._pending = text[cut:]
        return b"".join(out)

    def _find_occurrences(self, text: bytes) -> Iterator[tuple[int, int]]:
        joined = text.translate(None, _BREAKS)
        if not self._may_hold_value(joined):
            return
        breaks = [at for at, byte in enumerate(text) if byte in _BREAKS] if len(joined) < len(text) else []
        shifted = [at - number for number, at in enumerate(breaks)]
        for last, length in self._search_joined(joined):
            first = last - length + 1
            start, end = first + bisect_right(shifted, first), last + bisect_right(shifted, last) + 1
            if end - start <= self._longest:
                yield start, end

    def _may_hold_value(self, joined: bytes) -> bool:
        if len(joined) <= _SHORT:
            return any(head in joined for head in self._heads)
        if self._pattern is None:
            self._pattern = compile_any_of(self._heads)
        return self._pattern.search(joined) is not None

    def _search_joined(self, joined: bytes) -> Iterator[tuple[int, int]]:
        if self._automaton is None:
            import ahocorasick  # only where a value may stand

            made = ahocorasick.Automaton()
            for form in self._forms:
                made.add_word(form.decode("latin-1"), len(form))
            made.make_automaton()
            self._automaton = made
        return self._automaton.iter(joined.decode("latin-1"))
