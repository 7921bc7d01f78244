"""The records of plan, tasks and history, spelled as in the tool contract (0.10)."""

from typing import Annotated, Any, ClassVar, Literal

from gitnexus.base.record import Limits, NotEmpty, SchemaVersion, StoredRecord, Timestamp

SCHEMA_VERSION = "1.0"

IssueStatus = Literal["pending", "decided"]
TaskStatus = Literal["pending", "in_progress", "completed"]
ReusePolicy = Literal["fresh", "resume_if_same_artifact", "resume"]
Ordinal = Annotated[int, Limits(minimum=1)]
HarnessName = Annotated[str, Limits(pattern="^[a-z][a-z0-9-]*$")]


class CycleRecord(StoredRecord):
    """The contract writes `snake_case`."""

    _camel_case: ClassVar[bool] = False


class IssueAnalysis(CycleRecord):
    """What an agent found about an issue; only ever added to."""

    agent: HarnessName
    summary: str
    recorded_at: Timestamp
    agent_id: NotEmpty | None = None


class TaskResult(CycleRecord):
    """The result of a task."""

    outcome: Literal["success", "failure", "partial"]
    summary: str
    recorded_at: Timestamp
    artifacts: tuple[str, ...] | None = None


class PlanIssue(CycleRecord):
    """A question that the plan must answer."""

    id: Ordinal
    title: NotEmpty
    status: IssueStatus = "pending"
    decision: str | None = None
    how_agents: tuple[str, ...] | None = None
    how_summary: dict[str, str] | None = None
    how_agent_ids: dict[str, str] | None = None
    analysis: tuple[IssueAnalysis, ...] | None = None


class PlanFile(CycleRecord):
    """`.nexus/state/plan.json`."""

    id: Ordinal
    topic: NotEmpty
    issues: tuple[PlanIssue, ...]
    created_at: Timestamp
    research_summary: str | None = None
    schema_version: SchemaVersion | None = None


class CycleTask(CycleRecord):
    """A task inside one cycle; its id is a number."""

    id: Ordinal
    title: NotEmpty
    context: NotEmpty
    status: TaskStatus = "pending"
    deps: tuple[int, ...] = ()
    approach: str | None = None
    acceptance: str | None = None
    risk: str | None = None
    plan_issue: int | None = None
    owner: str | None = None
    owner_agent_id: str | None = None
    owner_reuse_policy: ReusePolicy | None = None
    result: TaskResult | None = None
    created_at: Timestamp | None = None


class TaskFile(CycleRecord):
    """`.nexus/state/tasks.json`."""

    goal: NotEmpty
    decisions: tuple[str, ...] = ()
    tasks: tuple[CycleTask, ...] = ()
    schema_version: SchemaVersion | None = None


class Cycle(CycleRecord):
    """What was closed together."""

    completed_at: Timestamp
    branch: NotEmpty
    plan: PlanFile | None = None
    tasks: tuple[CycleTask, ...] = ()
    schema_version: SchemaVersion | None = None

    def plain(self) -> dict[str, Any]:
        return {"plan": None, **super().plain()}  # the schema wants the word, also where there was no plan


class CycleHistory(CycleRecord):
    """`history.json` on the state ref."""

    cycles: tuple[Cycle, ...] = ()
    schema_version: SchemaVersion | None = None
