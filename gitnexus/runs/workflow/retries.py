"""Lets the steps that a model gave up on be tried again: answers the question that each of them left in the log."""

from gitnexus.runs.actions.ask import answer_question
from gitnexus.runs.model import ENDED
from gitnexus.runs.open_run import OpenRun
from gitnexus.workflow.outputs import GAVE_UP

_AGAIN = "Try again."


def retry_given_up_steps(run: OpenRun) -> list[str]:
    """Answer the questions of steps that are out of tries with "try again"; return their names. Raises: NexusError."""
    if run.record.session or run.view().status in ENDED:
        return []
    names = [name for name, text in run.view().questions.items() if text.startswith(GAVE_UP)]
    return [answer_question(run, _AGAIN, name) for name in names]
