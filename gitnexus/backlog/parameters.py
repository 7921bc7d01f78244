"""The parameters of each backlog tool."""

from typing import Annotated

from pydantic import Field

from gitnexus.backlog.model import Kind, Priority, Status
from gitnexus.base.parameters import Number, Parameters

Title = Annotated[str, Field(description="What to do, in one line.")]
Description = Annotated[str, Field(description="The background that is needed to do it.")]
Labels = Annotated[list[str], Field(description="Labels to find it by.")]
Files = Annotated[list[str], Field(description="The files that it is about.")]
Acceptance = Annotated[list[str], Field(description="How to tell that it is done.")]
Notes = Annotated[list[str], Field(description="What was learned on the way; notes are added, never removed.")]
Depends = Annotated[
    list[str], Field(description="Tasks that must be done before: T12, or name:T12 of another project.")
]
Parent = Annotated[str, Field(description="The task that it is a part of.")]
GivenPriority = Annotated[Priority, Field(description="medium by default.")]
GivenKind = Annotated[Kind, Field(description="What kind of task it is.")]
Phase = Annotated[str, Field(description="The phase of the project that it belongs to.")]
Size = Annotated[str, Field(description="How large it is: small, medium or large.")]
BlockedBy = Annotated[str, Field(description="What blocks it; sets its status to blocked.")]
Task = Annotated[str, Field(description="The task: T12, or name:T12 of another project that permits it.")]
Agent = Annotated[str, Field(description="Who calls. Default: $NEXUS_AGENT, else git's user.name.")]


class BacklogAddParameters(Parameters):
    title: Title
    description: Description | None = None
    labels: Labels | None = None
    files: Files | None = None
    acceptance: Acceptance | None = None
    notes: Notes | None = None
    depends: Depends | None = None
    parent: Parent | None = None
    priority: GivenPriority | None = None
    type: GivenKind | None = None
    phase: Phase | None = None
    size: Size | None = None
    blocked_by: BlockedBy | None = None


class BacklogListParameters(Parameters):
    status: Status | None = Field(None, description="Only those in this status, closed ones too.")
    labels: list[str] | None = Field(None, description="Only those that have all these labels.")
    parent: str | None = Field(None, description="Only those below this task.")
    ready: bool | None = Field(None, description="Only those that can be started now.")
    limit: Number | None = Field(None, description="How many at most; 50 by default.")


class BacklogShowParameters(Parameters):
    task: Task


class BacklogUpdateParameters(Parameters):
    task: Task
    title: Title | None = None
    description: Description | None = None
    labels: Labels | None = None
    files: Files | None = None
    acceptance: Acceptance | None = None
    notes: Notes | None = None
    depends: Depends | None = None
    parent: Parent | None = None
    priority: GivenPriority | None = None
    type: GivenKind | None = None
    phase: Phase | None = None
    size: Size | None = None
    blocked_by: BlockedBy | None = None
    status: Status | None = Field(None, description="Its new status.")
    remove_labels: list[str] | None = Field(None, description="Labels to take away.")
    remove_files: list[str] | None = Field(None, description="Files to take away.")
    remove_depends: list[str] | None = Field(None, description="Dependencies to drop.")


class BacklogCompleteParameters(Parameters):
    task: Task
    note: str | None = Field(None, description="The result.")


class BacklogNextParameters(Parameters):
    agent: Agent | None = None


class BacklogClaimParameters(Parameters):
    task: Task
    ttl: str | None = Field(None, description="How long: 90s, 30m, 2h, 1d. 1h by default.")
    agent: Agent | None = None
    renew: bool | None = Field(None, description="Renew a claim of your own.")
    release: bool | None = Field(None, description="Release it.")
