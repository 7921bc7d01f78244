"""Judges a tool call under the policy in force: builds requests, and returns the gate's strictest decision.

Nothing is executed or confined here: the program acts itself, as the user who started it. So a command is judged as one
without a sandbox and with network, unless it only reads.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

from gitnexus.base.file_stamp import file_stamp
from gitnexus.base.text import one_line
from gitnexus.git import discover
from gitnexus.harness.calls import (
    Call,
    McpCall,
    NetworkCall,
    PatchCall,
    ReadCall,
    ShellCall,
    SubagentCall,
    UnknownCall,
    WriteCall,
)
from gitnexus.harness.model import HarnessEvent, HookAnswer, answer_no_opinion
from gitnexus.harness.touched import storable
from gitnexus.policy.model import GateDecision, HandoffRequest, NetworkRequest, Request
from gitnexus.projects.open_state import open_state
from gitnexus.state import State
from gitnexus.state.locate import ProjectLocation
from gitnexus.toolgate.cache import (
    AnswerCache,
    CachedAnswer,
    policy_file_stamps,
    question_cache_key,
)
from gitnexus.toolgate.context import ORDER, CallFinding, JudgeContext
from gitnexus.toolgate.files import (
    judge_git_shapes,
    judge_missing_task,
    judge_outside_writes,
    judge_patch,
    judge_reads,
    patch_request_from_call,
)
from gitnexus.toolgate.roles import refusal_by_role
from gitnexus.toolgate.shell import judge_shell_call

SERVER, PLUGIN_SERVER = "nexus", "plugin_git-nexus_nexus"
# Two underscores separate server and tool: a name that contains them may belong to another server.
_TOOL = re.compile(r"nx(?:_[a-z][a-z0-9]*)+")
_RUN_TOOLS = frozenset("propose_patch propose_command handoff ask read search diff status wait".split())


@dataclass(slots=True)
class CallJudgement:
    """The result for a call: the strictest finding, the request that a person would approve, and disk facts."""

    finding: CallFinding
    request: Request | None = None
    facts: list[tuple[str, str, str]] = field(default_factory=list)


def judge_and_answer(
    event: HarnessEvent, call: Call, location: ProjectLocation, memo: AnswerCache, key: str
) -> HookAnswer:
    """Judge a call that is not cached and return the answer. Raises: NexusError, OSError."""
    state = open_state(discover(Path(location.top)))
    try:
        _take_in_edits(state, location, memo)
        tip = memo.tip()
        state.required()
        context = JudgeContext(state, event, location)
        found = judge_call(context, call)
        key = key if context.is_kept else ""
        verdict, why = found.finding.verdict, found.finding.why
        if verdict != "ask":
            if key and tip and tip == state.snapshot.commit and not found.finding.rule.startswith("grant."):
                memo.keep(key, context.policy_sources(), tip, CachedAnswer(verdict, why, tuple(found.facts)))
            return answer_no_opinion(event) if verdict == "" else HookAnswer(verdict=verdict, reason=storable(why))
        from gitnexus.toolgate.approvals import answer_from_approvals, freshness_facts  # only questions are logged

        before = freshness_facts(state, event, call, location)
        answer = answer_from_approvals(
            state, event, call, location, found.request, _decision_for_person(context, found)
        )
        # If anything changed meanwhile, such as by the question itself, judge again before caching.
        if key and tip and answer.verdict != "allow" and before == freshness_facts(state, event, call, location):
            known = CachedAnswer(answer.verdict, answer.reason, (*found.facts, *before))
            memo.remember_waiting(question_cache_key(event, call, key), context.policy_sources(), tip, known)
        return answer
    finally:
        state.close()


def _take_in_edits(state: State, location: ProjectLocation, memo: AnswerCache) -> None:
    """Import hand edits into the state, because the policy is read from there; a broken policy file too."""
    if location.run or memo.is_settled(location.top):
        return
    from gitnexus.projects.open_project import settle_or_postpone  # only needed after an edit

    seen = policy_file_stamps(location.top)
    if not settle_or_postpone(state).postponed:
        memo.remember_policy_files(location.top, seen)


def judge_call(context: JudgeContext, call: Call) -> CallJudgement:
    """Return the judgement of a call."""
    refused = refusal_by_role(context, call)
    findings, request = ([refused], None) if refused is not None else _collect_findings(context, call)
    worst = max(findings, key=lambda one: ORDER[one.verdict], default=CallFinding("", ""))
    if worst.verdict == "ask" and _is_patch_of_run(context, call):
        worst = CallFinding("", "")
    elif worst.verdict == "ask" and _is_bypass_mode(context):
        worst = CallFinding("allow", "the mode is bypass, and nothing denies it", "mode.bypass")
    return CallJudgement(worst, request, context.facts)


def _collect_findings(context: JudgeContext, call: Call) -> tuple[list[CallFinding], Request | None]:
    """Return all findings about a call, and the request that a person would approve."""
    request: Request | None = None
    findings: list[CallFinding] = []
    match call:
        case ReadCall():
            findings = [*judge_reads(context, call)]
        case WriteCall() | PatchCall():
            request = patch_request_from_call(context, call)
            findings = [
                *judge_git_shapes(context, call),
                *judge_missing_task(context),
                *judge_patch(context, request),
                *judge_outside_writes(context, call),
            ]
        case ShellCall():
            findings, request = judge_shell_call(context, call)
        case NetworkCall():
            request = NetworkRequest(**context.common(), hosts=call.hosts, purpose=one_line(context.event.tool, 80))
            findings = [context.decide_request(request)]
        case SubagentCall():
            findings = [_judge_handoff(context, call)] if call.role else []
        case McpCall():
            findings = [_judge_mcp_call(context, call)]
        case UnknownCall():
            findings = [CallFinding("ask", f"its effect is unknown: {call.why}")]
        case _:
            pass
    return findings, request


def _is_bypass_mode(context: JudgeContext) -> bool:
    return context.here.compiled.mode == "bypass" and context.here.compiled.bypass


def _is_patch_of_run(context: JudgeContext, call: Call) -> bool:
    """True for a write in a run's worktree: it becomes the run's patch and is judged then."""
    if not context.location.run or not isinstance(call, (WriteCall, PatchCall)):
        return False
    return not any(judge_outside_writes(context, call))


def _decision_for_person(context: JudgeContext, found: CallJudgement) -> GateDecision:
    """Return the gate's decision with the words of the strictest finding."""
    last = context.last
    rule = found.finding.rule or "harness"
    risk, tags = (last.risk, last.tags) if last else (2, ())
    return GateDecision(verdict="ask", rule=rule, why=found.finding.why, risk=risk, tags=tags)


