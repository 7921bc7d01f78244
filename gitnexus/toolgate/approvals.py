"""Sessions of programs that ask us before each tool: what waits there for a person, and how a yes is spent.

A session that had to ask is a run without a branch or a worktree of ours: `runs`, `review`, `approve`, `deny` and
`replay` know it as any other. A yes does nothing by itself. It lies there as a token until the program makes the same
call again; then it is burned, and the call is let through once.
"""

import hashlib
import os
from pathlib import Path
from typing import Any

from gitnexus.app import gatememo
from gitnexus.app.gatememo import Place
from gitnexus.app.harnessgate import meant, paths_of
from gitnexus.app.proposing import MOST_WAITING
from gitnexus.app.rundesk import SESSION, RunDesk
from gitnexus.app.running import claimed, recorded
from gitnexus.base.canonical import document
from gitnexus.base.clock import now, stamp
from gitnexus.base.errors import Busy, Invalid, NotFound
from gitnexus.base.files import replace
from gitnexus.base.text import one_line
from gitnexus.events.kinds import short
from gitnexus.events.log import Draft
from gitnexus.events.model import definition_hash
from gitnexus.git.branches import current
from gitnexus.git.child import run as git_run
from gitnexus.git.private import PrivateGit, private
from gitnexus.git.refs import plain_head_of
from gitnexus.git.rows import difference
from gitnexus.harness.calls import Call, Patched, Shell, Writes
from gitnexus.harness.model import Answer, Happening
from gitnexus.policy.ledger import Ledger
from gitnexus.policy.model import Change, CommandRequest, Decision, PatchRequest, Request
from gitnexus.policy.request import digest
from gitnexus.policy.tokens import checked
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import holds_secret, known_values
from gitnexus.runs.definition import Definition, Node
from gitnexus.runs.model import ENDED, Run
from gitnexus.runs.store import ids_in, put, read
from gitnexus.state import State
from gitnexus.state.format import id_of

GATE = "gate"
# Where Claude Code says how it was started; a person sits before these, and is asked by it.
ENTRYPOINT = "CLAUDE_CODE_ENTRYPOINT"
_SEATED = ("cli", "claude-vscode")
_LARGEST = 8 * 1024 * 1024


def asked(
    state: State, told: Happening, call: Call, place: Place, request: Request | None, decision: Decision
) -> Answer:
    """Return the answer to a call that a person has to decide about. Raises: NexusError, OSError."""
    try:
        bound = _bound(state, call, request)
    except Invalid as exc:
        return _unapprovable(told, f"{decision.why}; {exc.message}")
    if bound is None:
        return _unapprovable(told, decision.why)
    desk = _known(state, told, place)
    if desk is not None:
        answer = _settled(desk, told, bound.changed(run=desk.run.id))
        if answer is not None:
            return answer
    if seated(told):
        return Answer(verdict="ask", reason=f"git nexus: {decision.why}")
    if desk is None or desk.view().status in ENDED:
        desk = _begun(state, told, place)
    action = _proposed(desk, told, call, bound.changed(run=desk.run.id), decision)
    return _waits(desk, told, action, decision.why)


def seated(told: Happening) -> bool:
    """True where a person sits before the program and it really asks them: Claude Code in a terminal or an editor."""
    return told.harness == "claude-code" and not told.headless and os.environ.get(ENTRYPOINT, "") in _SEATED


def closed(desk: RunDesk) -> None:
    """End a session's run in which nothing waits any more. Raises: NexusError."""
    view = desk.view()
    open_ = [one for one in view.actions.values() if one.status in ("waiting", "proposed", "approved", "unknown")]
    if not open_ and not view.questions and view.status not in ENDED:
        desk.log.append("run.finished", "nexus", {"ok": True})
    recorded(desk)


def _unapprovable(told: Happening, why: str) -> Answer:
    if seated(told):
        return Answer(verdict="ask", reason=f"git nexus: {why}")
    return Answer(verdict="deny", reason=f"git nexus: {why}; nobody can be asked about this one here")


def _waits(desk: RunDesk, told: Happening, action: str, why: str) -> Answer:
    run, of = desk.run.id, desk.view().actions[action].digest
    how = (
        f"{action} of {run} waits for a person: git nexus review {run} shows it, git nexus approve {run} {action}@{of}"
    )
    if told.harness == "claude-code" and os.environ.get(ENTRYPOINT, "").startswith("sdk-"):
        return Answer(verdict="defer", reason=f"git nexus: {why}. {how}")
    after = "Once it is approved, make the same call again, word for word; until then do something else."
    return Answer(verdict="deny", reason=f"git nexus: {why}. {how}. {after}")


