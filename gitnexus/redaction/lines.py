"""Hide secrets in a stream by its lines: the same bytes come out however the stream was cut into chunks."""

import re
from collections import Counter
from collections.abc import Callable, Iterator

from gitnexus.redaction.rules.identity import KEY_ENDS, PRIVATE_KEY
from gitnexus.redaction.scan import Span, merged, spans
from gitnexus.redaction.words import anywhere

# A line is looked at as a whole up to this length; a longer one through windows of it, each half a window further.
WINDOW = 64 * 1024
_HALF = WINDOW // 2
_PIECE = 4 * WINDOW
_END = re.compile(KEY_ENDS.encode("ascii"))
_LONGEST_END = 128
# A secret that fills a window is hidden as far as it goes on.
_GOES_ON = re.compile(rb"[^\x00-\x20\"'`<>]*")


Search = Callable[[bytes], list[Span]]


class Lines:
    """The state between chunks: at most a window of text, and whether a key or an endless secret is being left out."""

    def __init__(self, search: Search = spans, also: Search | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._filtered = search is spans
        self._search = (lambda line: search(line) + also(line)) if also else search
        self._pending = b""
        self._in_key = False
        self._goes_on = False
        self._out: list[bytes] = []

    def feed(self, data: bytes) -> bytes:
        """Return what can be told so far."""
        for at in range(0, len(data), _PIECE):
            self._take(data[at : at + _PIECE], last=False)
        return self._told()

    def finish(self) -> bytes:
        """Return the rest. A key that has not ended by now stays hidden."""
        self._take(b"", last=True)
        self._in_key = self._goes_on = False
        return self._told()

    def _told(self) -> bytes:
        out, self._out = b"".join(self._out), []
        return out

    def _take(self, data: bytes, last: bool) -> None:
        waiting = not (self._in_key or self._goes_on or last)
        fresh = b"\n" in data
        text = self._pending + data
        if waiting and not fresh and len(text) <= WINDOW:
            self._pending = text
            return
        at = 0
        while at < len(text):
            before = at, self._in_key, self._goes_on
            at = self._step(text, at, last)
            if (at, self._in_key, self._goes_on) == before:
                break
        self._pending = b"" if last else text[at:]

    def _step(self, text: bytes, at: int, last: bool) -> int:
        if self._in_key:
            end = _END.search(text, at)
            self._in_key = end is None
            return end.end() if end else max(at, len(text) - _LONGEST_END)
        if self._goes_on:
            stop = _GOES_ON.match(text, at)
            at = stop.end() if stop else at
            self._goes_on = at == len(text)
            return at
        line_break = text.rfind(b"\n", at, at + WINDOW + 1)
        if line_break >= 0:
            return self._whole_lines(text, at, line_break + 1)
        line_break = text.find(b"\n", at)
        if line_break >= 0 or last:
            return self._line(text, at, line_break if line_break >= 0 else len(text), ended=True)
        return self._line(text, at, len(text), ended=False)

    def _whole_lines(self, text: bytes, at: int, end: int) -> int:
        for start, stop in self._suspects(text, at, end):
            self._out.append(text[at:start])
            at = self._line(text, start, stop, ended=True)
            if self._in_key or self._goes_on:
                return at
        self._out.append(text[at:end])
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
            if self._in_key or self._goes_on:
                return at
        if not ended:
            return at
        line = text[at:end]
        found = self._search(line)
        key = _first_key(found)
        if key is not None:
            return at + self._key(line, key)
        self._tell(line, merged(found, line), len(line))
        return end

    def _window(self, window: bytes, at: int) -> int:
        found = self._search(window)
        key = _first_key(found)
        if key is not None:
            return at + self._key(window, key)
        cut, hidden = _HALF, merged(found, window)
        for span in hidden:
            if span.start < cut:
                cut = max(cut, span.end)
        while cut < len(window) and 0x80 <= window[cut] < 0xC0:
            cut += 1
        self._goes_on = cut >= len(window)
        self._tell(window, [span for span in hidden if span.start < cut], cut)
        return at + cut

    def _key(self, line: bytes, key: Span) -> int:
        before = line[: key.start]
        self._tell(before, merged(self._search(before), before), len(before))
        self._out.append(f"[{PRIVATE_KEY}]".encode())
        self.counts[PRIVATE_KEY] += 1
        self._in_key = True
        return key.end

    def _tell(self, line: bytes, hidden: list[Span], end: int) -> None:
        at = 0
        for span in hidden:
            self._out += [line[at : span.start], f"[{span.rule}]".encode()]
            self.counts[span.rule] += 1
            at = span.end
        self._out.append(line[at:end])


def _first_key(found: list[Span]) -> Span | None:
    return min((span for span in found if span.rule == PRIVATE_KEY), default=None)
