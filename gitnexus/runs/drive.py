"""A run from its beginning to its end, and on from wherever it stopped."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitnexus.adapters.protocol import Ended
from gitnexus.app import runapproval
from gitnexus.app.agreeing import require_agreement
from gitnexus.app.confine import Sandbox, foreseen
from gitnexus.app.lostwork import once_more
from gitnexus.app.policy import policy_here
from gitnexus.app.recorder import folder_of
from gitnexus.app.runagent import Show, goes_on, worked
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runend import keep_end, read_end
from gitnexus.app.runproposal import proposed_tree
from gitnexus.app.runrenew import current
from gitnexus.app.runsetup import failed_in_it, prepared, unprepared
from gitnexus.app.runsteps import steps_of
from gitnexus.base.chance import token as chance
from gitnexus.base.clock import now, stamp
from gitnexus.base.errors import DeniedByPolicy, Failed, Invalid, NexusError, NotFound
from gitnexus.base.files import make_private_folder
from gitnexus.base.text import one_line
from gitnexus.events.fold import MENDED
from gitnexus.events.kinds import short
from gitnexus.events.model import definition_hash
from gitnexus.events.view import ActionView, RunView
from gitnexus.git.branches import current as branch_here
from gitnexus.git.branches import raw_of, tip
from gitnexus.git.checkout import added, emptied, filled, is_filled
from gitnexus.git.child import run as git_run
from gitnexus.git.ondisk import worktree_tree
from gitnexus.git.private import private
from gitnexus.git.refs import plain_head_of
from gitnexus.policy.model import Mode, Network
from gitnexus.redaction.stored import redact_text
from gitnexus.runs.definition import Definition, Node
from gitnexus.runs.ids import mint
from gitnexus.runs.model import ENDED, Run, Status
from gitnexus.runs.storable import storable
from gitnexus.runs.store import changed, ids_in, put
from gitnexus.state import State
from gitnexus.state.format import id_of

if TYPE_CHECKING:
    from gitnexus.workflow.definition import WorkflowDefinition

# Asks about an action; True if it was answered, False if it is left waiting.
Review = Callable[[RunDesk, str], bool]
# Puts a question (its name, its text) to a person who is there; the answer, nothing if it is left open.
Ask = Callable[[RunDesk, str, str], str]


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants done."""

    definition: "Definition | WorkflowDefinition"
    title: str
    base: str = "HEAD"
    mode: Mode | None = None
    task: str = ""


def started(state: State, wish: Wish) -> RunDesk:
    """Begin a run: its record, its log, its branch and its worktree. Raises: NexusError."""
    base = commit_of(state, wish.base)
    # How much is asked is part of what the run is: whoever changes it afterwards is found out.
    law = policy_here(state).law
    definition = storable(wish.definition).changed(mode=wish.mode or law.mode)
    hash_ = definition_hash(definition.plain())
    snapshot = state.required()
    run = Run(
        id=claimed(state, ids_in(snapshot)),
        title=one_line(redact_text(wish.title), 200),
        agent=agent_in(wish.definition),
        base=base,
        definition=hash_,
        created=stamp(now()),
        onto=branch_here(state.repo),
        task=wish.task,
    )
    return began(state, run, definition)


def began(state: State, run: Run, definition: "Definition | WorkflowDefinition") -> RunDesk:
    """Begin a run whose name and definition are settled. Raises: NexusError."""
    desk = RunDesk(state, run)
    make_private_folder(desk.folder)
    desk.write_definition(definition)
    desk.begun_here()
    body = {"run": run.id, "definition": run.definition, "task": short(run.title), "agent": run.agent,
            "project": id_of(state.snapshot) or "unknown", "base": run.base, "branch": run.branch,
            **({} if isinstance(definition, Definition) else {"workflow": definition.name})}  # fmt: skip
    desk.log.append("workflow.started", "user", body)
    put(state, run, f"runs: begin {run.id}")
    law = policy_here(state).law
    desk.stamps = added(state.repo, desk.place, desk.branch, run.base, run.id, lambda: foreseen(law))
    return desk


