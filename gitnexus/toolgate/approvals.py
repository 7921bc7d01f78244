"""Answers a program's tool call that needs a person's approval: logs it in a session run, and spends the approval.

A session that had to ask is a run without a branch or a worktree of ours; `runs`, `review`, `approve`, `deny` and
`replay` handle it like any other. An approval does nothing by itself: it is stored as a token until the program repeats
the call; then the token is spent and the call is allowed once.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from gitnexus.base.canonical import json_document
from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.base.errors import Busy, Conflict, Invalid, NotFound
from gitnexus.base.file_stamp import file_stamp
from gitnexus.base.files import replace_file
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.events.log import EventDraft
from gitnexus.events.model import definition_hash
from gitnexus.gateway.patching import make_patch_rows
from gitnexus.git.branches import current_branch
from gitnexus.git.child import run_git as git_run
from gitnexus.git.private import PrivateGit, private_git
from gitnexus.git.refs import plain_head_commit
from gitnexus.git.tree_diff import diff_trees
from gitnexus.harness.call_files import paths_in_call, resolve_path
from gitnexus.harness.calls import Call, PatchCall, ShellCall, WriteCall
from gitnexus.harness.model import HarnessEvent, HookAnswer
from gitnexus.harness.written_content import content_after_write
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.model import CommandRequest, GateDecision, PatchRequest, Request
from gitnexus.policy.request import request_digest
from gitnexus.policy.tokens import check_token
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import holds_secret, known_secret_values
from gitnexus.runs.actions.ask import MOST_WAITING
from gitnexus.runs.actions.commit import read_token
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.open_run import SESSION, OpenRun
from gitnexus.runs.policy_changes import note_policy
from gitnexus.runs.record import refresh_run_record
from gitnexus.runs.start import reserve_run_id
from gitnexus.runs.store import read_run, run_ids, write_run
from gitnexus.state import State
from gitnexus.state.format import project_id_of
from gitnexus.state.locate import ProjectLocation
from gitnexus.workflow.run_definition import RunDefinition, RunNode

GATE = "gate"
# Values of Claude Code's entry point at which a person is present and asked by it.
ENTRYPOINT = "CLAUDE_CODE_ENTRYPOINT"
_SEATED = ("cli", "claude-vscode")
_LARGEST = 8 * 1024 * 1024


def answer_from_approvals(
    state: State,
    event: HarnessEvent,
    call: Call,
    location: ProjectLocation,
    request: Request | None,
    decision: GateDecision,
) -> HookAnswer:
    """Return the answer to a call that a person has to decide. Raises: NexusError, OSError."""
    try:
        bound = _bind_request(state, call, request)
    except (Conflict, Invalid) as exc:
        return _answer_unapprovable(event, f"{decision.why}; {exc.message}")
    if bound is None:
        return _answer_unapprovable(event, decision.why)
    run = _find_session_run(state, event, location)
    if run is not None:
        answer = _answer_if_decided(run, event, bound.changed(run=run.record.id))
        if answer is not None:
            return answer
    if is_person_present(event):
        return HookAnswer(verdict="ask", reason=f"git nexus: {decision.why}")
    if run is None or run.view().status in ENDED:
        run = _create_session_run(state, event, location)
    action = _propose_call(run, event, call, bound.changed(run=run.record.id), decision)
    return _answer_waiting(run, event, action, decision.why)


def is_person_present(event: HarnessEvent) -> bool:
    """True if a person uses the program interactively and it asks them: Claude Code in a terminal or an editor."""
    return event.harness == "claude-code" and not event.headless and os.environ.get(ENTRYPOINT, "") in _SEATED


def finish_if_nothing_waits(run: OpenRun) -> None:
    """End a session's run if nothing waits in it. Raises: NexusError."""
    view = run.view()
    open_ = [one for one in view.actions.values() if one.status in ("waiting", "proposed", "approved", "unknown")]
    if not open_ and not view.questions and view.status not in ENDED:
        run.log.append("run.finished", "nexus", {"ok": True})
    refresh_run_record(run)


def _answer_unapprovable(event: HarnessEvent, why: str) -> HookAnswer:
    why = mask(why, known_secret_values())  # it may name a file, and programs store the message
    if is_person_present(event):
        return HookAnswer(verdict="ask", reason=f"git nexus: {why}")
    return HookAnswer(verdict="deny", reason=f"git nexus: {why}; and nobody can be asked about it here")


