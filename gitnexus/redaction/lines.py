"""Hide secrets in a stream by its lines: the same bytes come out however the stream was cut into chunks."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from gitnexus.redaction.keyblock import LONGEST_REST, KeyBlock
from gitnexus.redaction.result import Place
from gitnexus.redaction.rules.identity import PRIVATE_KEY
from gitnexus.redaction.scan import Span, merged, spans
from gitnexus.redaction.words import anywhere

# A line is looked at as a whole up to this length; a longer one through windows of it, each half a window further.
WINDOW = 64 * 1024
_HALF = WINDOW // 2
_PIECE = 4 * WINDOW
# Where secrets were is kept for so many of them.
_MOST_PLACES = 10_000
# A secret that fills a window is hidden as far as it goes on.
_GOES_ON = re.compile(rb"[^\x00-\x20\"'`<>]*")


Search = Callable[[bytes], list[Span]]


class Lines:
    """The state between chunks: at most a window of text, and the key or the endless secret that is being left out."""

    def __init__(self, search: Search = spans, also: Search | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._filtered = search is spans
        self._search = (lambda line: search(line) + also(line)) if also else search
        self.places: list[Place] = []
        self._pending = b""
        self._key_block: KeyBlock | None = None
        self._goes_on = False
        self._out: list[bytes] = []
        self._line_number = 1
        self._taken = 0  # bytes of the text, shown or hidden, until here

    def feed(self, data: bytes) -> bytes:
        """Return what can be told so far."""
        for at in range(0, len(data), _PIECE):
            self._take(data[at : at + _PIECE], last=False)
        return self._told()

    def finish(self) -> bytes:
        """Return the rest."""
        self._take(b"", last=True)
        self._key_block, self._goes_on = None, False
        return self._told()

    def _told(self) -> bytes:
        out, self._out = b"".join(self._out), []
        return out

    def _take(self, data: bytes, last: bool) -> None:
        waiting = not (self._key_block or self._goes_on or last)
        fresh = b"\n" in data
        text = self._pending + data
        if waiting and not fresh and len(text) <= WINDOW:
            self._pending = text
            return
        at = 0
        while at < len(text):
            before = at, self._key_block, self._goes_on
            at = self._step(text, at, last)
            if (at, self._key_block, self._goes_on) == before:
                break
        self._pending = b"" if last else text[at:]

    def _step(self, text: bytes, at: int, last: bool) -> int:
        if self._key_block is not None:
            return self._in_key_block(self._key_block, text, at, last)
        if self._goes_on:
            stop = _GOES_ON.match(text, at)
            end = stop.end() if stop else at
            self._grow(end - at)
            self._goes_on = end == len(text)
            return end
        line_break = text.rfind(b"\n", at, at + WINDOW + 1)
        if line_break >= 0:
            return self._whole_lines(text, at, line_break + 1)
        line_break = text.find(b"\n", at)
        if line_break >= 0 or last:
            return self._line(text, at, line_break if line_break >= 0 else len(text), ended=True)
        return self._line(text, at, len(text), ended=False)

    def _in_key_block(self, block: KeyBlock, text: bytes, at: int, last: bool) -> int:
        """Leave out the next line of a private key, if it looks like one; else the block is over."""
        step = block.step(text, at, WINDOW, last=last)
        if step is None:
            return at
        self._grow(step.hidden)
        if step.over:
            self._key_block, self._goes_on = None, step.goes_on
            if step.ends_line:
                self._grow(-1)
                self._emit(b"\n")
        return at + step.hidden

    def _whole_lines(self, text: bytes, at: int, end: int) -> int:
        for start, stop in self._suspects(text, at, end):
            self._emit(text[at:start])
            at = self._line(text, start, stop, ended=True)
            if self._key_block or self._goes_on:
                return at
        self._emit(text[at:end])
        return end

    def _suspects(self, text: bytes, at: int, end: int) -> Iterator[tuple[int, int]]:
        if not self._filtered:
            while at < end:
                stop = text.find(b"\n", at, end)
                yield at, stop
                at = stop + 1
            return
        pattern = anywhere()
        if at and text[at - 1] != 0x0A:
            # The rest of a line whose beginning was hidden: for the pattern, nothing begins where that ended.
            stop = text.find(b"\n", at, end)
            yield at, stop
            at = stop
        while (hit := pattern.search(text, at, end)) is not None:
            inside = hit.span()[1] - 1
            start = text.rfind(b"\n", at, inside) + 1 or at
            stop = text.find(b"\n", inside, end)
            yield start, stop
            at = stop

    def _line(self, text: bytes, at: int, end: int, ended: bool) -> int:
        while end - at > WINDOW:
            at = self._window(text[at : at + WINDOW], at)
            if self._key_block or self._goes_on:
                return at
        if not ended:
            return at
        line = text[at:end]
        found = self._search(line)
        if _first_key(found) is not None:
            return at + self._keys(line, found, len(line))
        self._tell(line, merged(found, line), len(line))
        return end

    def _window(self, window: bytes, at: int) -> int:
        found = self._search(window)
        if _first_key(found) is not None:
            return at + self._keys(window, found, len(window) - LONGEST_REST)
        cut, hidden = _HALF, merged(found, window)
        for span in hidden:
            if span.start < cut:
                cut = max(cut, span.end)
        while cut < len(window) and 0x80 <= window[cut] < 0xC0:
            cut += 1
        self._goes_on = cut >= len(window)
        self._tell(window, [span for span in hidden if span.start < cut], cut)
        return at + cut

    def _keys(self, line: bytes, found: list[Span], most: int) -> int:
        """Leave out the private keys of a line that begin before `most` and end in it; return how far that went."""
        at, others = 0, []
        for span in sorted(found):
            if span.start < at:
                continue
            if span.rule != PRIVATE_KEY:
                others.append(span)
                continue
            before = [other._replace(end=min(other.end, span.start)) for other in others]
            self._tell(line, merged(before, line), span.start, at)
            self._hide(PRIVATE_KEY, span.end - span.start)
            block, at, others = KeyBlock(line[: span.start]), span.end, []
            step = block.step(line, at, WINDOW, last=True) if at <= most else None
            if step is None or not step.over or step.goes_on:
                self._key_block = KeyBlock(line[: span.start])
                break
            self._grow(step.hidden)
            at += step.hidden
        return at

    def _tell(self, line: bytes, hidden: list[Span], end: int, at: int = 0) -> None:
        for span in hidden:
            self._emit(line[at : span.start])
            self._hide(span.rule, span.end - span.start)
            at = span.end
        self._emit(line[at:end])

    def _emit(self, piece: bytes) -> None:
        self._out.append(piece)
        self._line_number += piece.count(b"\n")
        self._taken += len(piece)

    def _hide(self, rule: str, size: int) -> None:
        self._out.append(f"[{rule}]".encode())
        self.counts[rule] += 1
        if len(self.places) < _MOST_PLACES:
            self.places.append(Place(rule, self._line_number, size, self._taken))
        self._taken += size

    def _grow(self, by: int) -> None:
        """Note that the last secret is longer than was known."""
        self._taken += by
        if by and self.places:
            self.places[-1] = self.places[-1].grown(by)


def _first_key(found: list[Span]) -> Span | None:
    return min((span for span in found if span.rule == PRIVATE_KEY), default=None)
