"""The table of prompts and what people would expect of each, and how a proposal is told in its words."""

from pathlib import Path
from typing import NamedTuple

from gitnexus.workflow.proposal import WorkflowProposal
from gitnexus.workflow.routing import RoutingInputs, propose_workflow
from gitnexus.workflow.settings import WorkflowSettings

SEEN, UNSEEN = (Path(__file__).with_name(f"prompts-{half}.tsv") for half in ("seen", "unseen"))


class Row(NamedTuple):
    expected: str
    prompt: str


def rows(path: Path) -> list[Row]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Row(*line.split("\t", 1)) for line in lines if line and not line.startswith("#")]


def told(proposal: WorkflowProposal) -> str:
    """Return `plan-exec`, or `plan@claude > exec@codex` where somebody is named."""
    nodes = proposal.definition.nodes
    if any(node.adapter for node in nodes):
        return " > ".join(f"{node.type}@{node.adapter}" if node.adapter else node.type for node in nodes)
    return "-".join(node.type for node in nodes)


class Accuracy(NamedTuple):
    """How many are right; of those that are not, how many show the right one beside, and how many claim to be sure."""

    right: int
    total: int
    beside: int
    sure: int

    @property
    def percent(self) -> int:
        return round(100 * self.right / self.total)


def accuracy(path: Path) -> Accuracy:
    """Return how many prompts of a file get what people expect, from the rules alone."""
    known = RoutingInputs({}, WorkflowSettings())
    found = [(row.expected, propose_workflow(row.prompt, known, model=False)) for row in rows(path)]
    wrong = [(expected, proposal) for expected, proposal in found if told(proposal) != expected]
    beside = sum(expected in [one.name for one in proposal.alternatives] for expected, proposal in wrong)
    sure = sum(not proposal.is_ambiguous for _, proposal in wrong)
    return Accuracy(len(found) - len(wrong), len(found), beside, sure)