def _answer_waiting(open_run: OpenRun, event: HarnessEvent, action: str, why: str) -> HookAnswer:
    run, of = open_run.record.id, open_run.view().actions[action].digest
    why = mask(why, known_secret_values())
    how = (
        f"{action} of {run} waits for a person: git nexus review {run} shows it, git nexus approve {run} {action}@{of}"
    )
    if event.harness == "claude-code" and os.environ.get(ENTRYPOINT, "").startswith("sdk-"):
        return HookAnswer(verdict="defer", reason=f"git nexus: {why}. {how}")
    after = "Once it is approved, make the same call again, word for word; until then do something else."
    return HookAnswer(verdict="deny", reason=f"git nexus: {why}. {how}. {after}")


def _answer_if_decided(run: OpenRun, event: HarnessEvent, request: Request) -> HookAnswer | None:
    """Return the answer to a call that was asked about before, None if it is new or its answer was used."""
    of = request_digest(request)
    with run.deciding():
        view = run.view()
        for name, one in view.actions.items():
            if one.digest != of:
                continue
            if one.status == "approved":
                _spend_token(run, event, name, request, of)
                return HookAnswer(verdict="allow", reason=f"git nexus: {one.by} approved {name} of {run.record.id}")
            if one.status == "denied":
                said = f": {one_line(one.why, 300)}" if one.why else ""
                return HookAnswer(verdict="deny", reason=f"git nexus: {one.by or 'a person'} denied this{said}")
            if one.status in ("waiting", "proposed", "unknown"):
                return (
                    None
                    if is_person_present(event)
                    else _answer_waiting(run, event, name, one_line(one.why or "it was asked before", 300))
                )
    return None


def _spend_token(run: OpenRun, event: HarnessEvent, action: str, request: Request, of: str) -> None:
    """Spend the token of an approved call before the program executes it. Raises: VerificationFailed, NexusError."""
    gatekeeper = run.make_gatekeeper(action)
    ledger = Ledger(run.repo.common_dir)
    claims = check_token(
        read_token(run, action), gatekeeper.expected(request, of), gatekeeper.approvers, utc_now(), ledger
    )
    tool = shorten_text(event.tool, 200) or "tool"
    run.log.append("tool.intended", GATE, {"action": action, "tool": tool, "digest": of, "nonce": claims.nonce})
    ledger.spend(claims, utc_now())
    result = f"allowed: {event.harness} does it itself"
    run.log.append("tool.executed", GATE, {"action": action, "tool": tool, "ok": True, "result": result})
    finish_if_nothing_waits(run)


def _propose_call(run: OpenRun, event: HarnessEvent, call: Call, request: Request, decision: GateDecision) -> str:
    from gitnexus.runs.actions.propose import next_action_name

    of = request_digest(request)
    words = summarize_call(event, call)
    with run.proposing():
        view = run.view()
        if sum(one.status == "waiting" for one in view.actions.values()) >= MOST_WAITING:
            raise Busy(f"{MOST_WAITING} calls wait for an answer already", hint="wait for a person")
        action = next_action_name(run)
        gatekeeper = run.make_gatekeeper(action)
        fields: dict[str, Any] = {
            "digest": of,
            "kind": request.kind,
            "summary": mask(words, known_secret_values()),
            "request": request.plain(),
            "verdict": "ask",
            "rule": decision.rule,
            "why": decision.why,
            "risk": decision.risk,
            "tags": decision.tags,
        }
        run.make_recorder(gatekeeper, event.harness).note("action.proposed", fields)
    refresh_run_record(run)
    return action


def summarize_call(event: HarnessEvent, call: Call) -> str:
    """Return a one-line summary of a call."""
    if isinstance(call, ShellCall):
        return one_line(call.text or " ".join(call.argv), 300)
    if isinstance(call, WriteCall):
        return f"{one_line(event.tool, 60)} {one_line(call.path, 200)}"
    if isinstance(call, PatchCall):
        return f"{one_line(event.tool, 60)} {one_line(', '.join(row.path for row in call.files), 200)}"
    return one_line(event.tool, 60)


# Maps a session to its run.


def _session_file(state: State, event: HarnessEvent, location: ProjectLocation) -> Path:
    name = hashlib.sha256(
        "\0".join((event.harness, event.session or location.top, location.top)).encode("utf-8", "replace")
    )
    return state.repo.common_dir / "nexus" / "sessions" / name.hexdigest()[:32]


def freshness_facts(
    state: State, event: HarnessEvent, call: Call, location: ProjectLocation
) -> tuple[tuple[str, str, str], ...]:
    """Return facts that change when an answer arrives: the session's log, standing approvals, the files concerned."""
    mapping = _session_file(state, event, location)
    run = _find_session_run(state, event, location)
    files = [mapping, state.repo.common_dir / "nexus" / "grants"]
    files += [run.log.path] if run is not None else []
    files += [Path(path) for path in paths_in_call(call)]
    return tuple(("stamp", str(file), file_stamp(str(file))) for file in files)


