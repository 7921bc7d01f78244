"""Drives a run's workflow in one process until it ends or a person has to answer; writes its log and record."""

from gitnexus.base.errors import Failed
from gitnexus.events.kinds import shorten_text
from gitnexus.policy.model import Network
from gitnexus.runs.actions.agenda import propose_agenda_changes
from gitnexus.runs.agent.run import Show
from gitnexus.runs.model import ENDED, OPEN
from gitnexus.runs.open_run import Ask, OpenRun, Review
from gitnexus.runs.prepare import failed_in_setup, prepare_worktree
from gitnexus.runs.workflow.cycle_tasks import report_results_to_session
from gitnexus.runs.workflow.papers import save_papers
from gitnexus.runs.workflow.routing import workflow_settings
from gitnexus.runs.workflow.stage import LiveStage, receiver_and_message
from gitnexus.runs.worktree import make_agreed_worktree
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.flow import WorkflowVerdict


def drive_workflow(
    run: OpenRun,
    show: Show,
    review: Review | None,
    network: Network | None = None,
    ask: Ask | None = None,
    *,
    ends: bool = False,
) -> frozenset[str]:
    """Drive a workflow as far as possible; return what it saw to be open at last. Raises: NexusError."""
    definition = run.workflow()
    if definition is None:
        raise Failed(f"{run.record.id} is not a workflow")
    left: frozenset[str] = frozenset()
    with run.driving():
        view = run.view()
        if failed_in_setup(view):
            by = shorten_text(run.state.author.name, 200)
            run.log.append("run.resumed", "user", {"by": by, "definition": run.record.definition})
        if run.view().status not in ENDED:
            make_agreed_worktree(run, ends=ends)
            left = _run_engine(run, definition, show, review, network, ask)
        report_results_to_session(run, definition)
        save_papers(run, definition, lambda action: receiver_and_message(run, action))
        run.write_checkpoint()
    return left


def _run_engine(
    run: OpenRun,
    definition: WorkflowDefinition,
    show: Show,
    review: Review | None,
    network: Network | None,
    ask: Ask | None,
) -> frozenset[str]:
    if failed := _prepare_if_needed(run, definition, show, network):
        _log_run_finished(run, WorkflowVerdict(False, failed))
        return frozenset()

    def on_completed(node: WorkflowNode) -> None:
        run.write_checkpoint()
        report_results_to_session(run, definition)

    weights = workflow_settings(run.state).weights
    stage = LiveStage(run, definition, show, review, network, weights, ask, on_completed)
    engine = Engine(definition, stage, run.record.task)
    verdict = engine.walk()
    if verdict is not None and (not verdict.ok or _settle_agenda_changes(stage, engine)):
        _log_run_finished(run, verdict)
    actions = engine.progress.actions.items()
    return frozenset(engine.progress.questions) | {name for name, one in actions if one.status in OPEN}


def _settle_agenda_changes(stage: LiveStage, engine: Engine) -> bool:
    """Propose the run's document changes; False while they wait for an answer. A denial ends nothing."""
    run = stage.run
    for action in propose_agenda_changes(run, engine.titles_of_done_steps()):
        if run.view().actions[action].status not in ("executed", "denied"):
            stage.settle(action)
    return not any(one.status in OPEN for one in run.view().actions.values())


def _prepare_if_needed(run: OpenRun, definition: WorkflowDefinition, show: Show, network: Network | None) -> str:
    """Prepare the worktree if something will run in it; return why it failed, "" on success."""
    runs = any(one.type in ("exec", "command") for one in definition.nodes)
    return prepare_worktree(run, run.definition(), show, network) if runs else ""


def _log_run_finished(run: OpenRun, verdict: WorkflowVerdict) -> None:
    body = {"ok": verdict.ok, **({"why": shorten_text(verdict.why)} if verdict.why else {})}
    run.log.append("run.finished", "nexus", body)
