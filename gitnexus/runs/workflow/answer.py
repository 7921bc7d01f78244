"""Reads the answer of a run that only researched something, and decides whether a workflow does only that."""

from gitnexus.base.canonical import parse_json
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.prompts.model import ResearchBundle
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.routing import workflow_settings
from gitnexus.state import State
from gitnexus.workflow.definition import NodeType, WorkflowDefinition
from gitnexus.workflow.progress import WorkflowProgress
from gitnexus.workflow.run_definition import BACKINGS, EMBEDDED

# Patterns that match every file.
_ALL = frozenset({"*", "**", "**/*"})
_READS: frozenset[NodeType] = frozenset({"research", "review"})


def only_reads(state: State, definition: WorkflowDefinition) -> bool:
    """Return True if a workflow only reads, by rules or by a model, and no rule of the policy keeps agents from it."""
    backed = workflow_settings(state).specialist_adapters()
    for one in definition.nodes:
        if one.type not in _READS or (one.adapter or backed.get(one.specialist, EMBEDDED)) not in BACKINGS:
            return False
    return not any(
        rule.subject == "read" and rule.verdict in ("ask", "deny") and _ALL & set(rule.patterns)
        for rule in read_policy_in_force(state).compiled.rules
    )


def answer_of_run(run: OpenRun) -> ResearchBundle | None:
    """Return what a completed run found out, None if it did anything else. Raises: NexusError."""
    definition = run.workflow()
    if definition is None or any(one.type not in _READS for one in definition.nodes):
        return None
    progress = WorkflowProgress()
    progress.fold(run.events())
    last = progress.nodes.get(definition.nodes[-1].id)
    name = f"{definition.nodes[-1].type}.json"
    if last is None or last.status != "completed" or name not in last.outputs:
        return None
    return ResearchBundle.from_value(parse_json(run.artifacts.read(last.outputs[name])), name)
