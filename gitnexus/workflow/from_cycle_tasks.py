"""The open tasks of a cycle as a workflow: a node for each, who waits for whom, and checks behind them. Pure.

Lead hands out and takes back: no task talks to another. Tasks that would change the same file are never side by side.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.cycle.drafts import CHECK, Draft
from gitnexus.cycle.jobs import begun
from gitnexus.cycle.model import CycleTask, TaskFile
from gitnexus.cycle.pair import wanted
from gitnexus.cycle.prompt import traced
from gitnexus.workflow.definition import (
    NodeInputs,
    NodeType,
    Specialist,
    WorkflowBudgets,
    WorkflowDefinition,
    WorkflowNode,
    checked,
    node,
)
from gitnexus.workflow.graph import before

NAME = "cycle"
_MOST_TASKS = 100


def of_cycle(
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
    edges = [(id_of(dep), id_of(task.id)) for task in left for dep in task.deps if dep in ids]
    edges += _apart(left, edges)
    nodes = [_node(task, [dep for dep in task.deps if dep in ids], backed, knowledge) for task in left]
    for task in left:
        role = _checker(task, left)
        if role:
            edges.append((id_of(task.id), check_of(task.id)))
            nodes.append(_check(task, role, backed))
    made = WorkflowDefinition(
        name=NAME, prompt=file.goal, nodes=tuple(nodes), edges=tuple(dict.fromkeys(edges)), budgets=budgets,
        stop=("budget",),
    )  # fmt: skip
    return checked(made, "the cycle")


def id_of(task: int) -> str:
    """Return the node of a task."""
    return f"T{task}"


def check_of(task: int) -> str:
    """Return the node that checks a task."""
    return f"T{task}-check"


def told(task: CycleTask, knowledge: str = "") -> str:
    """Return what an agent is told of a task; what the task does not say is left out."""
    parts = [f"TASK: {task.title}", f"CONTEXT:\n{task.context}"]
    parts += [f"APPROACH:\n{task.approach}"] if task.approach else []
    parts += [f"ACCEPTANCE:\n{task.acceptance}"] if task.acceptance else []
    parts += [f"KNOWLEDGE:\n{knowledge}"] if knowledge else []
    return "\n".join(parts)


def _apart(tasks: Sequence[CycleTask], edges: Sequence[tuple[str, ...]]) -> list[tuple[str, str]]:
    """Return edges that put tasks with a file in common one after the other, unless they are."""
    found: list[tuple[str, str]] = []
    files = {task.id: set(traced(task.context).files) for task in tasks}
    for first, second in combinations(tasks, 2):
        if files[first.id] & files[second.id]:
            one, other = id_of(first.id), id_of(second.id)
            known = [*edges, *found]
            if one not in before(other, known) and other not in before(one, known):
                found.append((one, other))
    return found


def _node(task: CycleTask, deps: Sequence[int], backed: Mapping[Specialist, str], knowledge: str) -> WorkflowNode:
    type_: NodeType = "review" if task.owner in CHECK else "research" if task.owner == "researcher" else "exec"
    made = node(id_of(task.id), type_)
    made = node(made.id, type_, adapter=backed.get(made.specialist, ""), prompt=told(task, knowledge))
    return made.changed(role=task.owner or "", inputs=NodeInputs(uses=tuple(map(id_of, deps))))


def _checker(task: CycleTask, tasks: Sequence[CycleTask]) -> str:
    """Return the role that checks a task by the rules of pairs, nothing if none does or one of the tasks is that."""
    trace = traced(task.context)
    draft = Draft(
        title=task.title, context=task.context, owner=task.owner, acceptance=task.acceptance, files=trace.files
    )
    want = wanted(begun([draft])[0])
    if want is None or any(task.id in other.deps and other.owner == want[0] for other in tasks):
        return ""
    return want[0]


def _check(task: CycleTask, role: str, backed: Mapping[Specialist, str]) -> WorkflowNode:
    words = f"Check this task with fresh eyes, and change nothing.\n{told(task)}"
    made = node(check_of(task.id), "review", adapter=backed.get("researcher", ""), prompt=words)
    return made.changed(role=role, inputs=NodeInputs(uses=(id_of(task.id),)))
