"""The tool gate: takes one tool call of another program, returns allow, deny or ask, from the cache where possible.

Outside a project, a hook installed for all repositories has no opinion, because it must not stop other work; a hook
that came with a repository denies, because somebody relies on it. Two rules hold everywhere: the canary is denied, and
so is access to git nexus's home folder, which holds the approver's key.
"""

import os
from typing import Any

from gitnexus.git.shape import why_git_may_obey
from gitnexus.harness.call_files import file_mode, new_text, paths_in_call, text_after
from gitnexus.harness.calls import (
    Call,
    HarmlessCall,
    McpCall,
    NetworkCall,
    QuestionCall,
    ReadCall,
    ShellCall,
    SubagentCall,
    WriteCall,
    parse_tool_call,
)
from gitnexus.harness.canary import REASON, is_canary_call
from gitnexus.harness.model import HarnessEvent, HookAnswer, answer_no_opinion, session_start_folder
from gitnexus.state.locate import ProjectLocation, locate_first_project, locate_project
from gitnexus.toolgate.cache import (
    AnswerCache,
    CachedAnswer,
    nexus_home,
    question_cache_key,
)
from gitnexus.toolgate.no_project import why_gate_shut

# Folders below our home in which runs work.
WORKTREES = "worktrees"


def answer_tool_call(event: HarnessEvent) -> HookAnswer:
    """Return the answer to a tool call. May raise anything; the caller must then deny the call."""
    cwd = os.path.realpath(event.cwd or os.getcwd())
    call = parse_tool_call(event.harness, event.tool, event.given, cwd)
    if is_canary_call(call):
        return HookAnswer(verdict="deny", reason=REASON)
    paths = paths_in_call(call)
    if reached := _path_into_home(paths, call):
        return HookAnswer(verdict="deny", reason=f"git nexus: {reached} has the keys of approvers: no tool may use it")
    place = locate_project(cwd) or next(
        (found for path in paths if (found := locate_project(os.path.dirname(path)))), None
    )
    place = place or locate_first_project(session_start_folder())  # leaving a project does not evade its policy
    if place is None:
        return _answer_without_project(event, cwd)
    memo, key = AnswerCache(place.common), _answer_cache_key(event, call, paths, place)
    # In a run's worktree no hand edits are imported.
    policy = memo.policy_entry() if key and (place.run or memo.is_settled(place.top)) else None
    if policy is not None:
        known = memo.found(policy, key) or memo.waits(policy, question_cache_key(event, call, key))
        known = known or _answer_if_plain(event, call, place, policy.get("plain"))
        if known is not None:
            return answer_no_opinion(event) if known.verdict == "" else _make_answer(known.verdict, known.reason)
    from gitnexus.toolgate.judge import judge_and_answer  # imports the gate, which the lines above avoid

    return judge_and_answer(event, call, place, memo, key)


def _answer_without_project(event: HarnessEvent, cwd: str) -> HookAnswer:
    """Return the answer outside any project: no opinion, unless somebody relies on the gate there."""
    reason = why_gate_shut(event.harness, cwd)
    return HookAnswer(verdict="deny", reason=reason) if reason else answer_no_opinion(event)


def _answer_if_plain(
    event: HarnessEvent, call: Call, location: ProjectLocation, plain: dict[str, Any] | None
) -> CachedAnswer | None:
    """Return the answer to a call that the fast rules decide, None for all others."""
    if event.agent or location.run or not plain or not isinstance(call, (ReadCall, WriteCall, ShellCall)):
        return None
    from gitnexus.toolgate.fast_path import answer_plain_call  # cached answers need no regular expressions

    return answer_plain_call(call, location, plain)


def _make_answer(verdict: str, reason: str) -> HookAnswer:
    said = {"allow": "allow", "ask": "ask", "defer": "defer"}.get(verdict, "deny")
    return HookAnswer(verdict=said, reason=reason)  # type: ignore[arg-type]  # one of the four


def _path_into_home(paths: tuple[str, ...], call: Call) -> str:
    """Return the path by which a call reaches our home folder, "" if none. For a shell only the text is examined."""
    ours = os.path.realpath(nexus_home())
    for path in paths:
        if f"{path}/".startswith(f"{ours}/") and not f"{path}/".startswith(f"{ours}/{WORKTREES}/"):
            return path
    text = (call.text or " ".join(call.argv)) if isinstance(call, ShellCall) else ""
    for one in {ours, nexus_home()}:
        if one in text.replace(f"{one}/{WORKTREES}/", ""):
            return one
    return ""


def _answer_cache_key(event: HarnessEvent, call: Call, paths: tuple[str, ...], location: ProjectLocation) -> str:
    """Return what an answer depends on besides the policy; "" for a call whose answer is never cached."""
    subject: tuple[object, ...]
    if isinstance(call, WriteCall):
        shape = why_git_may_obey(paths[0], text_after(call, paths[0]))
        subject = ("write", paths, file_mode(paths[0]), "\0" in new_text(call), shape)
    elif isinstance(call, ReadCall):
        subject = ("read", paths, call.patterns)
    elif isinstance(call, ShellCall):
        how = (call.dialect, call.typed, os.environ.get("PATH"))
        subject = ("shell", call.text, call.argv, os.path.realpath(call.cwd), *how)
    elif isinstance(call, McpCall):
        subject = ("mcp", call.server, call.tool, os.environ.get("CLAUDE_PLUGIN_ROOT"))
    elif isinstance(call, NetworkCall):
        subject = ("network", call.hosts)
    elif isinstance(call, (SubagentCall, QuestionCall, HarmlessCall)):
        subject = (repr(call),)
    else:
        return ""
    open_work = tuple(
        os.path.exists(os.path.join(location.top, ".nexus", "state", one)) for one in ("plan.json", "tasks.json")
    )
    return repr((event.harness, event.tool, event.agent, location, open_work, subject))
