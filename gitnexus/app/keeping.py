"""What a workflow leaves behind beyond its run: plans and research on the state ref, one transaction each time."""

from gitnexus.app.rundesk import RunDesk
from gitnexus.prompts.model import Plan, ResearchBundle
from gitnexus.state import Change, Snapshot
from gitnexus.workflow.definition import NodeType, WorkflowDefinition
from gitnexus.workflow.flow import Flow
from gitnexus.workflow.outputs import PLAN, read
from gitnexus.workflow.papers import Origin, plan_path, plan_text, research_path, research_text, with_origin
from gitnexus.workflow.progress import Progress


def kept_beyond(desk: RunDesk, definition: WorkflowDefinition) -> None:
    """Put plans and research of a run on the state ref, as far as they are not there. Raises: NexusError."""
    progress = Progress()
    progress.fold(desk.log.read())
    wanted: dict[str, bytes] = {}
    for path, (type_, adapter, digest) in shelf(desk.run.id, definition, progress).items():
        raw = desk.artifacts.read(digest)
        origin = Origin(run=desk.run.id, by=adapter, task=desk.run.task)
        wanted |= {path: raw, f"{path.removesuffix('.json')}.md": _for_people(type_, raw, path, origin)}

    def decide(snapshot: Snapshot) -> Change[None]:
        files: dict[str, bytes | None] = {path: raw for path, raw in wanted.items() if snapshot.read(path) != raw}
        return Change(files, f"plans: what {desk.run.id} found and planned", None)

    if wanted:
        desk.state.transact(decide)


def shelf(run: str, definition: WorkflowDefinition, progress: Progress) -> dict[str, tuple[NodeType, str, str]]:
    """Return the paths that a run fills, each with the kind of node, who backs it, and the digest. Pure."""
    flow = Flow(definition)
    found: dict[str, tuple[NodeType, str, str]] = {}
    sides = [id_ for id_ in progress.nodes if id_ not in flow.nodes]
    for id_ in [*flow.order, *sides]:
        state = progress.nodes.get(id_)
        if state is None or state.status != "completed":
            continue
        adapter = flow.node(progress, id_).adapter or "embedded"
        if PLAN in state.outputs:
            found[plan_path(run)] = ("plan", adapter, state.outputs[PLAN])
        kinds: tuple[NodeType, ...] = ("research", "review")
        for kind in kinds:
            if digest := state.outputs.get(f"{kind}.json"):
                found[research_path(run, id_, kind)] = (kind, adapter, digest)
    return found


def _for_people(type_: NodeType, raw: bytes, path: str, origin: Origin) -> bytes:
    output = read(type_, raw)
    text = plan_text(output) if isinstance(output, Plan) else ""
    text = research_text(output, type_) if isinstance(output, ResearchBundle) else text
    return with_origin(text, path, origin).encode("utf-8", "replace")
