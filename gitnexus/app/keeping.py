"""What a workflow leaves behind beyond its run: plans and research on the state ref, one transaction each time."""

from gitnexus.app.deeds import plan_path
from gitnexus.app.rundesk import RunDesk
from gitnexus.state import Change, Snapshot
from gitnexus.workflow.definition import WorkflowDefinition
from gitnexus.workflow.flow import Flow
from gitnexus.workflow.outputs import PLAN
from gitnexus.workflow.progress import Progress


def kept_beyond(desk: RunDesk, definition: WorkflowDefinition) -> None:
    """Put plans and research of a run on the state ref, as far as they are not there. Raises: NexusError."""
    progress = Progress()
    progress.fold(desk.log.read())
    wanted = {path: desk.artifacts.read(digest) for path, digest in shelf(desk.run.id, definition, progress).items()}

    def decide(snapshot: Snapshot) -> Change[None]:
        files: dict[str, bytes | None] = {path: raw for path, raw in wanted.items() if snapshot.read(path) != raw}
        return Change(files, f"plans: what {desk.run.id} found and planned", None)

    if wanted:
        desk.state.transact(decide)


def shelf(run: str, definition: WorkflowDefinition, progress: Progress) -> dict[str, str]:
    """Return the paths on the state ref that a run fills, with the digest of what belongs there. Pure."""
    flow = Flow(definition)
    found: dict[str, str] = {}
    sides = [id_ for id_ in progress.nodes if id_ not in flow.nodes]
    for id_ in [*flow.order, *sides]:
        state = progress.nodes.get(id_)
        if state is None or state.status != "completed":
            continue
        if PLAN in state.outputs:
            found[plan_path(run)] = state.outputs[PLAN]
        for name in ("research", "review"):
            for ending in ("json", "md"):
                if digest := state.outputs.get(f"{name}.{ending}"):
                    found[f"research/{run}-{id_}.{ending}"] = digest
    return found
