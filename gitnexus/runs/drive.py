"""Drives an open run: starts its agents, proposes and executes their changes, and logs its end or what it waits for."""

import contextlib

from gitnexus.adapters.protocol import AgentEnd
from gitnexus.base.errors import Busy, DeniedByPolicy, Failed, Invalid, NexusError, NotFound
from gitnexus.events.kinds import shorten_text
from gitnexus.events.view import ActionView, RunView
from gitnexus.events.view_builder import MENDED
from gitnexus.gateway.sandboxed import WorktreeSandbox
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.locks import change_refs
from gitnexus.git.private import private_git
from gitnexus.git.worktree_tree import write_worktree_tree
from gitnexus.policy.model import Network
from gitnexus.runs.actions import approve
from gitnexus.runs.actions.propose import propose_worktree_changes
from gitnexus.runs.actions.rebase import rebase_waiting_patch
from gitnexus.runs.agent.attempts import read_attempt_end, save_attempt_end
from gitnexus.runs.agent.run import Show, resumes_session, run_agent
from gitnexus.runs.foreign_consent import require_agreement
from gitnexus.runs.lost_steps import restart_lost_steps
from gitnexus.runs.model import ENDED, OPEN, Status
from gitnexus.runs.open_run import Ask, OpenRun, Review
from gitnexus.runs.prepare import failed_in_setup, prepare_worktree
from gitnexus.runs.record import refresh_run_record
from gitnexus.runs.steps import denial_to_mend, is_tried_again, steps_of
from gitnexus.runs.worktree import make_agreed_worktree, reset_worktree_for_retry, reset_worktree_to_branch
from gitnexus.workflow.run_definition import RunDefinition, RunNode


def take_over_run(run: OpenRun) -> None:
    """Continue a run from another machine: reset its branch and worktree to what its log records.

    Changes that the agent there had not proposed are lost, so that step is done again.
    """
    made = [str(event.body["commit"]) for event in run.log.read() if event.kind == "run.committed"]
    at = made[-1] if made else run.record.base
    argv = ("update-ref", "--create-reflog", "-m", "nexus: taken over", run.branch, at)
    change_refs(*argv, git_dir=run.repo.common_dir)
    reset_worktree_to_branch(run)
    restart_lost_steps(run)


def drive_run(
    run: OpenRun,
    show: Show,
    review: Review | None,
    network: Network | None = None,
    ask: Ask | None = None,
    *,
    ends: bool = False,
) -> RunView:
    """Drive a run to its end, or until a person has to answer; return its view. Raises: NexusError.

    `ask` puts a workflow's question to the user; without it the question waits for `git nexus answer`. `ends` means
    that nothing is left to start, so no agreement to another person's definition is needed.
    """
    if not ends:
        require_agreement(run)
    if run.record.session:
        raise Failed(
            f"{run.record.id} is a session of {run.record.agent}: it continues there, not here",
            hint=f"its id there is {run.record.session}",
        )
    run.reviewer, run.asker = review, ask
    before: frozenset[str] | None = None
    while True:
        try:
            left = _drive_to_question(run, show, review, network, ask, ends=ends)
        except Busy:
            if before is None:
                raise
            return refresh_run_record(run)  # another process saw the answer first
        view = refresh_run_record(run)
        if left == before or not _was_answered(view, left):
            return view
        before = left


def _was_answered(view: RunView, left: frozenset[str]) -> bool:
    """True if a person answered from elsewhere what a driver left open, between its last look and its exit."""
    open_ = {name for name, one in view.actions.items() if one.status in OPEN} | set(view.questions)
    return view.status not in ENDED and bool(left - open_)