def refilled(desk: RunDesk) -> None:
    """Bring the worktree of a run that another machine went on with to its branch; what lies there is set aside."""
    if (desk.place / ".git").exists() and is_filled(desk.worktree):
        emptied(desk.worktree, desk.folder / f"left-{chance(8)}")
        desk.stamps = filled(desk.worktree, tip(desk.repo, desk.branch) or desk.run.base)
    else:
        at_its_place(desk)


def taken_over(desk: RunDesk) -> None:
    """Let a run go on whose agent worked on another machine: branch and files as its log tells, and no more.

    What an agent had in its worktree there and did not propose is gone, so it works on that step once more.
    """
    made = [str(event.body["commit"]) for event in desk.log.read() if event.kind == "run.committed"]
    at = made[-1] if made else desk.run.base
    git_run("update-ref", "--create-reflog", "-m", "nexus: taken over", desk.branch, at, git_dir=desk.repo.common_dir)
    refilled(desk)
    once_more(desk)


def agent_in(definition: "Definition | WorkflowDefinition") -> str:
    """Return who works, in a word: of a workflow the one who changes something, if anybody does."""
    if isinstance(definition, Definition):
        return definition.nodes[0].adapter
    from gitnexus.workflow.definition import lowered

    nodes = {one.id: one.adapter for one in lowered(definition).nodes}
    return nodes[next((one.id for one in definition.nodes if one.type == "exec"), definition.nodes[-1].id)]


def claimed(state: State, taken: list[str]) -> str:
    """Return a new id whose folder is ours alone: of two processes that draw the same, one draws again."""
    for _ in range(100):
        found = mint(now(), taken)
        place = folder_of(state.repo.common_dir, found)
        make_private_folder(place.parent)
        with contextlib.suppress(FileExistsError):
            place.mkdir(mode=0o700)
            return found
    raise Failed("no free name for a run was found")


def driven(
    desk: RunDesk, show: Show, review: Review | None, network: Network | None = None, ask: Ask | None = None,
    *, ends: bool = False,
) -> RunView:  # fmt: skip
    """Bring a run as far as it comes now: to its end, or to where a person has to answer. Raises: NexusError.

    `ask` puts a question of a workflow to who is there; without it, `git nexus answer` does later. `ends` is for a run
    in which nothing is left to start: then nobody has to have agreed to what somebody else defined.
    """
    if not ends:
        require_agreement(desk)
    if desk.run.session:
        raise Failed(
            f"{desk.run.id} is a session of {desk.run.agent}: it goes on there, not here",
            hint=f"its id there is {desk.run.session}",
        )
    desk.reviewer, desk.asker = review, ask
    if desk.workflow() is not None:
        from gitnexus.app.walking import walked  # the engine and its specialists: only a workflow pays

        return walked(desk, show, review, network, ask, ends=ends)
    with desk.driving():
        definition = desk.definition()
        view = desk.view()
        if failed_in_it(view):
            by = short(desk.state.author.name, 200)
            desk.log.append("run.resumed", "user", {"by": by, "definition": desk.run.definition})
        waits: list[str] = []
        failed = ""
        if desk.view().status not in ENDED:
            make_agreed_worktree(desk, ends=ends)
            failed = prepared(desk, definition, show, network)
            for node in definition.nodes:
                failed = failed or _worked(desk, definition, node, show, network)
                known = desk.view().nodes.get(node.id)
                if known is not None and known.status == "blocked":
                    break
            waits = _answered(desk, review)
            while not waits and not failed and (step := _next(desk, definition)):
                failed = _taken_over(desk, definition, step, show, network)
                waits = _answered(desk, review)
        view = desk.view()
        if not waits and view.status not in ENDED and not view.questions and (failed or view.status != "blocked"):
            denied = unmet(view)
            why = failed or (f"{', '.join(denied)} denied" if denied else "")
            desk.log.append("run.finished", "nexus", {"ok": not why, **({"why": short(why)} if why else {})})
        desk.checkpointed()
    return recorded(desk)


def _next(desk: RunDesk, definition: Definition) -> Node | None:
    """Return the first step that was handed over to and is not done, if nothing stands before it."""
    view = desk.view()
    if view.status in ENDED or view.questions:
        return None
    handed = steps_of(desk, definition)[len(definition.nodes) :]
    return next((one for one in handed if one.id not in view.nodes or view.nodes[one.id].status != "completed"), None)


