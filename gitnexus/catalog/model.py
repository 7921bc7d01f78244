"""The records of roles, skills, capabilities and tags, spelled as in a nexus-core package (contract 0.10).

What a plain command does not need is in `manifest.py`: each record costs half a millisecond to define.
"""

from typing import Annotated, ClassVar, Literal

from gitnexus.base.record import Limits, NotEmpty, StoredRecord

# The contract whose layout and words our own catalog follows.
CONTRACT = "0.10.0"
SCHEMA_CONTRACT = "2.0"
CatalogName = Annotated[str, Limits(pattern="^[a-z][a-z0-9-]*$")]
CatalogWord = Annotated[str, Limits(pattern="^[a-z][a-z0-9_]*$")]
BodyHash = Annotated[str, Limits(pattern="^sha256:[0-9a-f]{64}$")]
TagTrigger = Annotated[str, Limits(pattern="^\\[[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*)?\\]$")]


class CatalogRecord(StoredRecord):
    """Upstream writes `snake_case`; fields that we do not know, such as an alias in another language, are kept."""

    _camel_case: ClassVar[bool] = False


class Capability(CatalogRecord):
    """An action that a role may be denied, described for every harness."""

    id: CatalogWord
    description: NotEmpty
    intent: NotEmpty
    blocks_semantic_classes: tuple[str, ...]
    prose_guidance: NotEmpty


class Category(CatalogRecord):
    """What a role is for: how, do or check."""

    id: CatalogWord
    description: NotEmpty


class Tag(CatalogRecord):
    """A word in brackets that a user can type: it starts a skill, or calls a tool at once."""

    id: CatalogName
    trigger: TagTrigger
    type: Literal["skill", "inline_action"]
    description: NotEmpty
    skill: str | None = None
    handler: NotEmpty | None = None
    variants: tuple[str, ...] = ()
    prose_guidance: NotEmpty | None = None


class Agent(CatalogRecord):
    """A role: what `agents/<id>/meta.yml` says, and the hash of its prompt."""

    id: CatalogName
    name: NotEmpty
    description: NotEmpty
    task: str = ""
    category: CatalogWord
    resume_tier: CatalogWord
    model_tier: Literal["high", "standard"]
    body_hash: BodyHash
    capabilities: tuple[str, ...] = ()


class Skill(CatalogRecord):
    """A skill: what `skills/<id>/meta.yml` says, and the hash of its prompt."""

    id: CatalogName
    name: NotEmpty
    description: NotEmpty
    body_hash: BodyHash
    summary: str = ""
    triggers: tuple[str, ...] = ()
    harness_docs_refs: tuple[str, ...] = ()
    manual_only: bool = False