def _drive_to_question(
    run: OpenRun, show: Show, review: Review | None, network: Network | None, ask: Ask | None, *, ends: bool
) -> frozenset[str]:
    """Drive a run as far as possible; return the actions and questions that were seen to be open at last."""
    if run.workflow() is not None:
        from gitnexus.runs.workflow.walk import drive_workflow  # imports the engine: only workflows need it

        return drive_workflow(run, show, review, network, ask, ends=ends)
    with run.driving():
        definition = run.definition()
        view = run.view()
        if failed_in_setup(view):
            by = shorten_text(run.state.author.name, 200)
            run.log.append("run.resumed", "user", {"by": by, "definition": run.record.definition})
        waits: list[str] = []
        failed = ""
        if run.view().status not in ENDED:
            make_agreed_worktree(run, ends=ends)
            failed = prepare_worktree(run, definition, show, network)
            tries_again = True
            while tries_again:
                for node in definition.nodes:
                    failed = failed or _run_node(run, definition, node, show, network)
                    known = run.view().nodes.get(node.id)
                    if known is not None and known.status == "blocked":
                        break
                waits = _settle_actions(run, review)
                tries_again = not (waits or failed) and any(denial_to_mend(run, one) for one in definition.nodes)
            while not waits and not failed and (step := _next_handoff_step(run, definition)):
                failed = _run_handoff_step(run, definition, step, show, network)
                waits = _settle_actions(run, review)
        view = run.view()
        left = frozenset((*waits, *view.questions))
        if not waits and view.status not in ENDED and not view.questions and (failed or view.status != "blocked"):
            denied = denied_patches(view)
            why = failed or (f"{', '.join(denied)} denied" if denied else "")
            run.log.append("run.finished", "nexus", {"ok": not why, **({"why": shorten_text(why)} if why else {})})
        run.write_checkpoint()
    return left


def _next_handoff_step(run: OpenRun, definition: RunDefinition) -> RunNode | None:
    """Return the first unfinished step that came from a handoff; None if the run is over or a question is open."""
    view = run.view()
    if view.status in ENDED or view.questions:
        return None
    handed = steps_of(run, definition)[len(definition.nodes) :]
    return next((one for one in handed if one.id not in view.nodes or view.nodes[one.id].status != "completed"), None)


def _run_handoff_step(
    run: OpenRun, definition: RunDefinition, step: RunNode, show: Show, network: Network | None
) -> str:
    """Run the agent that received a handoff, from the last commit; return why it failed, "" on success."""
    if step.id not in run.view().nodes:
        head = tip_of_ref(run.repo, run.branch) or run.record.base
        with private_git(run.worktree) as git:
            differs = bool(write_worktree_tree(git, run.worktree_path, head).changes)
        if differs:
            reset_worktree_for_retry(run, step.id, 0)
        if failed := prepare_worktree(run, definition, show, network):
            return failed
    return _run_node(run, definition, step, show, network)


def cancel_run(run: OpenRun, reason: str, by: str = "") -> RunView:
    """Log that the run is cancelled and stop its driver; branch and worktree stay. Raises: NexusError.

    A cancellation that was killed after it was logged is finished.
    """
    status = run.view().status
    if status in ENDED and not (status == "cancelled" != run.record.status):
        raise Failed(f"{run.record.id} is {status} already")
    if status != "cancelled":
        body = {"by": shorten_text(by or run.state.author.name, 200), "why": shorten_text(reason)}
        run.log.append("run.cancelled", "user", body)
    run.stop_driver()
    with contextlib.suppress(NexusError):  # signed, so that other clones accept it as a fact
        run.write_checkpoint()
    return refresh_run_record(run)


def _run_node(run: OpenRun, definition: RunDefinition, node: RunNode, show: Show, network: Network | None) -> str:
    """Run a node's agent unless it already ended, and propose its changes; return why it failed, "" on success."""
    before = run.view().nodes.get(node.id)
    denied = denial_to_mend(run, node)
    if before is not None and before.status in ("completed", "failed") and not denied:
        return before.why if before.status == "failed" else ""
    if denied:
        run.log.append("step.retried", "nexus", {"node": node.id, "step": "-", "why": shorten_text(denied)})
    asked_before = before is not None and (before.status == "blocked" or bool(denied))
    if asked_before and run.view().questions:
        return ""
    # An agent that ended with a question is restarted once it is answered, and one that failed if a person resumes the
    # run; one that was killed after its end is not.
    again = asked_before or is_tried_again(run, node.id)
    ended = read_attempt_end(run, node, before.attempts) if before and not again else None
    if ended is None:
        if before is not None and not resumes_session(run, node):
            reset_worktree_for_retry(run, node.id, before.attempts)
            if failed := prepare_worktree(run, definition, show, network):
                return failed
        ended = _attempt_node(run, definition, node, before.attempts if before else 0, show, network)
    # Propose the changes before the step counts as done: after a kill in between, the same tree is proposed again.
    try:
        propose_worktree_changes(run, run.record.title, node.id)
    except Invalid as exc:
        run.log.append("node.failed", "nexus", {"node": node.id, "why": shorten_text(exc.message)})
        return exc.message
    asked = list(run.view().questions)
    if ended.ok and asked:
        why = f"{', '.join(asked)} waits for an answer"
        run.log.append(
            "node.blocked", "nexus", {"node": node.id, "why": why, "needs": f"git nexus answer {run.record.id}"}
        )
        return ""
    if ended.ok:
        run.log.append("node.completed", "nexus", {"node": node.id, "summary": shorten_text(ended.message, 1000)})
        return ""
    why = f"{node.adapter} {ended.reason}: {ended.message}" if ended.message else f"{node.adapter} {ended.reason}"
    run.log.append("node.failed", "nexus", {"node": node.id, "why": shorten_text(why)})
    return why