def _taken_over(desk: RunDesk, definition: Definition, step: Node, show: Show, network: Network | None) -> str:
    """Let who was handed over to work; it begins on what is committed, not on what was denied to another."""
    if step.id not in desk.view().nodes:
        head = tip(desk.repo, desk.branch) or desk.run.base
        with private(desk.worktree) as git:
            differs = bool(worktree_tree(git, desk.place, head).changes)
        if differs:
            anew(desk, step.id, 0)
        if failed := prepared(desk, definition, show, network):
            return failed
    return _worked(desk, definition, step, show, network)


def recorded(desk: RunDesk) -> RunView:
    """Bring the record of a run to what its log says. Raises: NexusError."""
    view = desk.view()
    head = tip(desk.repo, desk.branch) or ""
    over = view.status in ENDED

    def change(before: Run) -> Run:
        if before.status == "landed":
            return before
        ended = (before.ended or stamp(now())) if over else ""
        return before.changed(status=view.status, head=head if head != before.base else "", ended=ended)

    desk.run = changed(desk.state, desk.run.id, change, f"runs: {desk.run.id} is {view.status}")
    return view


def cancelled(desk: RunDesk, reason: str, by: str = "") -> RunView:
    """End a run where it is; its branch and its worktree stay. Raises: NexusError."""
    if desk.view().status in ENDED:
        raise Failed(f"{desk.run.id} is {desk.view().status} already")
    body = {"by": short(by or desk.state.author.name, 200), "why": short(reason)}
    desk.log.append("run.cancelled", "user", body)
    desk.stop_driver()
    with contextlib.suppress(NexusError):  # signed, so that others need not take it for a claim
        desk.checkpointed()
    return recorded(desk)


def _worked(desk: RunDesk, definition: Definition, node: Node, show: Show, network: Network | None) -> str:
    """Let a node's agent work unless it has; return why it failed, nothing if it did not."""
    before = desk.view().nodes.get(node.id)
    if before is not None and before.status in ("completed", "failed"):
        return before.why if before.status == "failed" else ""
    asked_before = before is not None and before.status == "blocked"
    if asked_before and desk.view().questions:
        return ""
    # Who ended with a question is started again once it is answered; who was killed after its end is not.
    ended = read_end(desk, node, before.attempts) if before and not asked_before else None
    if ended is None:
        if before is not None and not goes_on(desk, node):
            anew(desk, node.id, before.attempts)
            if failed := prepared(desk, definition, show, network):
                return failed
        ended = _attempted(desk, definition, node, before.attempts if before else 0, show, network)
    # What it changed is proposed before the step counts as done: a kill in between proposes the same tree again.
    try:
        proposed_tree(desk, desk.run.title, node.id)
    except Invalid as exc:
        desk.log.append("node.failed", "nexus", {"node": node.id, "why": short(exc.message)})
        return exc.message
    asked = list(desk.view().questions)
    if ended.ok and asked:
        why = f"{', '.join(asked)} waits for an answer"
        desk.log.append(
            "node.blocked", "nexus", {"node": node.id, "why": why, "needs": f"git nexus answer {desk.run.id}"}
        )
        return ""
    if ended.ok:
        desk.log.append("node.completed", "nexus", {"node": node.id, "summary": short(ended.message, 1000)})
        return ""
    why = f"{node.adapter} {ended.reason}: {ended.message}" if ended.message else f"{node.adapter} {ended.reason}"
    desk.log.append("node.failed", "nexus", {"node": node.id, "why": short(why)})
    return why


def _attempted(
    desk: RunDesk, definition: Definition, node: Node, before: int, show: Show, network: Network | None
) -> Ended:
    """Let a node's agent work, for the first time or again, and keep how that ended. Raises: NexusError."""
    body = {"node": node.id, "agent": node.role or node.adapter, "adapter": node.adapter, "attempt": before + 1}
    with contextlib.suppress(NexusError):  # told below, by who cannot start it
        body["sandbox"] = Sandbox(desk.worktree, desk.keeper().here.law).level
    desk.log.append("node.started", "nexus", body)
    try:
        ended = worked(desk, definition, node, show, network)
    except (NotFound, Invalid, DeniedByPolicy) as exc:
        # It never began. Anything else, such as a full disk, is left to be gone on with.
        why = short(exc.message)
        desk.log.append("node.failed", "nexus", {"node": node.id, "why": why})
        desk.log.append("run.finished", "nexus", {"ok": False, "why": why})
        recorded(desk)
        raise
    keep_end(desk, node, before + 1, ended)
    return ended


