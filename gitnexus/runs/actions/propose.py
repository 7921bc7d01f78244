"""Builds requests from a run's worktree or agent, has the gate judge them, logs them, and recomputes them later.

Proposing the same trees again gives the same action, so a kill in between creates no duplicate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gitnexus.adapters.table import ADAPTERS
from gitnexus.base.errors import Conflict, Invalid, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.kinds import shorten_text
from gitnexus.events.view import ActionView
from gitnexus.events.view_builder import handoff_step_name
from gitnexus.gateway.patching import make_patch_rows
from gitnexus.gateway.paths import patch_refusals, repository_refusals
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.private import private_git
from gitnexus.git.tree_diff import TreeChange, diff_trees, list_tree_files
from gitnexus.git.worktree_tree import OddFile, write_worktree_tree
from gitnexus.policy.gatekeeper import Gatekeeper
from gitnexus.policy.model import GateDecision, HandoffRequest, PatchRequest, ProposedAction, Request
from gitnexus.policy.request import parse_request, request_digest
from gitnexus.runs.actions.commit import branch_tip, find_earlier_commit
from gitnexus.runs.open_run import OpenRun
from gitnexus.state.format import project_id_of

GATE = "gate"
_HANDED = handoff_step_name("")
_SPECIALISTS = ("researcher", "planner", "executor")
_MOST_ODD = 8


_LEFT_OUT = "left out: "


@dataclass(frozen=True, slots=True)
class JudgedRequest:
    """A request of a run, the gate's decision, and the gate, which then issues and checks the token for it."""

    action: str
    request: Request
    decision: GateDecision
    gatekeeper: Gatekeeper


def propose_worktree_changes(run: OpenRun, summary: str, node: str, proofs: Sequence[str] = ()) -> str | None:
    """Propose the worktree's changes against the branch; return the action name, None without changes.

    `proofs` are commands that a yes to it also approves. An equal tree is the same action, whatever its status.

    Raises: NexusError.
    """
    worktree = run.worktree
    base = branch_tip(run)
    with private_git(worktree) as git:
        found = write_worktree_tree(git, run.worktree_path, base, run.stamps)
        if not found.changes:
            _log_left_out(run, found.odd, node)
            return None
        git.keep(found.result_tree)
        # The gate judges link targets; a tree read from disk has nothing below a link.
        wrong = list(
            patch_refusals(found.changes, (entry.path for entry in list_tree_files(git, found.result_tree)), {})
        )
        wrong += repository_refusals(git, found.changes)
        # A path that no tree can hold would look like a deletion if there was a file before.
        wrong += [
            (odd.path, "odd", odd.why)
            for odd in found.odd
            if any(_is_at_or_below(row.path, odd) for row in found.changes)
        ]
        role = role_of_node(run, node)
        request = patch_request(run, base, found.base_tree, found.result_tree, found.changes, role)
    _log_left_out(run, found.odd, node)
    with run.proposing():
        known = next((name for name, one in run.view().actions.items() if one.digest == request_digest(request)), None)
        if known is not None:
            return known
        action = next_action_name(run)
        if wrong:
            path, *_, why = wrong[0]
            rejected = {"action": action, "why": shorten_text(f"{one_line(path, 200)}: {why}"), "error": Invalid.name}
            run.log.append("action.rejected", GATE, rejected)
            raise Invalid(f"the patch is refused for {one_line(path, 80)!r}: {why}", context={"path": path})
        log_proposal(run, action, request, summary, node, ProposalContext(proofs=proofs))
    return action


def _is_at_or_below(path: str, odd: OddFile) -> bool:
    """True if a change is at or below a path that no git tree can hold."""
    return path == odd.path or path.startswith(f"{odd.path}/")


def left_out(run: OpenRun) -> dict[str, str]:
    """Return descriptions of worktree content that no patch contains, by the patch it was left out of ("" for none).

    Raises: NexusError.
    """
    found: dict[str, str] = {}
    last = ""
    for event in run.log.read():
        if event.kind == "agent.progress" and event.actor == GATE and event.body["text"].startswith(_LEFT_OUT):
            last = event.body["text"].removeprefix(_LEFT_OUT)
        elif event.kind == "node.started":
            last = ""
        elif event.kind == "action.proposed" and event.body["actionKind"] == "patch" and last:
            found[event.body["action"]], last = last, ""
    return {**found, **({"": last} if last else {})}


def _log_left_out(run: OpenRun, odd: tuple[OddFile, ...], node: str) -> None:
    if odd:
        names = "; ".join(f"{one_line(one.path, 80)}: {one.why}" for one in odd[:_MOST_ODD])
        more = f" and {len(odd) - _MOST_ODD} more" if len(odd) > _MOST_ODD else ""
        run.log.append("agent.progress", GATE, {"text": shorten_text(f"{_LEFT_OUT}{names}{more}", 1000), "node": node})


def next_action_name(run: OpenRun) -> str:
    """Return the name of the next action; the caller holds `proposing`."""
    return f"a{len(run.view().actions) + 1}"


class ProposalContext(NamedTuple):
    """What a proposal goes with: the action that it replaces, who edited that, and commands that a yes approves too."""

    replaces: str = ""
    by: str = ""
    proofs: Sequence[str] = ()


