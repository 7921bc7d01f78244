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
    "session_start": "gitnexus.app.harnessstart:started",
    "user_message": "gitnexus.app.harnesstalk:spoken_to",
    "subagent_spawn": "gitnexus.app.harnessagents:began",
    "post_tool_use": "gitnexus.harness.used:used",
    "subagent_complete": "gitnexus.app.harnessagents:finished",
    "context_compact": "gitnexus.harness.snapshot:compacted",
    "session_end": "gitnexus.harness.end:ended",
}
_LARGEST = 16 * 1024 * 1024
_TOLD = 500


class _TooLate(BaseException):
    """Not an Exception: nobody on the way may take it for a failure of their own and go on."""

    message = f"it took more than {OTHER_SECONDS:g} seconds"


def run_harness_hook(args: list[str]) -> int:
    """Answer a program about one event, in its own words; return the exit status.

    The gate stays shut whatever happens: only status 2 blocks a tool in every program. Anything else is bookkeeping and
    never breaks a session: a failure is told, and the status is 0.
    """
    if len(args) != 2 or args[1] not in EVENTS:
        sys.stderr.write(f"git nexus: hook harness takes a harness and one of {', '.join(EVENTS)}\n")
        # Elsewhere 2 would take a tool's answer away from the agent, or a message from the person.
        return 2 if _GATE in args else 1
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
    told = _heard(speech, event, sys.stdin.buffer.read(_LARGEST + 1))
    answer = _handled(told)
    if told.tool in speech.delegates and event in ("pre_tool_use", "post_tool_use"):
        answer = _delegated(speech, told, answer)
    return speech.spoken(told, answer)


def _heard(speech: "Speech", event: Event, raw: bytes) -> "Happening":
    from gitnexus.base.errors import Invalid

    if len(raw) > _LARGEST:
        raise Invalid(f"what the program sent is larger than {_LARGEST // 2**20} MiB")
    payload = _strict(raw) if event == _GATE else _lenient(raw)
    if not isinstance(payload, dict):
        raise Invalid("what the program sent should be an object")
    return speech.heard(event, payload)


def _strict(raw: bytes) -> object:
    """What two readers could understand differently is not judged."""
    from gitnexus.base.canonical import parse

    return parse(raw)


def _lenient(raw: bytes) -> object:
    """The answer of a tool may hold anything; what is only written down is taken as it can be."""
    import json

    from gitnexus.base.errors import Invalid

    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as exc:
        raise Invalid(f"not valid JSON: {exc}") from exc


def _handled(told: "Happening") -> Answer:
    from importlib import import_module

    module, _, name = _HANDLERS[told.event].partition(":")
    handler: Callable[[Happening], Answer] = getattr(import_module(module), name)
    return handler(told)


def _delegated(speech: "Speech", told: "Happening", answer: Answer) -> Answer:
    """Note that a tool starts a sub-agent, or has ended one, where the program has no event of its own for it.

    This is bookkeeping beside a verdict, or beside what a tool gave: neither is lost if it fails.
    """
    role, brief = (str(told.given.get(field) or "") for field in speech.delegates[told.tool])
    if told.event == _GATE and answer.verdict not in ("", "allow"):
        return answer
    event: Event = "subagent_spawn" if told.event == _GATE else "subagent_complete"
    agent_id = speech.ended(told) if told.event != _GATE else "" if not speech.events[event] else None
    try:
        if agent_id is not None:
            words = brief if event == "subagent_spawn" else ""
            more = _handled(told._replace(event=event, agent=role, agent_id=agent_id, text=words))
            return answer._replace(context="\n\n".join(part for part in (answer.context, more.context) if part))
        if told.event == _GATE:
            from gitnexus.app.harnessagents import remembered

            remembered(told, role, brief)
    except Exception as exc:  # noqa: BLE001 - see above
        sys.stderr.write(f"{_failed(event, exc).err}\n")
    return answer


def _alarm(event: Event) -> None:
    def late(_signum: int, _frame: "FrameType | None") -> NoReturn:
        if event == _GATE:
            # Straight out: no handler on the way up, and no lock that is let go of late, keeps the answer back.
            os.write(2, b"git nexus: refused: this could not be judged in time\n")
            os._exit(2)
        raise _TooLate

    signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, GATE_SECONDS if event == _GATE else OTHER_SECONDS)


def _failed(event: Event, exc: BaseException) -> Spoken:
    """Return what a failure means for the program: needs nothing of it, for the failure may be that there is none."""
    from gitnexus.base.text import one_line

    words = getattr(exc, "message", None) or f"{type(exc).__name__}: {exc}"
    if event == _GATE:
        return Spoken(err=f"git nexus: refused: this could not be judged: {one_line(str(words), _TOLD)}", status=2)
    return Spoken(err=f"git nexus: {event} was left undone: {one_line(str(words), _TOLD)}")
