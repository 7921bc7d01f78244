"""The shelf of tools, written by hand."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import NotFound
from gitnexus.base.tool import Param, Tool, checked
from gitnexus.cycle import agents, artifact, close, lifecycle, look, plan, resume, tasks
from gitnexus.cycle.session import Session

_ISSUE = Param("issue_id", "number", "The number of the issue.")

_HARNESS = Param("harness_id", "text", "The program that calls, if it is not the one the session was opened for.")

# The fields of cycle.drafts.Draft.
_DRAFT = (
    Param("title", "text", "What is to be done.", required=True),
    Param("context", "text", "What one must know to do it.", required=True),
    Param("owner", "text", "The agent role that does it."),
    Param("approach", "text", "How to go about it."),
    Param("acceptance", "text", "How one sees that it is done."),
    Param("risk", "text", "What may go wrong."),
    Param("files", "texts", "The files it will change, from the top of the repository."),
    Param("plan_issue", "number", "The plan's issue that it comes from."),
    Param("deps", "numbers", "Drafts that come before, by their place in the list, from 1."),
    Param("after", "numbers", "Tasks that are there already and come before, by their number."),
    Param("scheme", "text", "What several .md files have in common, if that is one change to all of them."),
    Param("kind", "text", "What kind of change it is.", choices=("behavior", "refactor", "types")),
    Param("verify", "text", "Who checks it, whatever the rules say.", choices=("tester", "reviewer", "none")),
    Param("generated", "texts", "Patterns, in gitignore form, of files that a build writes; they hold for all drafts."),
)


def _plan_tasks(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    from gitnexus.cycle import synthesise  # 10 ms with all its rules: only who makes tasks of a plan pays

    return synthesise.make(session, params)


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
            Param("outcome", "text", "What came of it.", choices=("success", "failure", "partial")),
            Param("summary", "text", "The outcome in a few sentences."),
            Param("artifacts", "texts", "Artifacts that show it."),
        ),
        tasks.update,
    ),
    Tool(
        "task_close",
        "Close the cycle: archive plan and tasks into the history and begin with an empty session.",
        (Param("refuse_open", "flag", "Do not close while a task is open."),),
        close.close,
        destructive=True,
    ),
    Tool(
        "history_search",
        "Search closed cycles, upper and lower case alike.",
        (
            Param("query", "text", "Words to find anywhere in a cycle."),
            Param("last_n", "number", "How many to show at most, 10 if not said."),
            Param("scope", "text", "Where to look; all if not said.", choices=("all", "plan", "tasks", "decisions")),
            Param("excerpts", "flag", "Show the words around what was found."),
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
    # What follows is ours, beside the contract's eleven.
    Tool("artifact_list", "List this session's artifacts.", (), artifact.show, reads_only=True),
    Tool(
        "plan_analysis_add",
        "Add what an agent found about an issue of the open plan.",
        (
            Param("issue_id", "number", "The number of the issue.", required=True),
            Param("agent_name", "text", "The role that looked.", required=True),
            Param("summary", "text", "What it found.", required=True),
            Param("agent_id", "text", "Its session."),
        ),
        plan.analyse,
    ),
    Tool(
        "plan_tasks",
        "Turn the decisions of the open plan into tasks, all at once. What would change the same file becomes one "
        "task; a task whose result must be seen running, or be read, gets a second one that checks it.",
        (
            Param("drafts", "objects", "The tasks as you thought of them; without it one for each decided issue that "
                  "has no task.", fields=_DRAFT),
            Param("preview", "flag", "Tell what would be added, and add nothing."),
            Param("partial", "flag", "Go on although issues are not decided."),
        ),
        _plan_tasks,
    ),
    Tool(
        "plan_resume",
        "Tell whether the agent that analysed an issue should go on where it was or start afresh.",
        (
            Param("issue_id", "number", "The number of the issue.", required=True),
            Param("agent_name", "text", "The role.", required=True),
        ),
        resume.of_issue,
        reads_only=True,
    ),
    Tool(
        "task_resume",
        "Tell whether a task's agent should go on where it was or start afresh.",
        (
            Param("id", "number", "The task.", required=True),
            Param("agent_name", "text", "The role, if it is not the task's owner."),
            Param("files", "texts", "The files that the task is about."),
            _HARNESS,
        ),
        resume.of_task,
        reads_only=True,
    ),
    Tool(
        "agent_spawn",
        "Note that an agent was started.",
        (
            Param("agent_name", "text", "Its role.", required=True),
            Param("agent_id", "text", "Its session.", required=True),
            _HARNESS,
        ),
        agents.spawn,
    ),
    Tool(
        "agent_complete",
        "Note that an agent is done.",
        (
            Param("agent_id", "text", "Its session.", required=True),
            Param("last_message", "text", "What it said last."),
            Param("files_touched", "texts", "The files that it changed."),
            _HARNESS,
        ),
        agents.complete,
    ),
    Tool(
        "agent_resume",
        "Note that an agent was taken up again.",
        (Param("agent_id", "text", "Its session.", required=True), _HARNESS),
        agents.resume,
    ),
    Tool("session_start", "Make a session ready and tell what an earlier one left open.", (_HARNESS,), lifecycle.begin),
    Tool(
        "session_end",
        "Tell what is still open and forget the agents of this session.",
        (_HARNESS,),
        lifecycle.end,
        destructive=True,
    ),
)  # fmt: skip

TOOLS: dict[str, Tool[Session]] = {tool.name: tool for tool in _ALL}


def call(session: Session, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool as an agent calls it. Raises: NotFound, Invalid, Busy."""
    tool = TOOLS.get(name.removeprefix("nx_"))
    if tool is None:
        raise NotFound(f"there is no tool {name!r}", hint=f"there are: {', '.join(TOOLS)}")
    return tool.run(session, checked(tool, params))