def log_proposal(
    run: OpenRun,
    action: str,
    request: Request,
    summary: str,
    node: str,
    context: ProposalContext | None = None,
    *,
    refused: GateDecision | None = None,
) -> GateDecision:
    """Log a request with the gate's decision, which is returned. What it replaces is withdrawn.

    `refused` is the denial of a part of it, if any. Raises: NexusError.
    """
    replaces, by, proofs = context or ProposalContext()
    asked = ProposedAction(id=action, kind=request.kind, summary=summary, details=request.plain())
    gatekeeper = run.make_gatekeeper(asked.id)
    decision = refused or gatekeeper.decide(request)
    run.make_recorder(gatekeeper, "user" if by else run.agent_of_node(node), node).note(
        "action.proposed",
        {
            "digest": request_digest(request),
            "kind": asked.kind,
            "summary": asked.summary,
            "request": asked.details,
            "replaces": replaces,
            "by": shorten_text(by, 200),
            "proofs": list(proofs) if decision.verdict == "ask" else [],
            "verdict": decision.verdict,
            "rule": decision.rule,
            "why": decision.why,
            "risk": decision.risk,
            "tags": decision.tags,
        },
    )
    return decision


def read_proposed_request(run: OpenRun, action: str) -> Request:
    """Return a request as it was proposed. Raises: NotFound, VerificationFailed."""
    known = find_action(run, action)
    for event in run.log.read():
        if event.kind == "action.proposed" and event.body["action"] == action:
            try:
                request = parse_request(run.artifacts.read(event.body["artifact"]))
            except NotFound as exc:
                raise NotFound(
                    f"what {action} proposes is not on this machine",
                    hint=f"a proposal with a secret stays where it was made: git nexus review {run.record.id} there",
                ) from exc
            break
    else:
        raise NotFound(f"{run.record.id} has no action {action}")
    if request_digest(request) != known.digest:
        raise VerificationFailed(f"the request of {action} is not the one that was proposed")
    return request


def judge_proposed_action(run: OpenRun, action: str) -> JudgedRequest:
    """Recompute an action's request from the git objects and judge it by the present policy. Raises: NexusError."""
    request = read_proposed_request(run, action)
    # A session has no branch that could move; its request is checked when it asks again.
    if isinstance(request, PatchRequest) and not run.record.session:
        request = _recompute_patch_request(run, action, request)
    _refuse_other_role(run, action, request)
    gatekeeper = run.make_gatekeeper(action)
    return JudgedRequest(action, request, gatekeeper.decide(request), gatekeeper)


def role_of_node(run: OpenRun, node: str) -> str:
    """Return the role of a step from the run's definition or an approved handoff, never from the agent's own claim.

    Without a step it is the role common to all steps, or none: what any role is denied stays denied. Raises: NotFound,
    VerificationFailed.
    """
    if run.record.session:
        return ""
    roles = {one.id: one.role for one in run.definition().nodes}
    if node in roles:
        return roles[node]
    if not node.startswith(_HANDED):
        return roles.popitem()[1] if len(set(roles.values())) == 1 else ""
    request = read_proposed_request(run, node.removeprefix(_HANDED).removesuffix("-plan"))
    receiver = request.receiver if isinstance(request, HandoffRequest) else ""
    # In a workflow these names are kinds of nodes; in a run with one agent they may be roles of the catalog.
    is_specialist = receiver in _SPECIALISTS and run.workflow() is not None
    return "" if receiver in ADAPTERS or is_specialist else receiver


def _refuse_other_role(run: OpenRun, action: str, request: Request) -> None:
    """Raise an error if a request names a role that its step does not have. Raises: VerificationFailed.

    A request without a role is from a version that did not bind roles: no rule or grant for a role applies to it.
    """
    if request.role and not run.record.session and request.role != role_of_node(run, find_action(run, action).node):
        raise VerificationFailed(
            f"{action} was proposed as the role {one_line(request.role, 40)!r}, which its step does not have",
            hint=f"git nexus deny {run.record.id} {action}",
        )


def _recompute_patch_request(run: OpenRun, action: str, request: PatchRequest) -> PatchRequest:
    """Return the request recomputed from the git objects. Raises: Conflict if it differs."""
    committed = find_earlier_commit(run, action, request)
    base = request.base if committed else branch_tip(run)
    with private_git(run.repo) as git:
        rows = diff_trees(git, request.base_tree, request.result_tree)
        same = tree_of_commit(git, base) == request.base_tree
    found = patch_request(run, base, request.base_tree, request.result_tree, rows, request.role)
    if not same or request_digest(found) != request_digest(request):
        raise Conflict(
            "what was proposed is no longer what would be done: the branch has moved since",
            hint=f"git nexus resume {run.record.id} proposes it again, if it still fits; that needs a new approval",
        )
    return found


def patch_request(run: OpenRun, base: str, old: str, new: str, rows: tuple[TreeChange, ...], role: str) -> PatchRequest:
    """Return the request for the patch between two trees on commit `base`, made by an agent with `role`."""
    return PatchRequest(
        project=project_id_of(run.state.snapshot) or "",
        run=run.record.id,
        role=role,
        base=base,
        base_tree=old,
        result_tree=new,
        changes=make_patch_rows(rows),
    )


def find_action(run: OpenRun, action: str) -> ActionView:
    """Return an action from the run's view. Raises: NotFound."""
    found = run.view().actions.get(action)
    if found is None:
        raise NotFound(f"{run.record.id} has no action {action[:40]!r}", hint=f"git nexus review {run.record.id}")
    return found
