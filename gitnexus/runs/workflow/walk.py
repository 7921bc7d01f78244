"""A workflow being walked: driven by one process, kept as it goes, and left where a person has to answer."""

from gitnexus.app.cyclerun import reported
from gitnexus.app.keeping import kept_beyond
from gitnexus.app.livestage import LiveStage, handed
from gitnexus.app.runagenda import proposed
from gitnexus.app.runagent import Show
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.running import Ask, Review, make_agreed_worktree, recorded
from gitnexus.app.runsetup import failed_in_it, prepared
from gitnexus.app.workflow import workflow_settings
from gitnexus.base.errors import Failed
from gitnexus.events.kinds import short
from gitnexus.events.view import RunView
from gitnexus.policy.model import Network
from gitnexus.runs.model import ENDED
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.flow import Verdict

_OPEN = ("proposed", "waiting", "approved", "unknown")


def walked(
    desk: RunDesk, show: Show, review: Review | None, network: Network | None = None, ask: Ask | None = None,
    *, ends: bool = False,
) -> RunView:  # fmt: skip
    """Bring a workflow as far as it comes now. Raises: NexusError."""
    definition = desk.workflow()
    if definition is None:
        raise Failed(f"{desk.run.id} is no workflow")
    with desk.driving():
        view = desk.view()
        if failed_in_it(view):
            by = short(desk.state.author.name, 200)
            desk.log.append("run.resumed", "user", {"by": by, "definition": desk.run.definition})
        if desk.view().status not in ENDED:
            make_agreed_worktree(desk, ends=ends)
            _walk(desk, definition, show, review, network, ask)
        reported(desk, definition)
        kept_beyond(desk, definition, lambda action: handed(desk, action))
        desk.checkpointed()
    return recorded(desk)


def _walk(
    desk: RunDesk, definition: WorkflowDefinition, show: Show, review: Review | None, network: Network | None,
    ask: Ask | None,
) -> None:  # fmt: skip
    if failed := _made_ready(desk, definition, show, network):
        _finish(desk, Verdict(False, failed))
        return

    def completed(node: WorkflowNode) -> None:
        desk.checkpointed()
        reported(desk, definition)

    weights = workflow_settings(desk.state).weights
    stage = LiveStage(desk, definition, show, review, network, weights, ask, completed)
    engine = Engine(definition, stage, desk.run.task)
    verdict = engine.walk()
    if verdict is not None and (not verdict.ok or _left_behind(stage, engine)):
        _finish(desk, verdict)


def _left_behind(stage: LiveStage, engine: Engine) -> bool:
    """Propose what the run changes in the agenda; False while that waits for an answer. A no to it ends nothing."""
    desk = stage.desk
    for action in proposed(desk, engine.titles_done()):
        if desk.view().actions[action].status not in ("executed", "denied"):
            stage.settle(action)
    return not any(one.status in _OPEN for one in desk.view().actions.values())


def _made_ready(desk: RunDesk, definition: WorkflowDefinition, show: Show, network: Network | None) -> str:
    """Make the worktree ready where something will run in it."""
    runs = any(one.type in ("exec", "command") for one in definition.nodes)
    return prepared(desk, desk.definition(), show, network) if runs else ""


def _finish(desk: RunDesk, verdict: Verdict) -> None:
    body = {"ok": verdict.ok, **({"why": short(verdict.why)} if verdict.why else {})}
    desk.log.append("run.finished", "nexus", body)
