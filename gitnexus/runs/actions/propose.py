"""What a run proposes: two trees or another request, judged and written down, and made again from the objects.

The same trees again are the same action; a kill in between proposes nothing new.
"""

from dataclasses import dataclass

from gitnexus.adapters.table import ADAPTERS
from gitnexus.app.runcommit import committed_already, tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.errors import Conflict, Invalid, NotFound, VerificationFailed
from gitnexus.base.text import one_line
from gitnexus.events.fold import step_of
from gitnexus.events.kinds import short
from gitnexus.events.view import ActionView
from gitnexus.gateway.paths import refusals, shaped_refusals
from gitnexus.git.commits import tree_of
from gitnexus.git.ondisk import Odd, worktree_tree
from gitnexus.git.private import private
from gitnexus.git.rows import TreeChange, difference, files
from gitnexus.policy.model import Change, Decision, HandoffRequest, PatchRequest, ProposedAction, Request
from gitnexus.policy.request import digest, parsed
from gitnexus.state.format import id_of

GATE = "gate"
_HANDED = step_of("")
_SPECIALISTS = ("researcher", "planner", "executor")
_MOST_ODD = 8


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a run wants: the request and the gate's answer."""

    action: str
    request: Request
    decision: Decision


def proposed_tree(desk: RunDesk, summary: str, node: str) -> str | None:
    """Propose what the worktree holds against the branch; return the action, None if nothing changed.

    The same tree again is the same action, whatever became of it. Raises: NexusError.
    """
    worktree = desk.worktree
    base = tip_of(desk)
    with private(worktree) as git:
        found = worktree_tree(git, desk.place, base, desk.stamps)
        if not found.changes:
            _told_left_out(desk, found.odd, node)
            return None
        git.keep(found.result_tree)
        # Where links lead is the gate's to judge: a tree that was read from the disk has nothing below a link.
        wrong = list(refusals(found.changes, (entry.path for entry in files(git, found.result_tree)), {}))
        wrong += shaped_refusals(git, found.changes)
        # What fits into no tree would look like a deletion where there was a file before.
        wrong += [
            (odd.path, "odd", odd.why) for odd in found.odd if any(_is_at(row.path, odd) for row in found.changes)
        ]
        role = role_at(desk, node)
        request = request_of(desk, base, found.base_tree, found.result_tree, found.changes, role)
    _told_left_out(desk, found.odd, node)
    with desk.proposing():
        known = next((name for name, one in desk.view().actions.items() if one.digest == digest(request)), None)
        if known is not None:
            return known
        action = next_action(desk)
        if wrong:
            path, *_, why = wrong[0]
            rejected = {"action": action, "why": short(f"{one_line(path, 200)}: {why}"), "error": Invalid.name}
            desk.log.append("action.rejected", GATE, rejected)
            raise Invalid(f"the patch is refused for {one_line(path, 80)!r}: {why}", context={"path": path})
        propose(desk, action, request, summary, node)
    return action


def _is_at(path: str, odd: Odd) -> bool:
    """True if a change is of what fits into no tree, or of something below it."""
    return path == odd.path or path.startswith(f"{odd.path}/")


def _told_left_out(desk: RunDesk, odd: tuple[Odd, ...], node: str) -> None:
    if odd:
        names = "; ".join(f"{one_line(one.path, 80)}: {one.why}" for one in odd[:_MOST_ODD])
        more = f" and {len(odd) - _MOST_ODD} more" if len(odd) > _MOST_ODD else ""
        desk.log.append("agent.progress", GATE, {"text": short(f"left out: {names}{more}", 1000), "node": node})


def next_action(desk: RunDesk) -> str:
    """Return the name of the next action; whoever asks is `proposing`."""
    return f"a{len(desk.view().actions) + 1}"


def propose(
    desk: RunDesk, action: str, request: Request, summary: str, node: str, *, replaces: str = "", by: str = "",
    refused: Decision | None = None,
) -> Decision:  # fmt: skip
    """Write a request into the log with the gate's answer. `replaces` is given up for it, `by` edited that.

    `refused` is the gate's no to a part of it, if there is one. Raises: NexusError.
    """
    asked = ProposedAction(id=action, kind=request.kind, summary=summary, details=request.plain())
    keeper = desk.keeper(asked.id)
    decision = refused or keeper.decide(request)
    desk.recorder(keeper, "user" if by else desk.agent_at(node), node).note(
        "action.proposed",
        {
            "digest": digest(request),
            "kind": asked.kind,
            "summary": asked.summary,
            "request": asked.details,
            "replaces": replaces,
            "by": short(by, 200),
            "verdict": decision.verdict,
            "rule": decision.rule,
            "why": decision.why,
            "risk": decision.risk,
            "tags": decision.tags,
        },
    )
    return decision