def _judge_handoff(context: JudgeContext, call: SubagentCall) -> CallFinding:
    request = HandoffRequest(
        **context.common(), workflow="", sender=context.role or "lead", receiver=call.role, message_digest=""
    )
    found = context.decide_request(request)
    # Starting a sub-agent has no effect: each of its calls is judged. Only an explicit rule counts.
    return CallFinding("", "") if found.rule == "silence" else found


def _judge_mcp_call(context: JudgeContext, call: McpCall) -> CallFinding:
    if is_our_tool(call):
        from gitnexus.toolgate.our_server import why_not_ours  # reads the program's files: only for our own name

        in_run = bool(context.location.run)
        why, files = why_not_ours(context.event.harness, call.server, context.location.top, in_run=in_run)
        context.facts += [("stamp", file, file_stamp(file)) for file in files]
        if not why:
            return CallFinding("allow", "our own server judges it", "harness.ours")
        return CallFinding("ask", why, "harness.mcp")
    why = f"the server {one_line(call.server, 60)} is not ours, and its tools are in no table"
    return CallFinding("ask", why, "harness.mcp")


def is_our_tool(call: McpCall) -> bool:
    """True for one of our tools on a server with our name, as installed directly or by our plug-in."""
    named = call.server in (SERVER, PLUGIN_SERVER)
    return named and (_TOOL.fullmatch(call.tool) is not None or call.tool in _RUN_TOOLS)
