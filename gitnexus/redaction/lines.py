"""Masks secrets in a stream line by line. The output does not depend on how the input was cut into chunks."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from gitnexus.redaction.above import Above
from gitnexus.redaction.keyblock import LONGEST_REST, KeyBlock
from gitnexus.redaction.result import SecretLocation
from gitnexus.redaction.rules.identity import PRIVATE_KEY
from gitnexus.redaction.scan import find_spans, merge_spans
from gitnexus.redaction.span import SecretSpan
from gitnexus.redaction.words import any_rule_pattern

# A line is looked at as a whole up to this length; a longer one through windows of it, each half a window further.
WINDOW = 64 * 1024
_HALF = WINDOW // 2
_PIECE = 4 * WINDOW
# Where secrets were is kept for so many of them.
_MOST_PLACES = 10_000
# A secret that fills a window is hidden to its end.
_GOES_ON = re.compile(rb"[^\x00-\x20\"'`<>]*")


Search = Callable[[bytes], list[SecretSpan]]


class LineRedactor:
    """The state between chunks: at most a window of text, and the key or endless secret that is being left out."""

    def __init__(self, search: Search = find_spans, also: Search | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._filtered = search is find_spans
        self._search = (lambda line: search(line) + also(line)) if also else search
        self._above = Above()
        self.places: list[SecretLocation] = []
        self._pending = b""
        self._key_block: KeyBlock | None = None
        self._goes_on = False
        self._out: list[bytes] = []
        self._line_number = 1
        self._taken = 0  # bytes of the text, shown or hidden, until here

    def feed(self, data: bytes) -> bytes:
        """Return the output that is certain so far."""
        for at in range(0, len(data), _PIECE):
            self._redact_piece(data[at : at + _PIECE], last=False)
        return self._take_output()

    def finish(self) -> bytes:
        """Return the rest of the output."""
        self._redact_piece(b"", last=True)
        self._key_block, self._goes_on = None, False
        return self._take_output()

    def _take_output(self) -> bytes:
        out, self._out = b"".join(self._out), []
        return out

    def _redact_piece(self, data: bytes, last: bool) -> None:
        waiting = not (self._key_block or self._goes_on or last)
        fresh = b"\n" in data
        text = self._pending + data
        if waiting and not fresh and len(text) <= WINDOW:
            self._pending = text
            return
        at = 0
        while at < len(text):
            before = at, self._key_block, self._goes_on
            at = self._redact_next(text, at, last)
            if (at, self._key_block, self._goes_on) == before:
                break
        self._pending = b"" if last else text[at:]

    def _redact_next(self, text: bytes, at: int, last: bool) -> int:
        if self._key_block is not None:
            return self._skip_key_line(self._key_block, text, at, last)
        if self._goes_on:
            stop = _GOES_ON.match(text, at)
            end = stop.end() if stop else at
            self._extend_last_secret(end - at)
            self._goes_on = end == len(text)
            return end
        line_break = text.rfind(b"\n", at, at + WINDOW + 1)
        if line_break >= 0:
            return self._redact_whole_lines(text, at, line_break + 1)
        line_break = text.find(b"\n", at)
        if line_break >= 0 or last:
            return self._redact_line(text, at, line_break if line_break >= 0 else len(text), ended=True)
        return self._redact_line(text, at, len(text), ended=False)

    def _skip_key_line(self, block: KeyBlock, text: bytes, at: int, last: bool) -> int:
        """Skip the next line of a private key if it looks like key material; else end the block."""
        step = block.step(text, at, WINDOW, last=last)
        if step is None:
            return at
        self._extend_last_secret(step.hidden)
        if step.over:
            self._key_block, self._goes_on = None, step.goes_on
            if step.ends_line:
                self._extend_last_secret(-1)
                self._emit_plain(b"\n")
        return at + step.hidden

    def _redact_whole_lines(self, text: bytes, at: int, end: int) -> int:
        for start, stop in self._suspect_lines(text, at, end):
            self._emit_plain(text[at:start])
            at = self._redact_line(text, start, stop, ended=True)
            if self._key_block or self._goes_on:
                return at
        self._emit_plain(text[at:end])
        return end

    def _suspect_lines(self, text: bytes, at: int, end: int) -> Iterator[tuple[int, int]]:
        if not self._filtered:
            while at < end:
                stop = text.find(b"\n", at, end)
                yield at, stop
                at = stop + 1
            return
        pattern = any_rule_pattern()
        if at and text[at - 1] != 0x0A:
            # The rest of a line whose beginning was hidden: for the pattern, nothing begins where that ended.
            stop = text.find(b"\n", at, end)
            yield at, stop
            at = stop
        while at < end:
            if self._above.expects and (at == 0 or text[at - 1] == 0x0A):
                stop = text.find(b"\n", at, end)
                yield at, stop
                at = stop + 1
                continue
            hit = pattern.search(text, at, end)
            if hit is None:
                break
            inside = hit.span()[1] - 1
            start = text.rfind(b"\n", at, inside) + 1 or at
            stop = text.find(b"\n", inside, end)
            yield start, stop
            at = stop + 1 if self._above.expects else stop

    def _redact_line(self, text: bytes, at: int, end: int, ended: bool) -> int:
        while end - at > WINDOW:
            at = self._redact_window(text[at : at + WINDOW], at)
            if self._key_block or self._goes_on:
                return at
        if not ended:
            return at
        line = text[at:end]
        found = self._search(line) + self._above.spans(line)
        if _first_key_span(found) is not None:
            return at + self._hide_private_keys(line, found, len(line))
        self._emit_redacted(line, merge_spans(found, line), len(line))
        return end

    def _redact_window(self, window: bytes, at: int) -> int:
        found = self._search(window)
        if _first_key_span(found) is not None:
            return at + self._hide_private_keys(window, found, len(window) - LONGEST_REST)
        cut, hidden = _HALF, merge_spans(found, window)
        for span in hidden:
            if span.start < cut:
                cut = max(cut, span.end)
        while cut < len(window) and 0x80 <= window[cut] < 0xC0:
            cut += 1
        self._goes_on = cut >= len(window)
        self._emit_redacted(window, [span for span in hidden if span.start < cut], cut)
        return at + cut

    def _hide_private_keys(self, line: bytes, found: list[SecretSpan], most: int) -> int:
        """Remove the private keys of a line that begin before `most` and end in it; return the end of the last."""
        at, others = 0, []
        for span in sorted(found):
            if span.start < at:
                continue
            if span.rule != PRIVATE_KEY:
                others.append(span)
                continue
            before = [other._replace(end=min(other.end, span.start)) for other in others]
            self._emit_redacted(line, merge_spans(before, line), span.start, at)
            self._emit_mark(PRIVATE_KEY, span.end - span.start)
            block, at, others = KeyBlock(line[: span.start]), span.end, []
            step = block.step(line, at, WINDOW, last=True) if at <= most else None
            if step is None or not step.over or step.goes_on:
                self._key_block = KeyBlock(line[: span.start])
                break
            self._extend_last_secret(step.hidden)
            at += step.hidden
        return at

    def _emit_redacted(self, line: bytes, hidden: list[SecretSpan], end: int, at: int = 0) -> None:
        for span in hidden:
            self._emit_plain(line[at : span.start])
            self._emit_mark(span.rule, span.end - span.start)
            at = span.end
        self._emit_plain(line[at:end])

    def _emit_plain(self, piece: bytes) -> None:
        self._out.append(piece)
        self._line_number += piece.count(b"\n")
        self._taken += len(piece)

    def _emit_mark(self, rule: str, size: int) -> None:
        self._out.append(f"[{rule}]".encode())
        self.counts[rule] += 1
        if len(self.places) < _MOST_PLACES:
            self.places.append(SecretLocation(rule, self._line_number, size, self._taken))
        self._taken += size

    def _extend_last_secret(self, by: int) -> None:
        """Record that the last secret is longer than was known."""
        self._taken += by
        if by and self.places:
            self.places[-1] = self.places[-1].grown(by)


def _first_key_span(found: list[SecretSpan]) -> SecretSpan | None:
    return min((span for span in found if span.rule == PRIVATE_KEY), default=None)
