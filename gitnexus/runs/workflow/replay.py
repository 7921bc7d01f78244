"""A run's workflow walked once more by its log, here or in any clone that has the run's ref."""

from gitnexus.app.rundesk import WORKFLOW, RunDesk
from gitnexus.app.runstory import events_of
from gitnexus.base.canonical import parse
from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.events.checkpoint import load
from gitnexus.workflow.definition import WorkflowDefinition, definition_of, hash_of
from gitnexus.workflow.replay import Replayed, replayed


def redriven(desk: RunDesk) -> Replayed | None:
    """Return what the engine comes to by the log alone, None for a run of one agent. Raises: VerificationFailed."""
    definition = _definition(desk)
    if definition is None:
        return None
    kept = load(desk.state.objects, desk.run.id)

    def fetch(digest: str) -> bytes:
        try:
            return desk.artifacts.read(digest)
        except NotFound:
            if kept is None:
                raise
            return kept.artifact(digest)

    return replayed(definition, list(events_of(desk)), fetch)


def _definition(desk: RunDesk) -> WorkflowDefinition | None:
    try:
        return desk.workflow()
    except NotFound:
        kept = load(desk.state.objects, desk.run.id)
        if kept is None:
            raise
    value = parse(kept.workflow())
    if not isinstance(value, dict) or value.get("version") == 1:
        return None
    found = definition_of(value, WORKFLOW)
    if hash_of(found) != desk.run.definition:
        raise VerificationFailed(f"the definition of {desk.run.id} is not the one that it was started with")
    return found
