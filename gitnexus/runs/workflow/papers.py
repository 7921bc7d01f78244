"""What a workflow leaves behind beyond its run: plans and research as papers on the state ref, in one transaction."""

from collections.abc import Callable

from gitnexus.app.rundesk import RunDesk
from gitnexus.base.canonical import parse
from gitnexus.prompts.model import Plan, ResearchBundle
from gitnexus.state import Change, Snapshot
from gitnexus.workflow.definition import EMBEDDED, WorkflowDefinition, WorkflowNode
from gitnexus.workflow.flow import Flow
from gitnexus.workflow.outputs import PLAN
from gitnexus.workflow.papers import Origin, paper_id, papers_of
from gitnexus.workflow.progress import Progress


def kept_beyond(desk: RunDesk, definition: WorkflowDefinition, told: Callable[[str], tuple[str, str]]) -> None:
    """Put plans and research of a run on the state ref, as far as they are not there. Raises: NexusError."""
    progress = Progress()
    progress.fold(desk.log.read())
    flow = Flow(definition, told)
    wanted: dict[str, bytes] = {}
    for node in [*(flow.nodes[id_] for id_ in flow.order), *(one.node for one in flow.sides(progress))]:
        wanted |= _papers(desk, flow, progress, node)

    def decide(snapshot: Snapshot) -> Change[None]:
        files: dict[str, bytes | None] = {path: raw for path, raw in wanted.items() if snapshot.read(path) != raw}
        return Change(files, f"plans: what {desk.run.id} found and planned", None)

    if wanted:
        desk.state.transact(decide)


def plan_path(run: str, node: str) -> str:
    """Return where the plan of a node lies on the state ref."""
    return f"plans/{paper_id('plan', Origin(run=run, node=node))}.json"


def papers_of_run(desk: RunDesk) -> list[str]:
    """Return the pages that a run left on the state ref, by their paths in `.nexus/`."""
    snapshot = desk.state.latest()
    names = [f"{folder}/{name}" for folder in ("plans", "research") for name in snapshot.names(folder)]
    return [f".nexus/{path}" for path in names if path.endswith(".md") and f".{desk.run.id}." in path]


def _papers(desk: RunDesk, flow: Flow, progress: Progress, node: WorkflowNode) -> dict[str, bytes]:
    state = progress.nodes.get(node.id)
    if state is None or state.status != "completed":
        return {}
    found: dict[str, bytes] = {}
    if PLAN in state.outputs:
        # A plan that was changed is still that plan: what it was before, the history of the ref tells.
        plan = Plan.from_value(parse(desk.artifacts.read(state.outputs[PLAN])), PLAN)
        found |= papers_of(plan, _origin(desk, node, flow.paper(progress, node.id)))
    for kind in ("research", "review"):
        if digest := state.outputs.get(f"{kind}.json"):
            bundle = ResearchBundle.from_value(parse(desk.artifacts.read(digest)), f"{kind}.json")
            found |= papers_of(bundle, _origin(desk, node, node.id), kind)
    return found


def _origin(desk: RunDesk, node: WorkflowNode, of: str) -> Origin:
    by = f"{node.specialist}/{node.adapter or EMBEDDED}"
    return Origin(run=desk.run.id, node=of, by=by, base=desk.run.base, task=desk.run.task)
