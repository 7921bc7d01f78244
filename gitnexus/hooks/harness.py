"""`git nexus hook harness H EVENT`: what the hooks of a harness call, with what happened as JSON on stdin.

Nothing here may cost much: it runs after every tool. What a handler needs is imported by that handler.
"""

import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

from gitnexus.harness.model import EVENTS, GATE_SECONDS, OTHER_SECONDS, Answer, Event, Spoken

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from gitnexus.harness.model import Happening, Speech

_GATE = "pre_tool_use"
# Who answers each event: strings, so that one event imports what it needs and nothing of the others.
_HANDLERS: dict[Event, str] = {
    "pre_tool_use": "gitnexus.app.harnessgate:judged",
    "post_tool_use": "gitnexus.harness.used:used",
}
_LARGEST = 16 * 1024 * 1024
_TOLD = 500


class _TooLate(BaseException):
    """Not an Exception: nobody on the way may take it for a failure of their own and go on."""


def run_harness_hook(args: list[str]) -> int:
    """Answer a program about one event, in its own words; return the exit status.

    The gate stays shut whatever happens: only status 2 blocks a tool in every program. Anything else is bookkeeping and
    never breaks a session: a failure is told, and the status is 0.
    """
    if len(args) != 2 or args[1] not in EVENTS:
        sys.stderr.write(f"git nexus: hook harness takes a harness and one of {', '.join(EVENTS)}\n")
        return 1  # not 2: that would take a tool's answer away from the agent
    harness, event = args[0], EVENTS[EVENTS.index(args[1])]
    try:
        _alarm(event)
        spoken = _answered(harness, event)
        sys.stdout.buffer.write(spoken.out)
        sys.stdout.buffer.flush()
    except (Exception, _TooLate) as exc:  # noqa: BLE001 - whatever it is: a gate stays shut, a session goes on
        spoken = _failed(event, exc)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if spoken.err:
        sys.stderr.write(spoken.err.rstrip("\n") + "\n")
    return spoken.status


def _answered(harness: str, event: Event) -> Spoken:
    from gitnexus.harness.speech.table import speech_of

    speech = speech_of(harness)
    happening = _heard(speech, event, sys.stdin.buffer.read(_LARGEST + 1))
    return speech.spoken(happening, _handled(happening))


def _heard(speech: "Speech", event: Event, raw: bytes) -> "Happening":
    from gitnexus.base.canonical import parse
    from gitnexus.base.errors import Invalid

    if len(raw) > _LARGEST:
        raise Invalid(f"what the program sent is larger than {_LARGEST // 2**20} MiB")
    payload = parse(raw)
    if not isinstance(payload, dict):
        raise Invalid("what the program sent should be an object")
    return speech.heard(event, payload)


def _handled(happening: "Happening") -> Answer:
    from importlib import import_module

    if happening.event not in _HANDLERS:
        return Answer()
    module, _, name = _HANDLERS[happening.event].partition(":")
    handler: Callable[[Happening], Answer] = getattr(import_module(module), name)
    return handler(happening)


def _alarm(event: Event) -> None:
    def late(_signum: int, _frame: "FrameType | None") -> NoReturn:
        seconds = GATE_SECONDS if event == _GATE else OTHER_SECONDS
        if event == _GATE:
            # Straight out: no handler on the way up, and no lock that is let go of late, keeps the answer back.
            os.write(2, b"git nexus: refused: this could not be judged in time\n")
            os._exit(2)
        raise _TooLate(f"it took more than {seconds:g} seconds")

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, GATE_SECONDS if event == _GATE else OTHER_SECONDS)


def _failed(event: Event, exc: BaseException) -> Spoken:
    """Return what a failure means for the program: needs nothing of it, for the failure may be that there is none."""
    from gitnexus.base.text import one_line

    words = getattr(exc, "message", None) or f"{type(exc).__name__}: {exc}"
    if event == _GATE:
        return Spoken(err=f"git nexus: refused: this could not be judged: {one_line(str(words), _TOLD)}", status=2)
    return Spoken(err=f"git nexus: {event} was left undone: {one_line(str(words), _TOLD)}")
