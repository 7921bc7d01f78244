"""The tasks of a cycle as a workflow: who waits, what is never side by side, and what is checked."""

import pytest

from gitnexus.base.errors import NotFound
from gitnexus.cycle.model import CycleTask, TaskFile
from gitnexus.workflow.definition import WorkflowBudgets
from gitnexus.workflow.from_cycle_tasks import workflow_from_cycle
from gitnexus.workflow.graph import parallel_waves


def task(id_: int, *files: str, deps: tuple[int, ...] = (), **more: object) -> CycleTask:
    context = "Do it." + ("\n\n" + "\n".join(f"File: {file}" for file in files) if files else "")
    return CycleTask(id=id_, title=f"task {id_}", context=context, deps=deps, **{"owner": "engineer", **more})  # type: ignore[arg-type]


def test_open_tasks_become_nodes_that_wait_as_the_tasks_do() -> None:
    tasks = (task(1, status="completed"), task(2, deps=(1,)), task(3, deps=(2,), owner="researcher"))

    found = workflow_from_cycle(TaskFile(goal="go", tasks=tasks), {"executor": "codex"}, WorkflowBudgets())

    assert [(one.id, one.type, one.adapter, one.role, one.inputs.uses) for one in found.nodes] == [
        ("T2", "exec", "codex", "engineer", ()),
        ("T3", "research", "", "researcher", ("T2",)),
    ]
    assert (found.edges, found.prompt, found.nodes[0].prompt) == (
        (("T2", "T3"),), "go", "TASK: task 2\nCONTEXT:\nDo it.",
    )  # fmt: skip


def test_tasks_with_a_file_in_common_are_never_side_by_side() -> None:
    tasks = (task(1, "a.py"), task(2, "b.py"), task(3, "a.py", "c.py"), task(4, "c.py"))

    found = workflow_from_cycle(TaskFile(goal="go", tasks=tasks), {}, WorkflowBudgets(parallel=4))

    assert found.edges == (("T1", "T3"), ("T3", "T4"))
    assert parallel_waves([one.id for one in found.nodes], found.edges, 4) == (("T1", "T2"), ("T3",), ("T4",))


def test_what_the_rules_want_checked_is_checked_after_it_unless_a_task_is_that_check() -> None:
    wants = task(1, "a.py", acceptance="it returns 3 when it is run", approach="by hand")
    has = task(2, "b.py", acceptance="the command exits with 0")
    check = task(3, deps=(2,), owner="tester")

    found = workflow_from_cycle(TaskFile(goal="go", tasks=(wants, has, check)), {}, WorkflowBudgets())

    assert [(one.id, one.type, one.role) for one in found.nodes] == [
        ("T1", "exec", "engineer"), ("T2", "exec", "engineer"), ("T3", "review", "tester"),
        ("T1-check", "review", "tester"),
    ]  # fmt: skip
    assert found.edges == (("T2", "T3"), ("T1", "T1-check"))
    assert found.nodes[0].prompt.endswith("APPROACH:\nby hand\nACCEPTANCE:\nit returns 3 when it is run")


def test_a_cycle_without_open_tasks_is_nothing_to_run() -> None:
    with pytest.raises(NotFound):
        workflow_from_cycle(None, {}, WorkflowBudgets())
    with pytest.raises(NotFound) as done:
        workflow_from_cycle(TaskFile(goal="go", tasks=(task(1, status="completed"),)), {}, WorkflowBudgets())

    assert done.value.hint == "git nexus cycle close ends it"
