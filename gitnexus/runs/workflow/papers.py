"""Writes the plans and research of a workflow to the state ref in one transaction."""

from collections.abc import Callable

from gitnexus.base.canonical import parse_json
from gitnexus.prompts.model import Plan, ResearchBundle
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.found_research import SOURCES
from gitnexus.state import Change, Snapshot
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.flow import Flow
from gitnexus.workflow.outputs import PLAN
from gitnexus.workflow.papers import PaperOrigin, paper_files, paper_id
from gitnexus.workflow.progress import WorkflowProgress
from gitnexus.workflow.run_definition import EMBEDDED


def save_papers(run: OpenRun, definition: WorkflowDefinition, told: Callable[[str], tuple[str, str]]) -> None:
    """Write a run's plans and research to the state ref, unless they are there. Raises: NexusError."""
    progress = WorkflowProgress()
    progress.fold(run.events())
    flow = Flow(definition, told)
    wanted: dict[str, bytes] = {}
    for node in [*(flow.nodes[id_] for id_ in flow.order), *(one.node for one in flow.side_nodes(progress))]:
        wanted |= _papers_of_node(run, flow, progress, node)

    def decide(snapshot: Snapshot) -> Change[None]:
        files: dict[str, bytes | None] = {path: raw for path, raw in wanted.items() if snapshot.read(path) != raw}
        return Change(files, f"plans: what {run.record.id} found and planned", None)

    if wanted:
        run.state.transact(decide)


def plan_path(run: str, node: str) -> str:
    """Return the path of a node's plan in the state."""
    return f"plans/{paper_id('plan', PaperOrigin(run=run, node=node))}.json"


def papers_of_run(run: OpenRun) -> list[str]:
    """Return the documents that a run left on the state ref, by their paths in `.nexus/`."""
    snapshot = run.state.latest()
    names = [f"{folder}/{name}" for folder in ("plans", "research") for name in snapshot.names(folder)]
    return [f".nexus/{path}" for path in names if path.endswith(".md") and f".{run.record.id}." in path]


def _papers_of_node(run: OpenRun, flow: Flow, progress: WorkflowProgress, node: WorkflowNode) -> dict[str, bytes]:
    state = progress.nodes.get(node.id)
    if state is None or state.status != "completed":
        return {}
    found: dict[str, bytes] = {}
    if PLAN in state.outputs:
        # A changed plan keeps its path; the history of the ref has the earlier versions.
        plan = Plan.from_value(parse_json(run.artifacts.read(state.outputs[PLAN])), PLAN)
        found |= paper_files(plan, _paper_origin(run, node, flow.paper(progress, node.id)))
    for kind in ("research", "review"):
        if digest := state.outputs.get(f"{kind}.json"):
            bundle = ResearchBundle.from_value(parse_json(run.artifacts.read(digest)), f"{kind}.json")
            kept = state.outputs.get(SOURCES) if kind == "research" else None
            sources = parse_json(run.artifacts.read(kept)) if kept else None
            found |= paper_files(bundle, _paper_origin(run, node, node.id), kind, sources)
    return found


def _paper_origin(run: OpenRun, node: WorkflowNode, of: str) -> PaperOrigin:
    by = f"{node.specialist}/{node.adapter or EMBEDDED}"
    return PaperOrigin(run=run.record.id, node=of, by=by, base=run.record.base, task=run.record.task)
