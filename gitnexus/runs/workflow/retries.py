"""Lets what a specialist failed be tried again: steps that it gave up on, and nodes with which a run failed."""

from gitnexus.events.kinds import shorten_text
from gitnexus.runs.actions.ask import answer_question
from gitnexus.runs.model import ENDED
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.prepare import failed_in_setup
from gitnexus.runs.record import refresh_run_record
from gitnexus.runs.steps import steps_to_try_again
from gitnexus.workflow.flow import Flow
from gitnexus.workflow.outputs import GAVE_UP
from gitnexus.workflow.progress import WorkflowProgress

_AGAIN = "Try again."


def retry_given_up_steps(run: OpenRun) -> list[str]:
    """Answer the questions of steps that are out of tries with "try again"; return their names. Raises: NexusError."""
    if run.record.session or run.view().status in ENDED:
        return []
    names = [name for name, text in run.view().questions.items() if text.startswith(GAVE_UP)]
    return [answer_question(run, _AGAIN, name) for name in names]


def nodes_to_try_again(run: OpenRun) -> list[str]:
    """Return the nodes with which a run failed and that may be tried again.

    What a person or the policy denied stays denied, and a run that landed is over.
    """
    view = run.view()
    definition = run.workflow() if view.status == "failed" and not run.record.session else None
    if view.landed or failed_in_setup(view):
        return []
    if definition is None:
        return steps_to_try_again(run)
    progress = WorkflowProgress()
    progress.fold(run.events())
    return Flow(definition).nodes_to_try_again(progress)


def retry_failed_nodes(run: OpenRun) -> list[str]:
    """Log that the nodes with which a run failed are tried again; return them. Raises: NexusError."""
    if not nodes_to_try_again(run):
        return []
    with run.driving():
        again = nodes_to_try_again(run)
        if again:
            by = shorten_text(run.state.author.name, 200)
            run.log.append("run.resumed", "user", {"by": by, "definition": run.record.definition, "again": again})
            refresh_run_record(run)
    return again
