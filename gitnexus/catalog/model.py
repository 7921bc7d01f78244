"""The records of roles, skills, capabilities and tags, spelled as in a nexus-core package (contract 0.10).

What a plain command does not need is in `manifest.py`: each record costs half a millisecond to define.
"""

from typing import ClassVar, Literal

from gitnexus.base.record import StoredRecord

# The contract whose layout and words our own catalog follows.
CONTRACT = "0.10.0"
SCHEMA_CONTRACT = "2.0"


class CatalogRecord(StoredRecord):
    """Upstream writes `snake_case`; fields that we do not know, such as an alias in another language, are kept."""

    _camel_case: ClassVar[bool] = False


class Capability(CatalogRecord):
    """An action that a role may be denied, described for every harness."""

    id: str
    description: str
    intent: str
    blocks_semantic_classes: tuple[str, ...]
    prose_guidance: str


class Category(CatalogRecord):
    """What a role is for: how, do or check."""

    id: str
    description: str


class Tag(CatalogRecord):
    """A word in brackets that a user can type: it starts a skill, or calls a tool at once."""

    id: str
    trigger: str
    type: Literal["skill", "inline_action"]
    description: str
    skill: str | None = None
    handler: str | None = None
    variants: tuple[str, ...] = ()
    prose_guidance: str | None = None


class Agent(CatalogRecord):
    """A role: what `agents/<id>/meta.yml` says, and the hash of its prompt."""

    id: str
    name: str
    description: str
    task: str = ""
    category: str
    resume_tier: str
    model_tier: Literal["high", "standard"]
    body_hash: str
    capabilities: tuple[str, ...] = ()


class Skill(CatalogRecord):
    """A skill: what `skills/<id>/meta.yml` says, and the hash of its prompt."""

    id: str
    name: str
    description: str
    body_hash: str
    summary: str = ""
    triggers: tuple[str, ...] = ()
    harness_docs_refs: tuple[str, ...] = ()
    manual_only: bool = False