def proposed_request(desk: RunDesk, action: str) -> Request:
    """Return a request as it was proposed. Raises: NotFound, VerificationFailed."""
    known = action_of(desk, action)
    for event in desk.log.read():
        if event.kind == "action.proposed" and event.body["action"] == action:
            request = parsed(desk.artifacts.read(event.body["artifact"]))
            break
    else:
        raise NotFound(f"{desk.run.id} has no action {action}")
    if digest(request) != known.digest:
        raise VerificationFailed(f"the request of {action} is not the one that was proposed")
    return request


def proposal(desk: RunDesk, action: str) -> Proposal:
    """Return an action as it would be judged now, its request made again from the objects. Raises: NexusError."""
    request = proposed_request(desk, action)
    # A session has no branch that could move: what it asked about is checked when it asks again.
    if isinstance(request, PatchRequest) and not desk.run.session:
        request = _recomputed(desk, action, request)
    _refuse_other_role(desk, action, request)
    keeper = desk.keeper(action)
    return Proposal(action, request, keeper.decide(request))


def role_at(desk: RunDesk, node: str) -> str:
    """Return the role of a step: as the run's definition gives it, or an approved handoff; never as an agent says it.

    Where no step is named it is the role of all of them, or none: what any role is denied, no role is allowed.
    Raises: NotFound, VerificationFailed.
    """
    if desk.run.session:
        return ""
    roles = {one.id: one.role for one in desk.definition().nodes}
    if node in roles:
        return roles[node]
    if not node.startswith(_HANDED):
        return roles.popitem()[1] if len(set(roles.values())) == 1 else ""
    request = proposed_request(desk, node.removeprefix(_HANDED).removesuffix("-plan"))
    receiver = request.receiver if isinstance(request, HandoffRequest) else ""
    # In a workflow these are kinds of work, in a run of one agent a role of the catalog may be called so.
    is_specialist = receiver in _SPECIALISTS and desk.workflow() is not None
    return "" if receiver in ADAPTERS or is_specialist else receiver


def _refuse_other_role(desk: RunDesk, action: str, request: Request) -> None:
    """Refuse a request in the name of a role that its step does not have. Raises: VerificationFailed.

    One that names no role is from a version that did not bind roles: no rule or grant for a role allows it.
    """
    if request.role and not desk.run.session and request.role != role_at(desk, action_of(desk, action).node):
        raise VerificationFailed(
            f"{action} was proposed as the role {one_line(request.role, 40)!r}, which its step does not have",
            hint=f"git nexus deny {desk.run.id} {action}",
        )


def _recomputed(desk: RunDesk, action: str, request: PatchRequest) -> PatchRequest:
    """Return the request as the objects tell it now. Raises: Conflict where it is another one."""
    committed = committed_already(desk, action, request)
    base = request.base if committed else tip_of(desk)
    with private(desk.repo) as git:
        rows = difference(git, request.base_tree, request.result_tree)
        same = tree_of(git, base) == request.base_tree
    found = request_of(desk, base, request.base_tree, request.result_tree, rows, request.role)
    if not same or digest(found) != digest(request):
        raise Conflict(
            "what was proposed is no longer what would be done: the branch moved since",
            hint=f"git nexus resume {desk.run.id} proposes it anew, if it still fits; that needs a new approval",
        )
    return found


def request_of(desk: RunDesk, base: str, old: str, new: str, rows: tuple[TreeChange, ...], role: str) -> PatchRequest:
    """Return the request for a patch from one tree to another, on the commit `base`, as an agent of `role` makes it."""
    changes = (
        Change(
            path=row.path,
            old_mode=row.old_mode,
            new_mode=row.new_mode,
            old_blob=row.old_blob,
            new_blob=row.new_blob,
            link_target=row.link_target,
            binary=row.binary and row.new_mode != "",
        )
        for row in rows
    )
    return PatchRequest(
        project=id_of(desk.state.snapshot) or "",
        run=desk.run.id,
        role=role,
        base=base,
        base_tree=old,
        result_tree=new,
        changes=tuple(changes),
    )


def action_of(desk: RunDesk, action: str) -> ActionView:
    """Return an action as the log tells it. Raises: NotFound."""
    found = desk.view().actions.get(action)
    if found is None:
        raise NotFound(f"{desk.run.id} has no action {action[:40]!r}", hint=f"git nexus review {desk.run.id}")
    return found
