"""The records of a router's answer: a workflow, its confidence, alternatives, and one line of reason."""

from typing import Any, Literal

from gitnexus.base.document import Document, Many
from gitnexus.workflow.choosing import AgentChoice
from gitnexus.workflow.definition import WorkflowDefinition, workflow_hash

# Below this a prompt is ambiguous, and the card shows what else could be meant.
SURE = 70
Source = Literal["macro", "delegation", "rules", "model"]


class RoutingContext(Document):
    """What a router may know besides the prompt: references and titles, no contents."""

    mode: str = "default"
    agenda: str = ""
    recent: Many[str] = ()


class WorkflowAlternative(Document):
    """Another workflow that could be meant."""

    name: str
    about: str


class WorkflowProposal(Document):
    """A proposed workflow; nothing is started. `confidence` is in percent, `fallback` says why no model was used."""

    definition: WorkflowDefinition
    source: Source
    confidence: int
    why: str
    alternatives: Many[WorkflowAlternative] = ()
    fallback: str = ""
    # Who was chosen of several for a node, and why.
    agents: Many[AgentChoice] = ()

    @property
    def is_ambiguous(self) -> bool:
        """True if a person should choose."""
        return self.confidence < SURE

    def as_json(self) -> dict[str, Any]:
        """Return the JSON for people's programs: with the hash that a run of it would carry."""
        return {
            "workflow": self.definition.plain(),
            "definitionHash": workflow_hash(self.definition),
            **self._other_fields(),
        }

    def _other_fields(self) -> dict[str, Any]:
        plain = self.plain()
        return {
            key: plain[key] for key in ("source", "confidence", "why", "alternatives", "fallback") if plain[key] != ""
        } | ({"agents": plain["agents"]} if self.agents else {})
