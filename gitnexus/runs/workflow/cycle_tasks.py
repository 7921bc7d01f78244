"""Turns a cycle's open tasks into a workflow, and reports each task's result to the session that leads the cycle."""

import contextlib

from gitnexus.base.canonical import parse_json
from gitnexus.base.errors import Duplicate, Invalid, NotFound
from gitnexus.base.text import one_line
from gitnexus.cycle import agents, artifact
from gitnexus.cycle import tasks as cycle_tasks
from gitnexus.cycle.model import CycleTask
from gitnexus.cycle.prompt import parse_context_trailers
from gitnexus.projects.open_session import OpenSession, open_session
from gitnexus.prompts.model import ExecResult, ResearchBundle
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.routing import workflow_settings
from gitnexus.state import State
from gitnexus.workflow.definition import Specialist, WorkflowDefinition
from gitnexus.workflow.from_cycle_tasks import NAME, check_node_id, task_node_id, workflow_from_cycle
from gitnexus.workflow.progress import NodeState, WorkflowProgress

_KNOWN = ("memory", "context", "rules")
_HARNESS = "git-nexus"


def cycle_workflow(state: State, agent: str = "", parallel: int = 0) -> WorkflowDefinition:
    """Return the workflow of the session's open tasks. Raises: NotFound, Invalid."""
    settings = workflow_settings(state)
    names: tuple[Specialist, ...] = ("researcher", "planner", "executor")
    backed = dict.fromkeys(names, agent) if agent else settings.specialist_adapters()
    budgets = settings.budgets.changed(parallel=parallel) if parallel else settings.budgets
    session = open_session(state.repo.folder, None)
    try:
        return workflow_from_cycle(session.tasks(), backed, budgets, _list_knowledge_files(state))
    finally:
        session.state.close()


def report_results_to_session(run: OpenRun, definition: WorkflowDefinition) -> None:
    """Report each task's result once to the session from which the run is driven."""
    if definition.name != NAME:
        return
    progress = WorkflowProgress()
    progress.fold(run.events())
    session = open_session(run.repo.folder, _HARNESS)
    try:
        file = session.tasks()
        for task in file.tasks if file is not None else ():
            node = next((one for one in definition.nodes if one.id == task_node_id(task.id)), None)
            state = progress.nodes.get(task_node_id(task.id))
            if (
                node is not None
                and state is not None
                and state.status
                and node.prompt.startswith(f"TASK: {task.title}\n")
            ):
                _report_task_result(run, session, task, state, progress.nodes.get(check_node_id(task.id)))
    finally:
        session.state.close()


def _report_task_result(
    run: OpenRun, session: OpenSession, task: CycleTask, state: NodeState, check: NodeState | None
) -> None:
    agent = {"agent_id": f"{run.record.id}.{task_node_id(task.id)}"}
    if task.status == "pending" and state.status:
        cycle_tasks.update_cycle_task(session, {"id": task.id, "status": "in_progress"})
    with contextlib.suppress(Duplicate, Invalid):  # already known, or a name that the tracker rejects
        agents.track_agent_start(session, {**agent, "agent_name": task.owner or "engineer"})
    words, found = _summarize_task(run, state, check)
    outcome = {"completed": "success", "failed": "failure"}.get(state.status)
    if outcome == "success" and found:
        outcome = "partial"
    if outcome is None or (task.result is not None and task.result.summary == words):
        return
    name = f"{run.record.id}-{task_node_id(task.id)}.md"
    artifact.write_artifact(session, {"filename": name, "content": f"# {task.title}\n\n{words}\n"})
    done = "completed" if outcome == "success" else "in_progress"
    result = {"outcome": outcome, "summary": words, "artifacts": [name]}
    cycle_tasks.update_cycle_task(session, {"id": task.id, "status": done, **result})
    with contextlib.suppress(NotFound):
        files = list(parse_context_trailers(task.context).files)
        agents.track_agent_end(session, {**agent, "last_message": one_line(words, 500), "files_touched": files})


def _summarize_task(run: OpenRun, state: NodeState, check: NodeState | None) -> tuple[str, bool]:
    """Return a summary of a task's result, and whether its checker requires changes."""
    if state.status == "failed":
        return f"failed in {run.record.id}: {state.why}", False
    said = f"done in {run.record.id}"
    for name, form in (("exec_result.json", ExecResult), ("research.json", ResearchBundle)):
        if digest := state.outputs.get(name):
            said = f"{form.from_value(parse_json(run.artifacts.read(digest)), name).summary}\n\n{said}"
    wrong = False
    if check is not None and (digest := check.outputs.get("review.json")) and check.status == "completed":
        bundle = ResearchBundle.from_value(parse_json(run.artifacts.read(digest)), "review.json")
        wrong = bool(bundle.constraints)
        said += "\n\nchecked: " + "; ".join([bundle.summary, *(f"to mend: {one}" for one in bundle.constraints)])
    return said.strip(), wrong


def _list_knowledge_files(state: State) -> str:
    snapshot = state.required()
    paths = [f".nexus/{folder}/{name}" for folder in _KNOWN for name in snapshot.names(folder) if name.endswith(".md")]
    return "\n".join(f"- {path}" for path in paths)
