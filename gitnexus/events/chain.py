"""Walks the hash chain of a log: each line holds the digest of the line before; the first names run and definition."""

from collections.abc import Iterator
from io import BytesIO
from typing import NamedTuple

from gitnexus.base.errors import Invalid, VerificationFailed
from gitnexus.events.model import Event, genesis_digest, parse_event_line, sha256_digest

FIRST = "workflow.started"


class LogHead(NamedTuple):
    """The last event of a log or a part of it; its digest covers everything before."""

    seq: int
    digest: str


class ChainLink(NamedTuple):
    """An event, the digest of its line, and the offset at which the line ends."""

    event: Event
    digest: str
    end: int


def walk_chain(raw: bytes, run: str, before: LogHead | None = None) -> Iterator[ChainLink]:
    """Yield the complete lines of `raw`; with `before`, `raw` is the part of a log after that event.

    A partial last line, or a last line that is not an event, is not yielded: a writer was stopped there, or is still
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
            event = parse_event_line(whole)
        except Invalid as exc:
            if end == size:
                return
            raise _broken_chain_error(run, seq, exc.message) from exc
        if event.seq != seq:
            raise _broken_chain_error(run, seq, f"it says it is event {event.seq}")
        if event.prev != prev or event.kind == FIRST:
            _check_first_event(event, run, prev)
        prev = sha256_digest(whole)
        yield tuple.__new__(ChainLink, (event, prev, end))


def iterate_event_lines(raw: bytes, run: str) -> Iterator[str]:
    """Yield the stored event lines, each a line of ASCII JSON. Raises: VerificationFailed."""
    start = 0
    for link in walk_chain(raw, run):
        yield raw[start : link.end - 1].decode("ascii")
        start = link.end


def _check_first_event(event: Event, run: str, prev: str) -> None:
    if event.seq > 1:
        why = (
            "a run begins only once" if event.prev == prev else "the line before it is not the one it was written after"
        )
        raise _broken_chain_error(run, event.seq, why)
    if event.kind != FIRST:
        raise _broken_chain_error(run, 1, f"a log begins with {FIRST}")
    named, definition = event.body.get("run"), event.body.get("definition")
    if named != run:
        raise _broken_chain_error(run, 1, "it is the log of another run")
    if event.prev != genesis_digest(run, str(definition)):
        raise _broken_chain_error(run, 1, "it does not fit its own definition")


def _broken_chain_error(run: str, line: int, why: str) -> VerificationFailed:
    return VerificationFailed(
        f"the log of {run} is broken at line {line}: {why}",
        hint="nothing was changed; the checkpoint on the run's ref holds the log as it was then",
        context={"run": run, "line": line},
    )
