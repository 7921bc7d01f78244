"""The table of cycle tools for agents."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.base.text import is_utf8_name
from gitnexus.base.tool import NO_PARAMETERS, Tool, check_parameters
from gitnexus.cycle import agents, artifact, close, lifecycle, look, plan, resume, tasks
from gitnexus.cycle.session import Session


def _make_plan_tasks(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    from gitnexus.cycle import synthesise  # 10 ms with all its rules: only who makes tasks of a plan pays

    return synthesise.make_tasks(session, params)


_FORMS = "gitnexus.cycle.parameters"
_RESULTS = "gitnexus.cycle.results"

_ALL = (
    Tool(
        "plan_start",
        "Begin a plan: a topic, the questions it must answer, and what research found. A plan that is open is "
        "archived first.",
        f"{_FORMS}:PlanStartParameters",
        plan.start_plan,
        result=f"{_RESULTS}:PlanStartResult",
    ),
    Tool(
        "plan_status",
        "Show the open plan: its issues, decisions and counts.",
        NO_PARAMETERS,
        plan.plan_status,
        reads_only=True,
        result=f"{_RESULTS}:PlanStatusResult",
    ),
    Tool(
        "plan_update",
        "Add, remove, edit or reopen an issue of the open plan.",
        f"{_FORMS}:PlanUpdateParameters",
        plan.update_plan,
        result=f"{_RESULTS}:PlanUpdateResult",
    ),
    Tool(
        "plan_decide",
        "Record the decision on an issue of the open plan; deciding again overwrites.",
        f"{_FORMS}:PlanDecideParameters",
        plan.decide_issue,
        result=f"{_RESULTS}:PlanDecideResult",
    ),
    Tool(
        "task_add",
        "Add a task to this cycle.",
        f"{_FORMS}:TaskAddParameters",
        tasks.add_cycle_task,
        result=f"{_RESULTS}:CycleTaskResult",
    ),
    Tool(
        "task_list",
        "List the tasks, with those that can be started now.",
        NO_PARAMETERS,
        tasks.list_cycle_tasks,
        reads_only=True,
        result=f"{_RESULTS}:TaskListResult",
    ),
    Tool(
        "task_update",
        "Move a task to another status.",
        f"{_FORMS}:TaskUpdateParameters",
        tasks.update_cycle_task,
        result=f"{_RESULTS}:CycleTaskResult",
    ),
    Tool(
        "task_close",
        "Close the cycle: archive plan and tasks into the history and begin with an empty session.",
        f"{_FORMS}:TaskCloseParameters",
        close.close_cycle,
        destructive=True,
        result=f"{_RESULTS}:TaskCloseResult",
    ),
    Tool(
        "history_search",
        "Search closed cycles, ignoring case.",
        f"{_FORMS}:HistorySearchParameters",
        look.search_history,
        reads_only=True,
        result=f"{_RESULTS}:HistorySearchResult",
    ),
    Tool(
        "context",
        "Return the branch, the goal, the counts and the decisions of this session.",
        NO_PARAMETERS,
        look.session_context,
        reads_only=True,
        result=f"{_RESULTS}:ContextResult",
    ),
    Tool(
        "artifact_write",
        "Write a file into this session's artifacts, for other agents to read.",
        f"{_FORMS}:ArtifactWriteParameters",
        artifact.write_artifact,
        result=f"{_RESULTS}:ArtifactWriteResult",
    ),
    # What follows is ours, beside the contract's eleven.
    Tool(
        "artifact_list",
        "List this session's artifacts.",
        NO_PARAMETERS,
        artifact.list_artifacts,
        reads_only=True,
        result=f"{_RESULTS}:ArtifactListResult",
    ),
    Tool(
        "plan_analysis_add",
        "Add what an agent found about an issue of the open plan.",
        f"{_FORMS}:PlanAnalysisAddParameters",
        plan.add_analysis,
        result=f"{_RESULTS}:PlanAnalysisAddResult",
    ),
    Tool(
        "plan_tasks",
        "Turn the decisions of the open plan into tasks, all at once. What would change the same file becomes one "
        "task; a task whose result must be seen running, or be read, gets a second one that checks it.",
        f"{_FORMS}:PlanTasksParameters",
        _make_plan_tasks,
        result=f"{_RESULTS}:PlanTasksResult",
    ),
    Tool(
        "plan_resume",
        "Return whether the agent that analysed an issue should be resumed or start afresh.",
        f"{_FORMS}:PlanResumeParameters",
        resume.issue_resume_answer,
        reads_only=True,
        result=f"{_RESULTS}:ResumeResult",
    ),
    Tool(
        "task_resume",
        "Return whether a task's agent should be resumed or start afresh.",
        f"{_FORMS}:TaskResumeParameters",
        resume.task_resume_answer,
        reads_only=True,
        result=f"{_RESULTS}:ResumeResult",
    ),
    Tool(
        "agent_spawn",
        "Note that an agent was started.",
        f"{_FORMS}:AgentSpawnParameters",
        agents.track_agent_start,
        result=f"{_RESULTS}:AgentResult",
    ),
    Tool(
        "agent_complete",
        "Note that an agent is done.",
        f"{_FORMS}:AgentCompleteParameters",
        agents.track_agent_end,
        result=f"{_RESULTS}:AgentResult",
    ),
    Tool(
        "agent_resume",
        "Record that an agent was resumed.",
        f"{_FORMS}:AgentResumeParameters",
        agents.track_agent_resume,
        result=f"{_RESULTS}:AgentResult",
    ),
    Tool(
        "session_start",
        "Prepare a session and report what an earlier one left open.",
        f"{_FORMS}:SessionStartParameters",
        lifecycle.start_session,
        result=f"{_RESULTS}:SessionStartResult",
    ),
    Tool(
        "session_end",
        "Report what is still open and remove the agents of this session.",
        f"{_FORMS}:SessionEndParameters",
        lifecycle.end_session,
        destructive=True,
        result=f"{_RESULTS}:SessionEndResult",
    ),
)

TOOLS: dict[str, Tool[Session]] = {tool.name: tool for tool in _ALL}


def call(session: Session, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool as an agent calls it. Raises: NotFound, Invalid, Busy."""
    tool = _find_tool(name)
    return tool.run(session, check_parameters(tool, params))


def run_tool(session: Session, name: str, **values: Any) -> dict[str, Any]:
    """Run a tool with values of our own, whose types need no check: a command or a hook does not load pydantic for it.

    Raises: NotFound, Busy, and Invalid for a text that is not UTF-8.
    """
    for key, value in values.items():
        if not all(
            is_utf8_name(text) for text in (value if isinstance(value, list) else [value]) if isinstance(text, str)
        ):
            raise Invalid(f"{key.replace('_', ' ')} is not UTF-8 text")
    return _find_tool(name).run(session, {key: value for key, value in values.items() if value is not None})


def _find_tool(name: str) -> Tool[Session]:
    tool = TOOLS.get(name.removeprefix("nx_"))
    if tool is None:
        raise NotFound(f"there is no tool {name!r}", hint=f"there are: {', '.join(TOOLS)}")
    return tool
