"""Selects the events of a log that count: what no known machine signed cannot stop, end or allow anything. Pure.

The caller passes in which events are unsigned claims. What an agent did and asked for is kept as recorded.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from gitnexus.events.model import Event

ENDS = ("run.finished", "run.cancelled", "run.landed")
_NO = ("permission.denied", "action.rejected")
_YES = "permission.granted"
_OF_CLONES = ("decision.contradicted", "decision.settled")
_JUDGED = "action.judged"


class Claimed(NamedTuple):
    """A range of a log that is only claimed: the events after `since`, up to `upto`."""

    since: int
    upto: int


def in_force(events: Iterable[Event], claimed: Sequence[Claimed]) -> Iterator[Event]:
    """Yield the events without unsigned decisions: what such a decision settled waits for an answer again.

    A claimed approval that was already acted on is kept: the commit is proved by its own token.
    """
    if not claimed:
        yield from events
        return
    all_ = list(events)
    begun = {event.body["action"] for event in all_ if event.kind == "tool.intended"}
    for event in all_:
        if not any(one.since < event.seq <= one.upto for one in claimed):
            yield event
        elif event.kind in (*ENDS, *_NO, *_OF_CLONES):
            continue
        elif event.kind in (_YES, _JUDGED) and event.body["action"] not in begun:
            if event.kind == _JUDGED:
                yield event._replace(body={**event.body, "verdict": "ask"})
        else:
            yield event
