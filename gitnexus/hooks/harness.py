"""`git nexus hook harness H EVENT`: handles a hook event of a harness; reads JSON from stdin and prints the answer.

This must be fast, because it runs after every tool call. Each handler imports what it needs.
"""

import json
import os
import signal
import sys
from importlib import import_module
from typing import TYPE_CHECKING, NoReturn

from gitnexus.base.errors import Invalid
from gitnexus.harness.model import EVENTS, GATE_SECONDS, OTHER_SECONDS, Event, HookAnswer, HookOutput
from gitnexus.harness.protocols.table import load_harness_protocol

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from gitnexus.harness.model import HarnessEvent, HarnessProtocol

_GATE = "pre_tool_use"
# Who answers each event: strings, so that one event imports what it needs and nothing of the others.
_HANDLERS: dict[Event, str] = {
    "pre_tool_use": "gitnexus.toolgate.gate:answer_tool_call",
    "session_start": "gitnexus.hooks.harness_session:handle_session_start",
    "user_message": "gitnexus.hooks.harness_message:handle_user_message",
    "subagent_spawn": "gitnexus.hooks.harness_subagents:handle_subagent_start",
    "post_tool_use": "gitnexus.harness.post_tool_use:handle_tool_use",
    "subagent_complete": "gitnexus.hooks.harness_subagents:handle_subagent_end",
    "context_compact": "gitnexus.harness.snapshot:handle_compaction",
    "session_end": "gitnexus.harness.end:handle_session_end",
}
_LARGEST = 16 * 1024 * 1024
_TOLD = 500


class _TooLate(BaseException):
    """The time limit was reached. Not an Exception, so that no `except` on the way takes it for its own failure."""

    message = f"it took more than {OTHER_SECONDS:g} seconds"


def run_harness_hook(args: list[str]) -> int:
    """Answer one event of a program in its own format; return the exit status.

    The gate blocks on any failure: only status 2 blocks a tool in every program. Any other event is bookkeeping and
    never breaks a session: a failure is reported, and the status is 0.
    """
    if len(args) != 2 or args[1] not in EVENTS:
        sys.stderr.write(f"git nexus: hook harness takes a harness and one of {', '.join(EVENTS)}\n")
        # Elsewhere 2 would take a tool's answer away from the agent, or a message from the person.
        return 2 if _GATE in args else 1
    harness, event = args[0], EVENTS[EVENTS.index(args[1])]
    try:
        _set_time_limit(event)
        spoken = _answer_event(harness, event)
        sys.stdout.buffer.write(spoken.out)
        sys.stdout.buffer.flush()
    except (Exception, _TooLate) as exc:  # noqa: BLE001 - whatever it is: a gate stays shut, a session goes on
        spoken = _output_for_failure(event, exc)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    if spoken.err:
        sys.stderr.write(spoken.err.rstrip("\n") + "\n")
    return spoken.status


def _answer_event(harness: str, event: Event) -> HookOutput:
    protocol = load_harness_protocol(harness)
    told = _parse_payload(protocol, event, sys.stdin.buffer.read(_LARGEST + 1))
    answer = _call_handler(told)
    if told.tool in protocol.delegates and event in ("pre_tool_use", "post_tool_use"):
        answer = _track_delegation(protocol, told, answer)
    return protocol.render_answer(told, answer)


def _parse_payload(protocol: "HarnessProtocol", event: Event, raw: bytes) -> "HarnessEvent":
    if len(raw) > _LARGEST:
        raise Invalid(f"what the program sent is larger than {_LARGEST // 2**20} MiB")
    payload = _parse_strict_json(raw) if event == _GATE else _parse_lenient_json(raw)
    if not isinstance(payload, dict):
        raise Invalid("what the program sent should be an object")
    return protocol.heard(event, payload)


def _parse_strict_json(raw: bytes) -> object:
    """Parse the input of the gate; JSON that two parsers could read differently is refused."""
    from gitnexus.base.canonical import parse_json

    return parse_json(raw)


def _parse_lenient_json(raw: bytes) -> object:
    """Parse the input of a bookkeeping event, whose tool output may contain anything."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as exc:
        raise Invalid(f"not valid JSON: {exc}") from exc


def _call_handler(told: "HarnessEvent") -> HookAnswer:
    module, _, name = _HANDLERS[told.event].partition(":")
    handler: Callable[[HarnessEvent], HookAnswer] = getattr(import_module(module), name)
    return handler(told)


def _track_delegation(protocol: "HarnessProtocol", told: "HarnessEvent", answer: HookAnswer) -> HookAnswer:
    """Record that a tool starts or has ended a sub-agent, if the program has no separate event for that.

    This is bookkeeping beside the answer of the gate or the tool: a failure loses neither.
    """
    role, brief = (str(told.given.get(field) or "") for field in protocol.delegates[told.tool])
    if told.event == _GATE and answer.verdict not in ("", "allow"):
        return answer
    event: Event = "subagent_spawn" if told.event == _GATE else "subagent_complete"
    agent_id = protocol.ended(told) if told.event != _GATE else "" if not protocol.events[event] else None
    try:
        if agent_id is not None:
            words = brief if event == "subagent_spawn" else ""
            more = _call_handler(told._replace(event=event, agent=role, agent_id=agent_id, text=words))
            return answer._replace(context="\n\n".join(part for part in (answer.context, more.context) if part))
        if told.event == _GATE:
            from gitnexus.hooks.harness_subagents import remember_agent_brief

            remember_agent_brief(told, role, brief)
    except Exception as exc:  # noqa: BLE001 - see above
        sys.stderr.write(f"{_output_for_failure(event, exc).err}\n")
    return answer


def _set_time_limit(event: Event) -> None:
    def on_alarm(_signum: int, _frame: "FrameType | None") -> NoReturn:
        if event == _GATE:
            # Straight out: no handler on the way up, and no lock that is let go of late, keeps the answer back.
            os.write(2, b"git nexus: refused: this could not be judged in time\n")
            os._exit(2)
        raise _TooLate

    signal.signal(signal.SIGALRM, on_alarm)
    signal.setitimer(signal.ITIMER_REAL, GATE_SECONDS if event == _GATE else OTHER_SECONDS)


def _output_for_failure(event: Event, exc: BaseException) -> HookOutput:
    """Return the output for a failure; it does not depend on the program's table row, which may be missing."""
    from gitnexus.base.text import one_line

    words = getattr(exc, "message", None) or f"{type(exc).__name__}: {exc}"
    if event == _GATE:
        return HookOutput(err=f"git nexus: refused: this could not be judged: {one_line(str(words), _TOLD)}", status=2)
    return HookOutput(err=f"git nexus: {event} was skipped: {one_line(str(words), _TOLD)}")
