"""The records of a package manifest, and of the vocabulary that only checks, skills and people use."""

from typing import Annotated, Any

from gitnexus.base.record import Limits, NotEmpty, SchemaVersion
from gitnexus.catalog.model import Agent, Capability, CatalogRecord, CatalogWord, Category, Skill, Tag

ExceptionName = Annotated[str, Limits(pattern="^[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)?$")]


class ResumeTier(CatalogRecord):
    """How long the session of a role is worth resuming."""

    id: CatalogWord
    description: NotEmpty


class InvocationParam(CatalogRecord):
    """One parameter of an invocation."""

    name: NotEmpty
    description: NotEmpty
    required: bool


class PromptInvocation(CatalogRecord):
    """An action that a prompt asks for and each harness carries out in its own way."""

    id: CatalogWord
    description: NotEmpty
    intent: NotEmpty
    fallback_behavior: NotEmpty
    prose_guidance: NotEmpty | None = None
    semantic_params: tuple[InvocationParam, ...] = ()


class TaskException(CatalogRecord):
    """A case in which the usual division of work into tasks does not fit."""

    id: ExceptionName
    description: NotEmpty
    applies_when: NotEmpty
    treatment: NotEmpty
    rationale: NotEmpty


class MemoryCategory(CatalogRecord):
    """A kind of note, and how its file name begins."""

    id: CatalogWord
    prefix: NotEmpty
    description: NotEmpty


class MemoryNaming(CatalogRecord):
    """The rule for the names of notes."""

    pattern: str
    description: NotEmpty
    optional_prefix: bool


class AccumulatedFact(CatalogRecord):
    """One fact that is recorded about reads of a note."""

    name: NotEmpty
    meaning: NotEmpty


class AccessTracking(CatalogRecord):
    """What counts as a read of a note, and what is recorded about it."""

    observation_primitive: str
    scope: NotEmpty
    description: NotEmpty
    information_accumulated: tuple[AccumulatedFact, ...]
    storage_contract_reference: str


class Principle(CatalogRecord):
    """The name of a principle, and its description."""

    principle: NotEmpty
    description: NotEmpty


class Forgetting(CatalogRecord):
    """When a note may be deleted."""

    manual_gate_default: bool
    description: NotEmpty
    automatic_deletion_structure: Principle
    recoverable_deletion_requirement: str
    recoverable_deletion_description: str


class MemoryPolicy(CatalogRecord):
    """How notes are sorted, named, counted and deleted."""

    categories: tuple[MemoryCategory, ...]
    naming: MemoryNaming
    access_tracking: AccessTracking
    forgetting: Forgetting
    merge: Principle


class Vocabulary(CatalogRecord):
    """The words that roles, skills and prompts use. The last three came later than the others."""

    capabilities: tuple[Capability, ...]
    categories: tuple[Category, ...]
    resume_tiers: tuple[ResumeTier, ...]
    tags: tuple[Tag, ...]
    invocations: tuple[PromptInvocation, ...] = ()
    task_exceptions: tuple[TaskException, ...] = ()
    memory_policy: MemoryPolicy | None = None


class Manifest(CatalogRecord):
    """`manifest.json`: everything but the prompts themselves, in one file."""

    nexus_core_version: str
    schema_contract_version: SchemaVersion
    agents: tuple[Agent, ...]
    skills: tuple[Skill, ...]
    vocabulary: Vocabulary
    nexus_core_commit: str | None = None


# The files of a vocabulary by the name that it has in the manifest.
VOCABULARY_FILES: dict[str, str] = {
    "capabilities": "vocabulary/capabilities.yml",
    "categories": "vocabulary/categories.yml",
    "resume_tiers": "vocabulary/resume-tiers.yml",
    "tags": "vocabulary/tags.yml",
    "invocations": "vocabulary/invocations.yml",
    "task_exceptions": "vocabulary/task-exceptions.yml",
    "memory_policy": "vocabulary/memory_policy.yml",
}
VOCABULARY_KINDS: dict[str, Any] = {
    "capabilities": Capability,
    "categories": Category,
    "resume_tiers": ResumeTier,
    "tags": Tag,
    "invocations": PromptInvocation,
    "task_exceptions": TaskException,
    "memory_policy": MemoryPolicy,
}