def make_agreed_worktree(desk: RunDesk, *, ends: bool) -> None:
    """Make the worktree, and look once more whether its commit was agreed to: from here on nobody else moves it."""
    at_its_place(desk)
    if not ends:
        require_agreement(desk)


def at_its_place(desk: RunDesk) -> None:
    """Make the worktree, or finish one whose making was killed: half of the files would look like a patch."""
    if not (desk.place / ".git").exists() or not is_filled(desk.worktree):
        head = tip(desk.repo, desk.branch) or desk.run.base
        desk.stamps = added(desk.repo, desk.place, desk.branch, head, desk.run.id)
        once_more(desk)


def anew(desk: RunDesk, node: str, attempt: int) -> None:
    """Give an agent that begins again the files that it began with; what the killed one left is set aside."""
    aside = desk.folder / f"left-{node}-{attempt}-{chance(4)}"
    unprepared(desk)
    emptied(desk.worktree, aside)
    desk.stamps = filled(desk.worktree, tip(desk.repo, desk.branch) or desk.run.base)
    text = f"what {f'attempt {attempt}' if attempt else 'the one before'} left lies in {aside}"
    desk.log.append("agent.progress", "nexus", {"text": short(text, 1000), "node": node})


def _answered(desk: RunDesk, review: Review | None) -> list[str]:
    """Carry out what is allowed or approved, ask about the rest; return what still waits."""
    waits = []
    for name, one in desk.view().actions.items():
        if one.kind == "patch" and one.status == "waiting":
            current(desk, name)
    for name, one in in_order(desk.view()):
        if one.status == "unknown" and one.kind in MENDED:
            runapproval.unknown(desk, name)
        elif one.status in ("proposed", "approved"):
            if not runapproval.allowed(desk, name) and desk.view().actions[name].status != "denied":
                waits.append(name)
        elif one.status in ("waiting", "unknown"):
            waits.append(name)
    return [name for name in waits if review is None or not review(desk, name)]


def in_order(view: RunView) -> list[tuple[str, ActionView]]:
    """Return the actions in the order to carry them out: patches last, the others were proposed on what is there."""
    return sorted(view.actions.items(), key=lambda row: row[1].kind == "patch")


def unmet(view: RunView) -> list[str]:
    """Return the patches that were denied with none done after them: what an agent was denied and did otherwise is met.

    One that its agent gave up for another has nobody who denied it.
    """
    found: list[str] = []
    for name, one in view.actions.items():
        if one.kind == "patch" and one.status == "executed":
            found = []
        elif one.kind == "patch" and one.status == "denied" and one.by:
            found.append(name)
    return found


def commit_of(state: State, revision: str) -> str:
    """Return the commit that a revision means. Raises: NotFound."""
    if revision == "HEAD" and (head := plain_head_of(state.repo)):
        return head
    asked = git_run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}",
                    git_dir=state.repo.git_dir)  # fmt: skip
    if asked.returncode != 0:
        hint = "make a first commit" if revision == "HEAD" else "name a commit, a branch or a tag"
        raise NotFound(f"there is no commit {one_line(revision, 80)}", hint=hint)
    return asked.stdout.decode("ascii").strip()


def lines_changed(desk: RunDesk) -> tuple[int, int]:
    """Return how many lines the run's branch adds and removes."""
    from gitnexus.git.showing import counts

    head = tip(desk.repo, desk.branch)
    if head is None:
        return 0, 0
    with private(desk.repo) as git:
        rows = counts(git, *(raw_of(desk.repo, one)[5:].split(b"\n")[0].decode() for one in (desk.run.base, head)))
    return sum(row.added or 0 for row in rows), sum(row.removed or 0 for row in rows)


def status_of(view: RunView, *, driven: bool) -> Status | str:
    """Return the status for people: a run that nobody drives and that is not over has stopped."""
    if not driven:
        return "stopped" if view.status == "running" else view.status
    asks = view.questions or any(one.status == "waiting" for one in view.actions.values())
    return "running" if view.status in ("waiting", "blocked") and not asks else view.status
