"""A cycle's tasks as a run: the workflow that they become, and what comes of each of them told to Lead.

Lead is whoever holds the session: its tasks, its artifacts and its tracker of agents are where results go.
"""

import contextlib

from gitnexus.app.rundesk import RunDesk
from gitnexus.app.session import OpenSession, open_session
from gitnexus.app.workflow import workflow_settings
from gitnexus.base.canonical import parse
from gitnexus.base.errors import Duplicate, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.cycle import agents, artifact
from gitnexus.cycle import tasks as cycle_tasks
from gitnexus.cycle.model import CycleTask
from gitnexus.cycle.prompt import traced
from gitnexus.prompts.model import ExecResult, ResearchBundle
from gitnexus.state import State
from gitnexus.workflow.cycling import NAME, check_of, id_of, of_cycle
from gitnexus.workflow.definition import Specialist, WorkflowDefinition
from gitnexus.workflow.progress import NodeState, Progress

_KNOWN = ("memory", "context", "rules")
_HARNESS = "git-nexus"


def cycle_workflow(state: State, agent: str = "", parallel: int = 0) -> WorkflowDefinition:
    """Return the workflow of the open tasks of the session here. Raises: NotFound, Invalid."""
    settings = workflow_settings(state)
    names: tuple[Specialist, ...] = ("researcher", "planner", "executor")
    backed = dict.fromkeys(names, agent) if agent else settings.backed_by()
    budgets = settings.budgets.changed(parallel=parallel) if parallel else settings.budgets
    session = open_session(state.repo.place, None)
    try:
        return of_cycle(session.tasks(), backed, budgets, _knowledge(state))
    finally:
        session.state.close()


def reported(desk: RunDesk, definition: WorkflowDefinition) -> None:
    """Tell Lead what came of the tasks: each once, and only those of the session that the run is driven from."""
    if definition.name != NAME:
        return
    progress = Progress()
    progress.fold(desk.log.read())
    session = open_session(desk.repo.place, _HARNESS)
    try:
        file = session.tasks()
        for task in file.tasks if file is not None else ():
            node = next((one for one in definition.nodes if one.id == id_of(task.id)), None)
            state = progress.nodes.get(id_of(task.id))
            if (
                node is not None
                and state is not None
                and state.status
                and node.prompt.startswith(f"TASK: {task.title}\n")
            ):
                _told(desk, session, task, state, progress.nodes.get(check_of(task.id)))
    finally:
        session.state.close()


def _told(desk: RunDesk, session: OpenSession, task: CycleTask, state: NodeState, check: NodeState | None) -> None:
    agent = {"agent_id": f"{desk.run.id}.{id_of(task.id)}"}
    if task.status == "pending" and state.status:
        cycle_tasks.update(session, {"id": task.id, "status": "in_progress"})
    with contextlib.suppress(Duplicate, Invalid):  # known already, or a name that the tracker does not take
        agents.spawn(session, {**agent, "agent_name": task.owner or "engineer"})
    words, found = _summary(desk, state, check)
    outcome = {"completed": "success", "failed": "failure"}.get(state.status)
    if outcome == "success" and found:
        outcome = "partial"
    if outcome is None or (task.result is not None and task.result.summary == words):
        return
    name = f"{desk.run.id}-{id_of(task.id)}.md"
    artifact.write(session, {"filename": name, "content": f"# {task.title}\n\n{words}\n"})
    done = "completed" if outcome == "success" else "in_progress"
    result = {"outcome": outcome, "summary": words, "artifacts": [name]}
    cycle_tasks.update(session, {"id": task.id, "status": done, **result})
    with contextlib.suppress(NotFound):
        files = list(traced(task.context).files)
        agents.complete(session, {**agent, "last_message": one_line(words, 500), "files_touched": files})


def _summary(desk: RunDesk, state: NodeState, check: NodeState | None) -> tuple[str, bool]:
    """Return what came of a task in words, and whether who checked it wants something mended."""
    if state.status == "failed":
        return f"failed in {desk.run.id}: {state.why}", False
    said = f"done in {desk.run.id}"
    for name, form in (("exec_result.json", ExecResult), ("research.json", ResearchBundle)):
        if digest := state.outputs.get(name):
            said = f"{form.from_value(parse(desk.artifacts.read(digest)), name).summary}\n\n{said}"
    wrong = False
    if check is not None and (digest := check.outputs.get("review.json")) and check.status == "completed":
        bundle = ResearchBundle.from_value(parse(desk.artifacts.read(digest)), "review.json")
        wrong = bool(bundle.constraints)
        said += "\n\nchecked: " + "; ".join([bundle.summary, *(f"to mend: {one}" for one in bundle.constraints)])
    return said.strip(), wrong


def _knowledge(state: State) -> str:
    snapshot = state.required()
    paths = [f".nexus/{folder}/{name}" for folder in _KNOWN for name in snapshot.names(folder) if name.endswith(".md")]
    return "\n".join(f"- {path}" for path in paths)
