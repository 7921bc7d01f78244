"""Limits the captured output of a command: keeps the beginning and the end, and counts the bytes in between."""

from collections.abc import Callable

from gitnexus.sandbox.spec import KeptOutput

Sink = Callable[[bytes], None]


class OutputKeeper:
    """Keeps the first and the last half of `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._half = limit // 2
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, piece: bytes) -> None:
        """Take what was read."""
        self.total += len(piece)
        room = self._half - len(self._head)
        if room > 0:
            self._head += piece[:room]
            piece = piece[room:]
        self._tail += piece
        if len(self._tail) > 4 * self._half + 65536:  # rarely, so that each byte is moved about once
            self._shorten_tail()

    def kept(self) -> KeptOutput:
        """Return what is left, with a line in the place of what was cut."""
        self._shorten_tail()
        cut = self.total - len(self._head) - len(self._tail)
        marker = f"\n[… {cut} bytes cut …]\n".encode() if cut else b""
        return KeptOutput(data=bytes(self._head) + marker + bytes(self._tail), total=self.total, cut=cut)

    def _shorten_tail(self) -> None:
        surplus = len(self._tail) - self._half
        if surplus > 0:
            del self._tail[:surplus]


class OutputPasser:
    """Hands the first `limit` bytes on to a sink, and counts the rest."""

    def __init__(self, limit: int, sink: Sink) -> None:
        self._limit = limit
        self._sink = sink
        self._told = False
        self.total = 0

    def feed(self, piece: bytes) -> None:
        """Take what was read."""
        room = self._limit - self.total
        self.total += len(piece)
        if room > 0:
            self._sink(piece[:room])
        if self.total > self._limit and not self._told:
            self._told = True
            self._sink(f"\n[… cut after {self._limit} bytes …]\n".encode())

    def kept(self) -> KeptOutput:
        """Return the size of the output, none of which is stored here."""
        return KeptOutput(total=self.total, cut=max(0, self.total - self._limit))
