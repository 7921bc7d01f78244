"""Refuses a prompt before its run starts if only rules are configured and they can carry out none of it."""

from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.runs.workflow.packs import opened_library_at
from gitnexus.runs.workflow.routing import workflow_settings
from gitnexus.runs.workflow.specialists import LiveView
from gitnexus.state import State
from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
from gitnexus.workflow.embedded.executing import execute_by_rule
from gitnexus.workflow.embedded.lists import TodoLists
from gitnexus.workflow.embedded.planning import has_work, lists_to_plan, plan_by_rule
from gitnexus.workflow.embedded.question import named_paths
from gitnexus.workflow.run_definition import EMBEDDED
from gitnexus.workflow.specialist import WorkOrder

SET_UP = "git nexus model add"


def refuse_beyond_rules(state: State, definition: WorkflowDefinition, base: str, task: str = "") -> None:
    """Raise an error if all nodes work by rule, and rules can make no step of the prompt. Raises: Failed.

    A prompt that names a list, a task or a phase is never refused: its steps may be for another specialist.
    """
    backed = workflow_settings(state).specialist_adapters()
    worked = [one for one in definition.nodes if one.type != "command"]
    if any((one.adapter or backed.get(one.specialist, EMBEDDED)) != EMBEDDED for one in worked):
        return
    node = next((one for one in worked if one.type in ("plan", "exec")), None)
    if node is None or len(worked) != len(definition.nodes) or any(one.prompt for one in worked):
        return
    with opened_library_at(state, base) as (library, git):
        view = LiveView(library, git, library.base.commit)
        missing = _files_that_are_missing(definition.prompt, library.base.paths())
        order = WorkOrder(node=node, goal=definition.prompt, prompt="", task=task, view=view)
        beyond = _is_beyond_rules(node, order)
    if beyond:
        words = one_line(definition.prompt, 100)
        if missing:
            raise Failed(
                f"there is no {missing[0]}, so rules cannot do “{words}”: {SET_UP} sets up a model", fix=SET_UP
            )
        raise Failed(f"“{words}” needs a model or an agent, and none is set up: {SET_UP} sets up a model", fix=SET_UP)


def _is_beyond_rules(node: WorkflowNode, order: WorkOrder) -> bool:
    lists = TodoLists(order.view.library) if order.view is not None else None
    sources = lists_to_plan(order, order.goal.strip(), lists)
    if any(source.ref or source.what != "the prompt" for source in sources) or (lists and lists.missing):
        return False
    if node.type == "exec":
        result = execute_by_rule(order)
        return result.blocked is not None and result.blocked.question.startswith("How is “")
    plan = plan_by_rule(order)
    known = lists.known if lists is not None else frozenset()
    steps = getattr(plan, "steps", ())
    return bool(steps) and not any(has_work(step, known) for step in steps)


def _files_that_are_missing(prompt: str, known: list[str]) -> list[str]:
    return [path for path in named_paths(prompt, known) if path not in known and not path.endswith("/")]
