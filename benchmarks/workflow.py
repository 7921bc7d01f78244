"""A workflow of 100 scripted nodes beside the same events and artifacts written by a plain loop."""

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from measure import Ratio, compare

from gitnexus.events import Artifacts, RunLog
from gitnexus.events.artifacts import ArtifactRef
from gitnexus.events.log import EventDraft
from gitnexus.events.model import Event
from gitnexus.prompts.model import Claim, ResearchBundle
from gitnexus.workflow.budget import CostWeights, CountedPlan
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode, make_node, workflow_hash
from gitnexus.workflow.engine import Engine
from gitnexus.workflow.engine_protocol import CommitProof, NodeAction
from gitnexus.workflow.packing import BatchLimits, PackedPlan, pack_plan
from gitnexus.workflow.specialist import StepLimits, WorkOrder, WorkResult

NODES = 100


class FileStage:
    """A real log and real artifacts; specialists that answer at once. Notes what was written, for the loop."""

    def __init__(self, folder: Path, definition: WorkflowDefinition) -> None:
        self.log, self.shelf = RunLog(folder), Artifacts(folder)
        self.written: list[Callable[[RunLog, Artifacts], object]] = []
        first = {"run": folder.name, "definition": workflow_hash(definition)}
        self.log.append("workflow.started", "user", first)

    def events(self, after: int) -> Iterable[Event]:
        return [event for event in self.log.read() if event.seq > after]

    def write(self, drafts: Sequence[EventDraft]) -> list[Event]:
        self.written.append(lambda log, shelf: log.append_many(drafts))
        return self.log.append_many(drafts)

    def keep(self, name: str, data: bytes) -> ArtifactRef:
        self.written.append(lambda log, shelf: shelf.write(name, data))
        return self.shelf.write(name, data)

    def read(self, digest: str) -> bytes:
        return self.shelf.read(digest)

    def call(self, order: WorkOrder) -> WorkResult:
        claim = Claim(text=f"{order.node.id} is so", citations=("file:a.py#L1-L2",), confidence=90)
        return WorkResult(output=ResearchBundle(question=order.prompt, summary=f"by {order.node.id}", claims=(claim,)))

    def handoff_of(self, action: str) -> tuple[str, str]:
        return "", ""

    def act(self, node: WorkflowNode, step: str, node_action: NodeAction) -> str:
        return "nothing is done here"

    def agent_takes_steps(self, node: str) -> bool:
        return False

    def asks_about_new_plan(self, node: str) -> bool:
        return False

    def asks_again(self, node: str) -> bool:
        return True

    def remarks(self, node: str, text: str) -> str:
        return text

    def agent_questions(self, node: str) -> Sequence[tuple[str, str]]:
        return ()

    def prove(
        self, node: WorkflowNode, node_action: NodeAction, commands: Sequence[Sequence[str]], limits: StepLimits
    ) -> str:
        return ""

    def prove_commit(self, node: WorkflowNode, commands: Sequence[Sequence[str]]) -> CommitProof:
        return CommitProof()

    def retry(self, why: str) -> str:
        return why

    def settle(self, action: str) -> None: ...

    def ask(self, question: str, text: str) -> None: ...

    def surprise(self, node_action: NodeAction, files: Sequence[str]) -> str:
        return ""

    def packed(self, plan: CountedPlan, limits: BatchLimits) -> PackedPlan:
        return pack_plan(plan, {}, CostWeights(), limits)

    def show(self, node: str, text: str) -> None: ...

    def on_completed(self, node: WorkflowNode) -> None: ...


def ratios() -> Iterator[Ratio]:
    ids = [f"n{at}" for at in range(NODES)]
    nodes = tuple(make_node(id_, "research") for id_ in ids)
    definition = WorkflowDefinition(name="chain", prompt="look", nodes=nodes, edges=tuple(pairwise(ids)))
    with tempfile.TemporaryDirectory() as scratch:
        count = iter(range(10**6))
        notes: list[Callable[[RunLog, Artifacts], object]] = []

        def ours() -> None:
            stage = FileStage(Path(scratch, f"run-{next(count)}"), definition)
            verdict = Engine(definition, stage).walk()
            assert verdict is not None and verdict.ok
            notes[:] = stage.written

        def plainly() -> None:
            stage = FileStage(Path(scratch, f"run-{next(count)}"), definition)
            for write in notes:
                write(stage.log, stage.shelf)

        what = f"a workflow of {NODES} scripted nodes"
        yield compare(what, ours, "the same events and artifacts in a plain loop", plainly, 3.0, 5)
