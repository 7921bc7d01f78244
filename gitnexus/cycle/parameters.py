"""The parameters of each cycle tool."""

from typing import Annotated, Literal

from pydantic import Field

from gitnexus.base.parameters import Number, Parameters
from gitnexus.cycle.drafts import TaskDraft

IssueId = Annotated[Number, Field(description="The number of the issue.")]
Id = Annotated[Number, Field(description="The task.")]
AgentId = Annotated[str, Field(description="Its session.")]
HarnessId = Annotated[
    str, Field(description="The program that calls, if it is not the one the session was opened for.")
]


class PlanStartParameters(Parameters):
    topic: str = Field(description="What the plan is about.")
    issues: list[str] = Field(description="The questions to decide, one each.")
    research_summary: str = Field(description="What was found out before planning; may be empty.")


class PlanUpdateParameters(Parameters):
    action: str = Field(description="add, remove, edit or reopen.")
    issue_id: IssueId | None = None
    title: str | None = Field(None, description="The issue's words, for add and edit.")


class PlanDecideParameters(Parameters):
    issue_id: IssueId
    decision: str = Field(description="What was decided, and why.")
    how_agents: list[str] | None = Field(None, description="The agents that were asked.")
    how_summary: dict[str, str] | None = Field(None, description="What each agent said, by name.")
    how_agent_ids: dict[str, str] | None = Field(None, description="The session of each agent, by name.")


class TaskAddParameters(Parameters):
    title: str = Field(description="What to do.")
    context: str = Field(description="The background that is needed to do it.")
    deps: list[Number] | None = Field(None, description="Tasks that must be completed before.")
    approach: str | None = Field(None, description="How to do it.")
    acceptance: str | None = Field(None, description="How to tell that it is done.")
    risk: str | None = Field(None, description="What may go wrong.")
    plan_issue: Number | None = Field(None, description="The plan's issue that it comes from.")
    goal: str | None = Field(None, description="What all tasks are for; replaces the goal.")
    decisions: list[str] | None = Field(None, description="Decisions to note beside the tasks.")
    owner: str | None = Field(None, description="The agent role that does it.")
    owner_agent_id: str | None = Field(None, description="The session of that agent.")
    owner_reuse_policy: Literal["fresh", "resume_if_same_artifact", "resume"] | None = Field(
        None, description="Whether that session is resumed."
    )


class TaskUpdateParameters(Parameters):
    id: Id
    status: Literal["pending", "in_progress", "completed"] = Field(description="Its new status.")
    outcome: Literal["success", "failure", "partial"] | None = Field(None, description="The result.")
    summary: str | None = Field(None, description="The outcome in a few sentences.")
    artifacts: list[str] | None = Field(None, description="Artifacts that show it.")


class TaskCloseParameters(Parameters):
    refuse_open: bool | None = Field(None, description="Do not close while a task is open.")


class HistorySearchParameters(Parameters):
    query: str | None = Field(None, description="Words to find anywhere in a cycle.")
    last_n: Number | None = Field(None, description="How many to show at most; 10 by default.")
    scope: Literal["all", "plan", "tasks", "decisions"] | None = Field(
        None, description="Where to look; everywhere by default."
    )
    excerpts: bool | None = Field(None, description="Show the words around what was found.")


class ArtifactWriteParameters(Parameters):
    filename: str = Field(description="Its name; / separates folders.")
    content: str = Field(description="The whole text.")


class PlanAnalysisAddParameters(Parameters):
    issue_id: IssueId
    agent_name: str = Field(description="The role that looked.")
    summary: str = Field(description="What it found.")
    agent_id: AgentId | None = None


class PlanTasksParameters(Parameters):
    drafts: list[TaskDraft] | None = Field(
        None, description="The tasks as you thought of them; without it one for each decided issue that has no task."
    )
    preview: bool | None = Field(None, description="Show what would be added, and add nothing.")
    partial: bool | None = Field(None, description="Continue although issues are not decided.")


class PlanResumeParameters(Parameters):
    issue_id: IssueId
    agent_name: str = Field(description="The role.")


class TaskResumeParameters(Parameters):
    id: Id
    agent_name: str | None = Field(None, description="The role, if it is not the task's owner.")
    files: list[str] | None = Field(None, description="The files that the task is about.")
    harness_id: HarnessId | None = None


class AgentSpawnParameters(Parameters):
    agent_name: str = Field(description="Its role.")
    agent_id: AgentId
    harness_id: HarnessId | None = None


class AgentCompleteParameters(Parameters):
    agent_id: AgentId
    last_message: str | None = Field(None, description="Its last message.")
    files_touched: list[str] | None = Field(None, description="The files that it changed.")
    harness_id: HarnessId | None = None


class AgentResumeParameters(Parameters):
    agent_id: AgentId
    harness_id: HarnessId | None = None


class SessionStartParameters(Parameters):
    harness_id: HarnessId | None = None


class SessionEndParameters(Parameters):
    harness_id: HarnessId | None = None
