"""What a workflow leaves behind in the agenda: proposed when it is through, and committed on its branch once approved.

The action is the change of one document. A yes to it is a yes to exactly one patch, the one that makes that document of
that one: it is proposed and granted in the same breath, so that the commit carries a token like every other.
"""

import hashlib

from gitnexus.app import proposing
from gitnexus.app.agenda import Patch, difference, graph_of, patches
from gitnexus.app.runact import bench_for
from gitnexus.app.runcommit import tip_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import next_action, propose, request_of
from gitnexus.base.errors import Conflict, DeniedByPolicy, NexusError
from gitnexus.docgraph.model import Doc
from gitnexus.docgraph.phases import Edit
from gitnexus.gateway.patching import checked
from gitnexus.git.private import private
from gitnexus.policy.model import AgendaRequest
from gitnexus.policy.request import digest

KIND = "agenda_patch"


def proposed(desk: RunDesk, titles: frozenset[str]) -> list[str]:
    """Propose what the run changes in the agenda, unless it has; return the actions. Raises: NexusError.

    `titles` are the steps that it carried out: rows of the active phase that say the same are ticked.
    """
    known = [name for name, one in desk.view().actions.items() if one.kind == KIND]
    if known or tip_of(desk) == desk.run.base:
        return known
    names = []
    for one in _wanted(desk, titles):
        desk.artifacts.write(one.edit.path.rpartition("/")[2], one.edit.after, exact=True)
        if one.edit.before is not None:
            desk.artifacts.write(one.edit.path.rpartition("/")[2], one.edit.before, exact=True)
        names.append(proposing.other(desk, one.request, f"{one.edit.path}: {one.edit.why}", ""))
    return names


def applied(desk: RunDesk, action: str, request: AgendaRequest) -> str:
    """Make the commit that an approved change of a document is; return its id. Raises: NexusError."""
    from gitnexus.app.runapproval import committed_for  # it calls us

    now = _text_at(desk, request.path)
    if _digest(now) == request.new_digest:
        return tip_of(desk)  # made before a kill
    if _digest(now) != request.old_digest:
        raise Conflict(f"{request.path} is not what it was when {action} was proposed", hint="start a new run for it")
    after = desk.artifacts.read(request.new_digest)
    diff = difference(Edit(request.path, now, after, "")).encode()
    bench = bench_for(desk)
    with desk.proposing(), private(desk.worktree) as git:
        done = checked(git, tip_of(desk), diff, bench.rule_on)
        git.keep(done.result_tree)
        patch = request_of(desk, done.base, done.base_tree, done.result_tree, done.changes, request.role)
        name = next((name for name, one in desk.view().actions.items() if one.digest == digest(patch)), "")
        if not name:
            name = next_action(desk)
            decision = propose(desk, name, patch, desk.view().actions[action].summary, "")
            if decision.verdict == "deny":
                raise DeniedByPolicy(f"{decision.rule} denies it: {decision.why}", hint=decision.instead or None)
    return committed_for(desk, name, action)


def _wanted(desk: RunDesk, titles: frozenset[str]) -> list[Patch]:
    """Return the changes; none where no single phase is active, or one that cannot be edited."""
    graph = graph_of(desk.state, tip_of(desk))
    if len(graph.active) != 1:
        return []
    phase = graph.active[0]
    try:
        return patches(desk.state, graph, desk.run.id, phase, _ticked(phase, titles))
    except NexusError:
        return []  # a document that is broken or in the middle of a merge is left as it is


def _ticked(phase: Doc, titles: frozenset[str]) -> list[str]:
    wanted = {title.casefold() for title in titles}
    rows = [one for one in phase.steps if not one.done and one.text.casefold() in wanted]
    # By its words and not by its line, which moves when the run is linked; of two rows with the same words none is.
    said = [one.text.casefold() for one in phase.steps]
    return [one.id or one.text for one in rows if one.id or said.count(one.text.casefold()) == 1]


def _text_at(desk: RunDesk, path: str) -> bytes | None:
    with private(desk.worktree) as git:
        found = git.run("cat-file", "blob", f"{tip_of(desk)}:{path}")
    return found.stdout if found.returncode == 0 else None


def _digest(raw: bytes | None) -> str:
    return f"sha256:{hashlib.sha256(raw).hexdigest()}" if raw is not None else ""
