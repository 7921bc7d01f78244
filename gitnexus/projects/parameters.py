"""The parameters of each tool about projects and the graph of their tasks."""

from typing import Annotated

from pydantic import Field

from gitnexus.backlog.model import Status
from gitnexus.base.parameters import Fraction, Number, Parameters
from gitnexus.projects.search_json import Method

Ref = Annotated[str, Field(description="T12, or my-api:T12 for a task of another project.")]
Scope = Annotated[str, Field(description="all projects that may be read, current, or the name of one; all by default.")]
Limit = Annotated[Number, Field(description="How many at most, up to 1000; 20 by default.")]


class ProjectShowParameters(Parameters):
    name: str = Field(description="Its name, an alias, 4 to 12 digits of its hash, or . for this one.")


class TaskDepsParameters(Parameters):
    ref: Ref


class TaskDiscoverParameters(Parameters):
    ref: Ref
    method: Method | None = Field(None, description="What tasks are compared by; auto by default.")
    scope: Scope | None = None
    threshold: Fraction | None = Field(
        None, description="The least score, from 0 to 1; 0.6 by default, 0 for hierarchy."
    )
    limit: Limit | None = None
    context: bool | None = Field(None, description="Also count the words of parents, half per level.")


class TaskSearchParameters(Parameters):
    query: str | None = Field(None, description="Words; not needed if an id, a status or a label is given.")
    scope: Scope | None = None
    id: str | None = Field(None, description="This id: T12, *:T12, my-api:T12; * in it matches anything.")
    status: Status | None = Field(None, description="Only these.")
    label: str | None = Field(None, description="Only those that have it.")
    limit: Limit | None = None