def _settled(desk: RunDesk, told: Happening, request: Request) -> Answer | None:
    """Return the answer to a call that was asked about before, None if it was not, or was answered and used."""
    of = digest(request)
    with desk.deciding():
        view = desk.view()
        for name, one in view.actions.items():
            if one.digest != of:
                continue
            if one.status == "approved":
                _spent(desk, told, name, request, of)
                return Answer(verdict="allow", reason=f"git nexus: {one.by} approved {name} of {desk.run.id}")
            if one.status == "denied":
                said = f": {one_line(one.why, 300)}" if one.why else ""
                return Answer(verdict="deny", reason=f"git nexus: {one.by or 'a person'} denied this{said}")
            if one.status in ("waiting", "proposed", "unknown"):
                return (
                    None if seated(told) else _waits(desk, told, name, one_line(one.why or "it was asked before", 300))
                )
    return None


def _spent(desk: RunDesk, told: Happening, action: str, request: Request, of: str) -> None:
    """Burn the token of an approved call, before the program may do it. Raises: VerificationFailed, NexusError."""
    from gitnexus.app.runcommit import token_of

    keeper = desk.keeper(action)
    ledger = Ledger(desk.repo.common_dir)
    claims = checked(token_of(desk, action), keeper.expected(request, of), keeper.approvers, now(), ledger)
    tool = short(told.tool, 200) or "tool"
    desk.log.append("tool.intended", GATE, {"action": action, "tool": tool, "digest": of, "nonce": claims.nonce})
    ledger.spend(claims, now())
    result = f"let through: {told.harness} does it itself"
    desk.log.append("tool.executed", GATE, {"action": action, "tool": tool, "ok": True, "result": result})
    closed(desk)


def _proposed(desk: RunDesk, told: Happening, call: Call, request: Request, decision: Decision) -> str:
    from gitnexus.app.runproposal import next_action

    of = digest(request)
    words = summary_of(told, call)
    with desk.proposing():
        view = desk.view()
        if sum(one.status == "waiting" for one in view.actions.values()) >= MOST_WAITING:
            raise Busy(f"{MOST_WAITING} calls wait for an answer already", hint="wait for a person")
        action = next_action(desk)
        keeper = desk.keeper(action)
        fields: dict[str, Any] = {
            "digest": of,
            "kind": request.kind,
            "summary": mask(words, known_values()),
            "request": request.plain(),
            "verdict": "ask",
            "rule": decision.rule,
            "why": decision.why,
            "risk": decision.risk,
            "tags": decision.tags,
        }
        desk.recorder(keeper, told.harness).note("action.proposed", fields)
    recorded(desk)
    return action


def summary_of(told: Happening, call: Call) -> str:
    """Return a call in a line."""
    if isinstance(call, Shell):
        return one_line(call.text or " ".join(call.argv), 300)
    if isinstance(call, Writes):
        return f"{one_line(told.tool, 60)} {one_line(call.path, 200)}"
    if isinstance(call, Patched):
        return f"{one_line(told.tool, 60)} {one_line(', '.join(row.path for row in call.files), 200)}"
    return one_line(told.tool, 60)


# Which run is a session's.


def _mapping(state: State, told: Happening, place: Place) -> Path:
    name = hashlib.sha256("\0".join((told.harness, told.session or place.top, place.top)).encode("utf-8", "replace"))
    return state.repo.common_dir / "nexus" / "sessions" / name.hexdigest()[:32]


def marks_of(state: State, told: Happening, call: Call, place: Place) -> tuple[tuple[str, str, str], ...]:
    """Return what tells whether an answer came meanwhile: the session's log, standing approvals, the files meant."""
    mapping = _mapping(state, told, place)
    desk = _known(state, told, place)
    files = [mapping, state.repo.common_dir / "nexus" / "grants"]
    files += [desk.log.path] if desk is not None else []
    files += [Path(path) for path in paths_of(call)]
    return tuple(("stamp", str(file), gatememo.stamp(str(file))) for file in files)


def _known(state: State, told: Happening, place: Place) -> RunDesk | None:
    try:
        word = _mapping(state, told, place).read_text(encoding="ascii", errors="replace").strip()
        run = read(state.required(), word)
    except (OSError, NotFound):
        return None
    return RunDesk(state, run) if run.session else None