def _attempt_node(
    run: OpenRun, definition: RunDefinition, node: RunNode, before: int, show: Show, network: Network | None
) -> AgentEnd:
    """Run a node's agent once and save how that attempt ended. Raises: NexusError."""
    body = {"node": node.id, "agent": node.role or node.adapter, "adapter": node.adapter, "attempt": before + 1}
    with contextlib.suppress(NexusError):  # if no sandbox is available, run_agent() below raises the user-facing error
        body["sandbox"] = WorktreeSandbox(run.worktree, run.policy()).level
    run.log.append("node.started", "nexus", body)
    try:
        ended = run_agent(run, definition, node, show, network)
    except (NotFound, Invalid, DeniedByPolicy) as exc:
        # The agent never started. After any other error, such as a full disk, the step can be resumed.
        why = shorten_text(exc.message)
        run.log.append("node.failed", "nexus", {"node": node.id, "why": why})
        run.log.append("run.finished", "nexus", {"ok": False, "why": why})
        refresh_run_record(run)
        raise
    save_attempt_end(run, node, before + 1, ended)
    return ended


def _settle_actions(run: OpenRun, review: Review | None) -> list[str]:
    """Execute allowed and approved actions and ask about the rest; return the names that still wait."""
    waits = []
    for name, one in run.view().actions.items():
        if one.kind == "patch" and one.status == "waiting":
            rebase_waiting_patch(run, name)
    for name, one in actions_in_order(run.view()):
        if one.status == "unknown" and one.kind in MENDED:
            approve.finish_interrupted(run, name)
        elif one.status in ("proposed", "approved"):
            if not approve.execute_if_allowed(run, name) and run.view().actions[name].status != "denied":
                waits.append(name)
        elif one.status in ("waiting", "unknown"):
            waits.append(name)
    return [name for name in waits if review is None or not review(run, name)]


def actions_in_order(view: RunView) -> list[tuple[str, ActionView]]:
    """Return the actions in execution order: patches last, because the others were proposed before they apply."""
    return sorted(view.actions.items(), key=lambda row: row[1].kind == "patch")


def denied_patches(view: RunView) -> list[str]:
    """Return denied patches not followed by an executed one. Any executed patch clears the earlier denials.

    A patch that its agent replaced by another has no denier and is not counted.
    """
    found: list[str] = []
    for name, one in view.actions.items():
        if one.kind == "patch" and one.status == "executed":
            found = []
        elif one.kind == "patch" and one.status == "denied" and one.by:
            found.append(name)
    return found


def displayed_status(view: RunView, *, driven: bool, in_order: bool = False) -> Status | str:
    """Return the status to show for an unfinished run.

    One that no process drives is "stopped" if its last driver was killed, and "ready" if that left it `in_order` and
    everything was answered since: nobody lets it go on yet.
    """
    if not driven:
        begun = any(one.status in ("approved", "unknown") for one in view.actions.values())
        idle = "ready" if in_order and not begun else "stopped"
        return idle if view.status == "running" else view.status
    asks = view.questions or any(one.status == "waiting" for one in view.actions.values())
    return "running" if view.status in ("waiting", "blocked") and not asks else view.status
