"""The shelf of tools, written by hand."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import NotFound
from gitnexus.cycle import artifact, close, look, plan, tasks
from gitnexus.cycle.protocol import Param, Tool, checked
from gitnexus.cycle.session import Session

_ISSUE = Param("issue_id", "number", "The number of the issue.")

_ALL = (
    Tool(
        "plan_start",
        "Begin a plan: a topic, the questions it must answer, and what research found. A plan that is open is "
        "archived first.",
        (
            Param("topic", "text", "What the plan is about.", required=True),
            Param("issues", "texts", "The questions to decide, one each.", required=True),
            Param("research_summary", "text", "What was found out before planning; may be empty.", required=True),
        ),
        plan.start,
    ),
    Tool("plan_status", "Show the open plan: its issues, decisions and counts.", (), plan.status, reads_only=True),
    Tool(
        "plan_update",
        "Add, remove, edit or reopen an issue of the open plan.",
        (
            Param("action", "text", "add, remove, edit or reopen.", required=True),
            _ISSUE,
            Param("title", "text", "The issue's words, for add and edit."),
        ),
        plan.update,
    ),
    Tool(
        "plan_decide",
        "Record the decision on an issue of the open plan; deciding again overwrites.",
        (
            Param("issue_id", "number", "The number of the issue.", required=True),
            Param("decision", "text", "What was decided, and why.", required=True),
            Param("how_agents", "texts", "The agents that were asked."),
            Param("how_summary", "text map", "What each agent said, by name."),
            Param("how_agent_ids", "text map", "The session of each agent, by name."),
        ),
        plan.decide,
    ),
    Tool(
        "task_add",
        "Add a task to this cycle.",
        (
            Param("title", "text", "What is to be done.", required=True),
            Param("context", "text", "What one must know to do it.", required=True),
            Param("deps", "numbers", "Tasks that must be completed before."),
            Param("approach", "text", "How to go about it."),
            Param("acceptance", "text", "How one sees that it is done."),
            Param("risk", "text", "What may go wrong."),
            Param("plan_issue", "number", "The plan's issue that it comes from."),
            Param("goal", "text", "What all tasks are for; replaces the goal."),
            Param("decisions", "texts", "Decisions to note beside the tasks."),
            Param("owner", "text", "The agent role that does it."),
            Param("owner_agent_id", "text", "The session of that agent."),
            Param("owner_reuse_policy", "text", "Whether that session is taken up again.",
                  choices=("fresh", "resume_if_same_artifact", "resume")),
        ),
        tasks.add,
    ),
    Tool("task_list", "List the tasks, with those that can be started now.", (), tasks.show, reads_only=True),
    Tool(
        "task_update",
        "Move a task to another status.",
        (
            Param("id", "number", "The task.", required=True),
            Param("status", "text", "Its new status.", required=True, choices=("pending", "in_progress", "completed")),
        ),
        tasks.update,
    ),
    Tool(
        "task_close",
        "Close the cycle: archive plan and tasks into the history and begin with an empty session.",
        (),
        close.close,
        destructive=True,
    ),
    Tool(
        "history_search",
        "Search closed cycles, upper and lower case alike.",
        (
            Param("query", "text", "Words to find anywhere in a cycle."),
            Param("last_n", "number", "How many to show at most, 10 if not said."),
        ),
        look.search,
        reads_only=True,
    ),
    Tool("context", "Tell the branch, the goal, the counts and the decisions of this session.", (), look.context,
         reads_only=True),
    Tool(
        "artifact_write",
        "Write a file into this session's artifacts, for other agents to read.",
        (
            Param("filename", "text", "Its name; sub-folders with /.", required=True),
            Param("content", "text", "The whole text.", required=True),
        ),
        artifact.write,
    ),
)  # fmt: skip

TOOLS: dict[str, Tool] = {tool.name: tool for tool in _ALL}


def call(session: Session, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool as an agent calls it. Raises: NotFound, Invalid, Busy."""
    tool = TOOLS.get(name.removeprefix("nx_"))
    if tool is None:
        raise NotFound(f"there is no tool {name!r}", hint=f"there are: {', '.join(TOOLS)}")
    return tool.run(session, checked(tool, params))
