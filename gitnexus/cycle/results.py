"""The result of each cycle tool."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from gitnexus.base.document import Many
from gitnexus.base.results import OneOf, Result, Written
from gitnexus.cycle.agents import AgentEntry
from gitnexus.cycle.model import CycleTask, IssueStatus, PlanIssue

Issue = Annotated[dict[str, Any], Written(PlanIssue)]
Task = Annotated[dict[str, Any], Written(CycleTask)]
Agent = Annotated[dict[str, Any], Written(AgentEntry)]


class CycleResult(Result):
    """The contract writes `snake_case`, and `camelCase` in the fields that say so here."""

    model_config = ConfigDict(alias_generator=None)


class PlanStartResult(CycleResult):
    created: Literal[True]
    plan_id: int
    topic: str
    issue_count: int = Field(alias="issueCount")
    previous_archived: bool = Field(alias="previousArchived", description="True if an open plan was archived first.")


class NoPlan(CycleResult):
    active: Literal[False]


class PlanCounts(CycleResult):
    total: int
    pending: int
    decided: int


class OpenPlan(CycleResult):
    active: Literal[True]
    plan_id: int
    topic: str
    issues: Many[Issue]
    summary: PlanCounts
    research_summary: str | None = None


class PlanStatusResult(OneOf[NoPlan | OpenPlan]):
    pass


class IssueAdded(CycleResult):
    added: Literal[True]
    issue: Issue


class IssueRemoved(CycleResult):
    removed: Literal[True]
    issue: Issue


class IssueEdited(CycleResult):
    edited: Literal[True]
    issue: Issue


class IssueReopened(CycleResult):
    reopened: Literal[True]
    issue: Issue


class PlanUpdateResult(OneOf[IssueAdded | IssueRemoved | IssueEdited | IssueReopened]):
    pass


class RemainingIssue(CycleResult):
    id: int
    title: str
    status: IssueStatus


class SomeIssuesDecided(CycleResult):
    decided: Literal[True]
    issue: str = Field(description="Its title.")
    all_complete: Literal[False] = Field(alias="allComplete")
    remaining: Many[RemainingIssue]


class AllIssuesDecided(CycleResult):
    decided: Literal[True]
    issue: str = Field(description="Its title.")
    all_complete: Literal[True] = Field(alias="allComplete")
    message: str = Field(description="What to do next.")


class PlanDecideResult(OneOf[SomeIssuesDecided | AllIssuesDecided]):
    pass


class CycleTaskResult(CycleResult):
    task: Task


class NoTasks(CycleResult):
    exists: Literal[False]


class TaskCounts(CycleResult):
    total: int
    completed: int
    pending: int
    blocked: int = Field(description="The tasks in progress; the word is the contract's.")
    ready: Many[int] = Field(description="The pending tasks whose dependencies are all completed.")


class TasksOfCycle(CycleResult):
    goal: str
    tasks: Many[Task]
    summary: TaskCounts


class TaskListResult(OneOf[NoTasks | TasksOfCycle]):
    pass


class ArchivedCounts(CycleResult):
    plan: bool
    decisions: int
    tasks: int


class MemoryHint(CycleResult):
    task_count: int = Field(alias="taskCount")
    decision_count: int = Field(alias="decisionCount")
    cycle_topics: Many[str] = Field(alias="cycleTopics")


class ForgottenNotes(CycleResult):
    notes: Many[str]
    commit: str | None


class TaskCloseResult(CycleResult):
    closed: Literal[True]
    cycle: str = Field(description="When it was closed.")
    branch: str
    archived: ArchivedCounts
    deleted: Many[str]
    total_cycles: int
    memory_hint: MemoryHint = Field(alias="memoryHint")
    forgotten: ForgottenNotes | None = Field(None, description="Notes that were deleted since nobody reads them.")
    memory_notice: str | None = Field(None, alias="memoryNotice", description="Why no note could be deleted.")


class DecisionFound(CycleResult):
    title: str
    decision: str


class CycleFound(CycleResult):
    completed_at: str
    branch: str
    topic: str | None = None
    decisions: Many[DecisionFound] | None = None
    task_count: int
    excerpt: str | None = None


class HistorySearchResult(CycleResult):
    total: int
    showing: int
    cycles: Many[CycleFound]


class ContextCounts(CycleResult):
    total: int
    completed: int
    pending: int


class ContextResult(CycleResult):
    branch: str
    active_mode: Literal["team"] | None = Field(alias="activeMode", description="null without tasks.")
    goal: str | None = None
    tasks_summary: ContextCounts | None = Field(None, alias="tasksSummary")
    decisions: Many[str]


class ArtifactWriteResult(CycleResult):
    success: Literal[True]
    path: str = Field(description="The absolute path.")


class ArtifactRow(CycleResult):
    filename: str
    size: int


class ArtifactListResult(CycleResult):
    artifacts: Many[ArtifactRow]


class PlanAnalysisAddResult(CycleResult):
    recorded: Literal[True]
    issue: Issue


class MergedDrafts(CycleResult):
    task: int
    of: Many[int] = Field(description="The drafts by their place in the list, or the plan's issues.")
    why: str


class TaskExceptionRow(CycleResult):
    task: int
    id: str


class PairedTask(CycleResult):
    task: int
    by: int = Field(description="The task that checks it.")
    why: str


class SkippedIssue(CycleResult):
    issue: int
    tasks: Many[int] = Field(description="The tasks that it has already.")


class PlanTasksResult(CycleResult):
    added: Many[Task]
    merged: Many[MergedDrafts]
    exceptions: Many[TaskExceptionRow]
    paired: Many[PairedTask]
    skipped: Many[SkippedIssue]
    preview: Literal[True] | None = Field(None, description="Nothing was added.")


class ResumeResult(CycleResult):
    resume: bool
    reason: str
    agent_id: str | None = Field(None, description="The session to resume.")


class AgentResult(CycleResult):
    agent: Agent


class SessionStartResult(CycleResult):
    started: Literal[True]
    harness_id: str
    stale: Many[str] = Field(description="The files that an earlier session left.")
    warning: str | None = None


class SessionEndResult(CycleResult):
    ended: Literal[True]
    harness_id: str
    warnings: Many[str]
