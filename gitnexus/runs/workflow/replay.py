"""Replays a run's workflow from its log, here or in any clone with the run's ref."""

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import NotFound, VerificationFailed
from gitnexus.events.checkpoint import load_checkpoint
from gitnexus.runs.open_run import WORKFLOW, OpenRun
from gitnexus.runs.story import read_events
from gitnexus.workflow.definition import WorkflowDefinition, parse_workflow, workflow_hash
from gitnexus.workflow.replay import ReplayResult, replay_log


def replay_workflow(run: OpenRun) -> ReplayResult | None:
    """Return the engine's result from the log alone, None for a run with one agent. Raises: VerificationFailed."""
    definition = _workflow_definition(run)
    if definition is None:
        return None
    kept = load_checkpoint(run.state.objects, run.record.id)

    def fetch(digest: str) -> bytes:
        try:
            return run.artifacts.read(digest)
        except NotFound:
            if kept is None:
                raise
            return kept.artifact(digest)

    return replay_log(definition, list(read_events(run)), fetch)


def _workflow_definition(run: OpenRun) -> WorkflowDefinition | None:
    try:
        return run.workflow()
    except NotFound:
        kept = load_checkpoint(run.state.objects, run.record.id)
        if kept is None:
            raise
    value = parse_json(kept.workflow())
    if not isinstance(value, dict) or (value.get("version") == 1 and type(value["version"]) is int):
        return None
    found = parse_workflow(value, WORKFLOW)
    if workflow_hash(found) != run.record.definition:
        raise VerificationFailed(f"the definition of {run.record.id} is not the one that it was started with")
    return found