def _find_session_run(state: State, event: HarnessEvent, location: ProjectLocation) -> OpenRun | None:
    try:
        word = _session_file(state, event, location).read_text(encoding="ascii", errors="replace").strip()
        run = read_run(state.required(), word)
    except (OSError, NotFound):
        return None
    return OpenRun(state, run) if run.session else None


def _create_session_run(state: State, event: HarnessEvent, location: ProjectLocation) -> OpenRun:
    policy = read_policy_in_force(state)
    definition = RunDefinition(
        name=event.harness, nodes=(RunNode(id="session", adapter=event.harness),), mode=policy.compiled.mode
    )
    snapshot = state.required()
    run = Run(
        id=reserve_run_id(state, run_ids(snapshot)),
        title=f"a session of {event.harness}",
        agent=event.harness,
        base=_head_commit(state),
        definition=definition_hash(definition.plain()),
        created=format_timestamp(utc_now()),
        onto=current_branch(state.repo),
        session=one_line(event.session or "unnamed", 200),
    )
    open_run = OpenRun(state, run)
    replace_file(open_run.folder / SESSION, json_document({"folder": location.top, "harness": event.harness}), 0o600)
    open_run.write_definition(definition)
    body = {
        "run": run.id,
        "definition": run.definition,
        "task": shorten_text(run.title),
        "agent": run.agent,
        "project": project_id_of(snapshot) or "unknown",
        "policy": note_policy(open_run.folder, policy),
    }
    open_run.log.append_many(
        [EventDraft("workflow.started", "nexus", {**body, **({"base": run.base} if run.base else {})})]
    )
    write_run(state, run, f"runs: begin {run.id}")
    replace_file(_session_file(state, event, location), run.id.encode(), 0o600)
    return open_run


def _head_commit(state: State) -> str:
    if head := plain_head_commit(state.repo):
        return head
    found = git_run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", git_dir=state.repo.git_dir)
    return found.stdout.decode("ascii", "replace").strip() if found.returncode == 0 else ""


# The exact request that an approval binds.


def _bind_request(state: State, call: Call, request: Request | None) -> Request | None:
    """Return the request with everything that an approval binds, None if that is unknown. Raises: Conflict, Invalid."""
    if isinstance(call, PatchCall):
        if not isinstance(request, PatchRequest) or len({resolve_path(row.path) for row in call.files}) != len(
            request.changes
        ):
            return None
        # The program applies the edit by its own rules, so the approval binds its text.
        return CommandRequest(
            project=request.project,
            run=request.run,
            role=request.role,
            argv=("apply_patch", call.text),
            program="/usr/bin/apply_patch",
            program_digest="",
            cwd=str(state.repo.folder),
            base="",
            env={},
            limits={},
            sandbox="L0",
        )
    if isinstance(call, WriteCall):
        if not isinstance(request, PatchRequest) or len(request.changes) != 1:
            return None
        return _with_file_trees(state, call, request)
    if isinstance(request, CommandRequest) and holds_secret(request.argv):
        raise Invalid("a word of it looks like a secret, and would be stored in the log")
    return request


def _with_file_trees(state: State, call: WriteCall, request: PatchRequest) -> PatchRequest:
    """Return the request with the trees before and after, each with the one file only. Raises: Conflict, Invalid."""
    change = request.changes[0]
    try:
        raw: bytes | None = Path(resolve_path(call.path)).read_bytes()
    except FileNotFoundError:
        raw = None
    except OSError as exc:
        raise Invalid(f"{one_line(call.path, 80)} cannot be read: {exc.strerror}") from exc
    after = content_after_write(call, raw)
    with private_git(state.repo) as git:
        base = _write_single_file_tree(git, change.path, change.old_mode, raw)
        result = _write_single_file_tree(git, change.path, change.new_mode, after)
        rows = diff_trees(git, base, result)
        git.keep(base)
        git.keep(result)
    return request.changed(base_tree=base, result_tree=result, changes=make_patch_rows(rows))


def _write_single_file_tree(git: PrivateGit, path: str, mode: str, raw: bytes | None) -> str:
    if raw is not None and len(raw) > _LARGEST:
        raise Invalid(f"the file is larger than {_LARGEST // 2**20} MiB")
    git.clear_index()
    if raw is not None:
        blob = git.must("hash-object", "-w", "--stdin", "--no-filters", stdin=raw).decode("ascii").strip()
        row = f"{mode or '100644'} {blob}\t".encode() + os.fsencode(path) + b"\0"
        git.must("update-index", "-z", "--index-info", stdin=row)
    return git.must("write-tree").decode("ascii").strip()
