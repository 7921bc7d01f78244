"""What a program's tool call comes to under the law in force: requests for the gate, and the strictest of its answers.

Nothing is executed here, and nothing is confined: the program does it itself, as the person who started it. So a
command is judged as one without a sandbox and with the network, unless it is one of those that only look.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from gitnexus.app.court import ORDER, Court, Finding
from gitnexus.app.gatememo import Known, Memo, Place, marks, stamp
from gitnexus.app.harnessgate import asking, no_opinion
from gitnexus.app.judgefiles import outside, patch_of, reading, shaped, unplanned, writing
from gitnexus.app.judgerole import limited
from gitnexus.app.judgeshell import commanded
from gitnexus.app.keepers import open_state
from gitnexus.base.text import one_line
from gitnexus.git import discover
from gitnexus.harness.calls import Call, Mcp, Network, Patched, Reads, Shell, Subagent, Unknown, Writes
from gitnexus.harness.model import Answer, Happening
from gitnexus.policy.model import Decision, HandoffRequest, NetworkRequest, Request
from gitnexus.state import State

SERVER, PLUGIN_SERVER = "nexus", "plugin_git-nexus_nexus"
# Two underscores are between a server and its tool: a name that has them may be of another server.
_TOOL = re.compile(r"nx(?:_[a-z]+)+")
_RUN_TOOLS = frozenset("propose_patch propose_command handoff ask read search diff status wait".split())


@dataclass(slots=True)
class Judged:
    """What the whole call comes to: the strictest finding, the request that a person would approve, and disk facts."""

    finding: Finding
    request: Request | None = None
    facts: list[tuple[str, str, str]] = field(default_factory=list)


def answered(told: Happening, call: Call, place: Place, memo: Memo, key: str) -> Answer:
    """Return the answer to a call that nobody remembers. Raises: NexusError, OSError."""
    state = open_state(discover(Path(place.top)))
    try:
        _take_in(state, place, memo)
        tip = memo.tip()
        state.required()
        court = Court(state, told, place)
        found = judged_call(court, call)
        key = key if court.is_kept else ""
        verdict, why = found.finding.verdict, found.finding.why
        if verdict != "ask":
            if key and tip and tip == state.snapshot.commit and not found.finding.rule.startswith("grant."):
                memo.keep(key, court.law(), tip, Known(verdict, why, tuple(found.facts)))
            return no_opinion(told) if verdict == "" else Answer(verdict=verdict, reason=why)
        from gitnexus.app.sessions import asked, marks_of  # only what asks is written down

        before = marks_of(state, told, call, place)
        answer = asked(state, told, call, place, found.request, _decision_of(court, found))
        # If anything happened meanwhile, as by the question itself, it is asked once more before it is remembered.
        if key and tip and answer.verdict != "allow" and before == marks_of(state, told, call, place):
            known = Known(answer.verdict, answer.reason, (*found.facts, *before))
            memo.keep_waiting(asking(told, call, key), court.law(), tip, known)
        return answer
    finally:
        state.close()


def _take_in(state: State, place: Place, memo: Memo) -> None:
    """Take what a person edited by hand into the state, for the law is made of it: also one that is broken now."""
    if place.run or memo.is_settled(place.top):
        return
    from gitnexus.app.open import settled  # only after an edit

    seen = marks(place.top)
    if not settled(state).postponed:
        memo.settled(place.top, seen)


def judged_call(court: Court, call: Call) -> Judged:
    """Return what a call comes to."""
    refused = limited(court, call)
    findings, request = ([refused], None) if refused is not None else _found(court, call)
    worst = max(findings, key=lambda one: ORDER[one.verdict], default=Finding("", ""))
    if worst.verdict == "ask" and _is_of_the_run(court, call):
        worst = Finding("", "")
    elif worst.verdict == "ask" and _asks_nobody(court):
        worst = Finding("allow", "the mode is bypass, and nothing denies it", "mode.bypass")
    return Judged(worst, request, court.facts)


def _found(court: Court, call: Call) -> tuple[list[Finding], Request | None]:
    """Return all that is found about a call, and what a person would approve."""
    request: Request | None = None
    findings: list[Finding] = []
    match call:
        case Reads():
            findings = [*reading(court, call)]
        case Writes() | Patched():
            request = patch_of(court, call)
            findings = [*shaped(court, call), *unplanned(court), *writing(court, request), *outside(court, call)]
        case Shell():
            findings, request = commanded(court, call)
        case Network():
            request = NetworkRequest(**court.common(), hosts=call.hosts, purpose=one_line(court.told.tool, 80))
            findings = [court.decided(request)]
        case Subagent():
            findings = [_handed(court, call)] if call.role else []
        case Mcp():
            findings = [_served(court, call)]
        case Unknown():
            findings = [Finding("ask", f"nobody knows what it does: {call.why}")]
        case _:
            pass
    return findings, request


def _asks_nobody(court: Court) -> bool:
    return court.here.law.mode == "bypass" and court.here.law.bypass


def _is_of_the_run(court: Court, call: Call) -> bool:
    """True for what is written in the worktree of a run: it is proposed as its patch, and judged then."""
    if not court.place.run or not isinstance(call, (Writes, Patched)):
        return False
    return not any(outside(court, call))


def _decision_of(court: Court, found: Judged) -> Decision:
    """Return the gate's answer to what is asked about, in the words of the strictest finding."""
    last = court.last
    rule = found.finding.rule or "harness"
    risk, tags = (last.risk, last.tags) if last else (2, ())
    return Decision(verdict="ask", rule=rule, why=found.finding.why, risk=risk, tags=tags)


def _handed(court: Court, call: Subagent) -> Finding:
    request = HandoffRequest(
        **court.common(), workflow="", sender=court.role or "lead", receiver=call.role, message_digest=""
    )
    found = court.decided(request)
    # To start an agent does nothing yet: each of its calls is judged. Only a rule about it counts.
    return Finding("", "") if found.rule == "silence" else found


def _served(court: Court, call: Mcp) -> Finding:
    if is_ours(call):
        from gitnexus.app.ourserver import why_not_ours  # reads the program's files: only our own name pays

        in_run = bool(court.place.run)
        why, files = why_not_ours(court.told.harness, call.server, court.place.top, in_run=in_run)
        court.facts += [("stamp", file, stamp(file)) for file in files]
        if not why:
            return Finding("allow", "our own server judges it", "harness.ours")
        return Finding("ask", why, "harness.mcp")
    why = f"the server {one_line(call.server, 60)} is not ours, and its tools are in no table"
    return Finding("ask", why, "harness.mcp")


def is_ours(call: Mcp) -> bool:
    """True for a tool of ours on a server that bears our name, as it is installed or as our plug-in names it."""
    named = call.server in (SERVER, PLUGIN_SERVER)
    return named and (_TOOL.fullmatch(call.tool) is not None or call.tool in _RUN_TOOLS)
