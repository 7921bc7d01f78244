"""The chain: each line names the digest of the one before; the first names its run and definition."""

from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple

from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.events.model import Event, digest, from_line, genesis

FIRST = "workflow.started"


class Head(NamedTuple):
    """The last event of a log, or of a part of it: all that is before hangs on the digest."""

    seq: int
    digest: str


class Link(NamedTuple):
    """An event, the digest of its line, and where the line ends in what was read."""

    event: Event
    digest: str
    end: int


def walk(raw: bytes, run: str, before: Head | None = None) -> Iterator[Link]:
    """Yield the whole lines of `raw`; with `before` it is the part of a log that follows that event.

    Half a line at the end, or a last line that is no event, is not yielded: a writer was stopped there, or is still
    writing. Raises: VerificationFailed, naming the line.
    """
    seq, prev = before or (0, "")
    end, size = 0, len(raw)
    # Read to the byte \n and nothing else: text has many more line ends than a log.
    for line in BytesIO(raw):
        seq += 1
        end += len(line)
        whole = line[:-1]
        if line[-1:] != b"\n":
            return
        try:
            event = from_line(whole)
        except Invalid as exc:
            if end == size:
                return
            raise _broken(run, seq, exc.message) from exc
        if event.seq != seq:
            raise _broken(run, seq, f"it says it is event {event.seq}")
        if event.prev != prev or event.kind == FIRST:
            _check_first(event, run, prev)
        prev = digest(whole)
        yield tuple.__new__(Link, (event, prev, end))


def lines(raw: bytes, run: str) -> Iterator[str]:
    """Yield the events as they are written, each a line of JSON in ASCII. Raises: VerificationFailed."""
    start = 0
    for link in walk(raw, run):
        yield raw[start : link.end - 1].decode("ascii")
        start = link.end


def _check_first(event: Event, run: str, prev: str) -> None:
    if event.seq > 1:
        why = (
            "a run begins only once" if event.prev == prev else "the line before it is not the one it was written after"
        )
        raise _broken(run, event.seq, why)
    if event.kind != FIRST:
        raise _broken(run, 1, f"a log begins with {FIRST}")
    named, definition = event.body.get("run"), event.body.get("definition")
    if named != run:
        raise _broken(run, 1, "it is the log of another run")
    if event.prev != genesis(run, str(definition)):
        raise _broken(run, 1, "it does not fit its own definition")


def _broken(run: str, line: int, why: str) -> VerificationFailed:
    return VerificationFailed(
        f"the log of {run} is broken at line {line}: {why}",
        hint="nothing was changed; the checkpoint on the run's ref holds the log as it was then",
        context={"run": run, "line": line},
    )
