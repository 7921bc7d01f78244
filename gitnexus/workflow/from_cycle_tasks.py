"""Turns the open tasks of a cycle into a workflow: one node for each, their dependencies, and check nodes. Pure.

The lead assigns tasks and collects results: tasks do not talk to each other. Tasks that would change the same file
never run in parallel.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.cycle.drafts import CHECK, TaskDraft
from gitnexus.cycle.jobs import jobs_from_drafts
from gitnexus.cycle.model import CycleTask, TaskFile
from gitnexus.cycle.pair import required_check
from gitnexus.cycle.prompt import parse_context_trailers
from gitnexus.workflow.definition import (
    NodeInputs,
    NodeType,
    Specialist,
    WorkflowBudgets,
    WorkflowDefinition,
    WorkflowNode,
    check_workflow,
    make_node,
)
from gitnexus.workflow.graph import nodes_before

NAME = "cycle"
_MOST_TASKS = 100


def workflow_from_cycle(
    file: TaskFile | None, backed: Mapping[Specialist, str], budgets: WorkflowBudgets, knowledge: str = ""
) -> WorkflowDefinition:
    """Return the workflow of all tasks that are not completed. Raises: NotFound, Invalid."""
    if file is None:
        raise NotFound("there are no tasks in this cycle", hint="git nexus plan start begins one")
    left = [task for task in file.tasks if task.status != "completed"]
    if not left:
        raise NotFound("all tasks of this cycle are completed", hint="git nexus cycle close ends it")
    if len(left) > _MOST_TASKS:
        raise Invalid(f"{len(left)} tasks are too many for one run", hint=f"at most {_MOST_TASKS}")
    ids = {task.id for task in left}
    edges = [(task_node_id(dep), task_node_id(task.id)) for task in left for dep in task.deps if dep in ids]
    edges += _edges_for_shared_files(left, edges)
    nodes = [_node_for_task(task, [dep for dep in task.deps if dep in ids], backed, knowledge) for task in left]
    for task in left:
        role = _role_that_checks(task, left)
        if role:
            edges.append((task_node_id(task.id), check_node_id(task.id)))
            nodes.append(_check_node(task, role, backed))
    made = WorkflowDefinition.from_fields(
        "the cycle",
        name=NAME,
        prompt=file.goal,
        nodes=tuple(nodes),
        edges=tuple(dict.fromkeys(edges)),
        budgets=budgets,
        stop=("budget",),
    )
    return check_workflow(made, "the cycle")


def task_node_id(task: int) -> str:
    """Return the node id of a task."""
    return f"T{task}"


def check_node_id(task: int) -> str:
    """Return the id of the node that checks a task."""
    return f"T{task}-check"


def describe_task(task: CycleTask, knowledge: str = "") -> str:
    """Return the instructions of a task for an agent, without empty fields."""
    parts = [f"TASK: {task.title}", f"CONTEXT:\n{task.context}"]
    parts += [f"APPROACH:\n{task.approach}"] if task.approach else []
    parts += [f"ACCEPTANCE:\n{task.acceptance}"] if task.acceptance else []
    parts += [f"KNOWLEDGE:\n{knowledge}"] if knowledge else []
    return "\n".join(parts)


def _edges_for_shared_files(tasks: Sequence[CycleTask], edges: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Return the edges that order tasks with a common file, unless they are ordered already."""
    found: list[tuple[str, str]] = []
    files = {task.id: set(parse_context_trailers(task.context).files) for task in tasks}
    for first, second in combinations(tasks, 2):
        if files[first.id] & files[second.id]:
            one, other = task_node_id(first.id), task_node_id(second.id)
            known = [*edges, *found]
            if one not in nodes_before(other, known) and other not in nodes_before(one, known):
                found.append((one, other))
    return found


def _node_for_task(
    task: CycleTask, deps: Sequence[int], backed: Mapping[Specialist, str], knowledge: str
) -> WorkflowNode:
    type_: NodeType = "review" if task.owner in CHECK else "research" if task.owner == "researcher" else "exec"
    made = make_node(task_node_id(task.id), type_)
    made = make_node(made.id, type_, adapter=backed.get(made.specialist, ""), prompt=describe_task(task, knowledge))
    return made.changed(role=task.owner or "", inputs=NodeInputs(uses=tuple(map(task_node_id, deps))))


def _role_that_checks(task: CycleTask, tasks: Sequence[CycleTask]) -> str:
    """Return the role that checks a task by the pairing rules; empty if none, or if a task does it already."""
    trace = parse_context_trailers(task.context)
    draft = TaskDraft(
        title=task.title, context=task.context, owner=task.owner, acceptance=task.acceptance, files=trace.files
    )
    want = required_check(jobs_from_drafts([draft])[0])
    if want is None or any(task.id in other.deps and other.owner == want[0] for other in tasks):
        return ""
    return want[0]


def _check_node(task: CycleTask, role: str, backed: Mapping[Specialist, str]) -> WorkflowNode:
    words = f"Check this task with fresh eyes, and change nothing.\n{describe_task(task)}"
    made = make_node(check_node_id(task.id), "review", adapter=backed.get("researcher", ""), prompt=words)
    return made.changed(role=role, inputs=NodeInputs(uses=(task_node_id(task.id),)))