def _begun(state: State, told: Happening, place: Place) -> RunDesk:
    from gitnexus.app.policy import policy_here

    law = policy_here(state).law
    definition = Definition(name=told.harness, nodes=(Node(id="session", adapter=told.harness),), mode=law.mode)
    snapshot = state.required()
    run = Run(
        id=claimed(state, ids_in(snapshot)),
        title=f"a session of {told.harness}",
        agent=told.harness,
        base=_head(state),
        definition=definition_hash(definition.plain()),
        created=stamp(now()),
        onto=current(state.repo),
        session=one_line(told.session or "unnamed", 200),
    )
    desk = RunDesk(state, run)
    replace(desk.folder / SESSION, document({"folder": place.top, "harness": told.harness}), 0o600)
    desk.write_definition(definition)
    body = {"run": run.id, "definition": run.definition, "task": short(run.title), "agent": run.agent,
            "project": id_of(snapshot) or "unknown"}  # fmt: skip
    desk.log.append_many([Draft("workflow.started", "nexus", {**body, **({"base": run.base} if run.base else {})})])
    put(state, run, f"runs: begin {run.id}")
    replace(_mapping(state, told, place), run.id.encode(), 0o600)
    return desk


def _head(state: State) -> str:
    if head := plain_head_of(state.repo):
        return head
    found = git_run("rev-parse", "--verify", "--quiet", "HEAD^{commit}", git_dir=state.repo.git_dir)
    return found.stdout.decode("ascii", "replace").strip() if found.returncode == 0 else ""


# What exactly is approved.


def _bound(state: State, call: Call, request: Request | None) -> Request | None:
    """Return the request with all that a yes should bind, None where that cannot be told. Raises: Invalid."""
    if isinstance(call, Patched):
        if not isinstance(request, PatchRequest) or len({meant(row.path) for row in call.files}) != len(
            request.changes
        ):
            return None
        # The program applies it, by rules of its own: the text itself is what is approved.
        return CommandRequest(
            project=request.project, run=request.run, role=request.role, argv=("apply_patch", call.text),
            program="/usr/bin/apply_patch", program_digest="", cwd=str(state.repo.place), base="", env={}, limits={},
            sandbox="L0",
        )  # fmt: skip
    if isinstance(call, Writes):
        if not isinstance(request, PatchRequest) or len(request.changes) != 1:
            return None
        return _two_trees(state, call, request)
    if isinstance(request, CommandRequest) and holds_secret(request.argv):
        raise Invalid("a word of it looks like a secret, and would be kept in the log")
    return request


def _two_trees(state: State, call: Writes, request: PatchRequest) -> PatchRequest:
    """Return the request with the file as it is and as it would be: a tree each, of that file alone."""
    change = request.changes[0]
    try:
        raw: bytes | None = Path(meant(call.path)).read_bytes()
    except FileNotFoundError:
        raw = None
    except OSError as exc:
        raise Invalid(f"{one_line(call.path, 80)} cannot be read: {exc.strerror}") from exc
    after = _after(call, raw)
    with private(state.repo) as git:
        base = _tree(git, change.path, change.old_mode, raw)
        result = _tree(git, change.path, change.new_mode, after)
        rows = difference(git, base, result)
        git.keep(base)
        git.keep(result)
    changes = (
        Change(path=row.path, old_mode=row.old_mode, new_mode=row.new_mode, old_blob=row.old_blob,
               new_blob=row.new_blob, link_target=row.link_target, binary=row.binary and row.new_mode != "")
        for row in rows
    )  # fmt: skip
    return request.changed(base_tree=base, result_tree=result, changes=tuple(changes))


def _after(call: Writes, raw: bytes | None) -> bytes:
    if call.content is not None:
        return call.content.encode("utf-8", "surrogateescape")
    if not call.edits:
        raise Invalid("what the file would hold is not told")
    text = (raw or b"").decode("utf-8", "surrogateescape")
    for edit in call.edits:
        count = text.count(edit.old) if edit.old else int(not text)
        if count == 0 or (count > 1 and not edit.everywhere):
            raise Invalid("the edit does not fit the file as it is: read it again")
        text = text.replace(edit.old, edit.new) if edit.old else edit.new
    return text.encode("utf-8", "surrogateescape")


def _tree(git: PrivateGit, path: str, mode: str, raw: bytes | None) -> str:
    if raw is not None and len(raw) > _LARGEST:
        raise Invalid(f"the file is larger than {_LARGEST // 2**20} MiB")
    git.must("read-tree", "--empty")
    if raw is not None:
        blob = git.must("hash-object", "-w", "--stdin", "--no-filters", stdin=raw).decode("ascii").strip()
        row = f"{mode or '100644'} {blob}\t".encode() + os.fsencode(path) + b"\0"
        git.must("update-index", "-z", "--index-info", stdin=row)
    return git.must("write-tree").decode("ascii").strip()
