"""What a router answers: a workflow, how sure it is, what else could be meant, and one line of why."""

from typing import Any, Literal

from gitnexus.base.record import Record
from gitnexus.workflow.definition import WorkflowDefinition, hash_of

# Below this a prompt is ambiguous, and the card shows what else could be meant.
SURE = 70
Source = Literal["macro", "delegation", "rules", "model"]


class Surroundings(Record):
    """What a router may know besides the prompt: pointers and titles, no contents."""

    mode: str = "default"
    agenda: str = ""
    recent: tuple[str, ...] = ()


class Alternative(Record):
    """Another workflow that could be meant."""

    name: str
    about: str


class Proposal(Record):
    """What is proposed; nothing runs by it. `confidence` is in percent, `fallback` says why no model was heard."""

    definition: WorkflowDefinition
    source: Source
    confidence: int
    why: str
    alternatives: tuple[Alternative, ...] = ()
    fallback: str = ""

    @property
    def is_ambiguous(self) -> bool:
        """True if a person should choose."""
        return self.confidence < SURE

    def told(self) -> dict[str, Any]:
        """Return the JSON for people's programs: with the hash that a run of it would carry."""
        return {"workflow": self.definition.plain(), "definitionHash": hash_of(self.definition), **self._rest()}

    def _rest(self) -> dict[str, Any]:
        plain = self.plain()
        return {
            key: plain[key] for key in ("source", "confidence", "why", "alternatives", "fallback") if plain[key] != ""
        }
