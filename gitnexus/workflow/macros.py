"""Macros: the built-in named workflows, and their expansion to a definition for a prompt."""

from collections.abc import Mapping
from itertools import pairwise
from typing import NamedTuple

from gitnexus.workflow.definition import (
    NodeType,
    Specialist,
    WorkflowBudgets,
    WorkflowDefinition,
    check_workflow,
    make_node,
)


class MacroPart(NamedTuple):
    """One node of a chain: its id, type, adapter (empty: the project's default) and instructions."""

    id: str
    type: NodeType
    adapter: str = ""
    prompt: str = ""


class Macro(NamedTuple):
    """A named chain of parts with a one-line description."""

    name: str
    about: str
    parts: tuple[MacroPart, ...]


_RESEARCH, _PLAN, _EXEC = MacroPart("research", "research"), MacroPart("plan", "plan"), MacroPart("exec", "exec")
# The safe baseline: what is taken where nothing in a prompt says more.
DEFAULT = "research-plan-exec"
_ALL = (
    Macro("research", "find out, and change nothing", (_RESEARCH,)),
    Macro("plan", "write down the steps, and change nothing", (_PLAN,)),
    Macro("exec", "make the change", (_EXEC,)),
    Macro("research-plan", "find out, then write down the steps", (_RESEARCH, _PLAN)),
    Macro("research-exec", "find out, then make the change", (_RESEARCH, _EXEC)),
    Macro("plan-exec", "write down the steps, then carry them out", (_PLAN, _EXEC)),
    Macro(DEFAULT, "find out, write down the steps, carry them out", (_RESEARCH, _PLAN, _EXEC)),
    Macro(
        "analyze-patch-exec",
        "the executor looks first, the plan is changed after that, then it is carried out",
        (MacroPart("analyze", "research"), MacroPart("patch", "plan_patch"), _EXEC),
    ),
    Macro(
        "unblock",
        "what an executor that is blocked needs: research, a change of the plan, and on",
        (_RESEARCH, MacroPart("patch", "plan_patch"), MacroPart("resume", "exec")),
    ),
    Macro("exec-review", "make the change, then review it", (_EXEC, MacroPart("review", "review"))),
)
MACROS: dict[str, Macro] = {macro.name: macro for macro in _ALL}


def macro_for_steps(steps: frozenset[str]) -> Macro:
    """Return the built-in macro with exactly these of research, plan and exec; the default for none."""
    name = "-".join(step for step in ("research", "plan", "exec") if step in steps)
    return MACROS[name or DEFAULT]


def expand_macro(
    macro: Macro,
    prompt: str,
    specialists: Mapping[Specialist, str],
    budgets: WorkflowBudgets | None = None,
) -> WorkflowDefinition:
    """Return a macro as a workflow for a prompt: a chain in which each node gets the outputs of all before it."""
    nodes = []
    for at, part in enumerate(macro.parts):
        made = make_node(part.id, part.type, adapter=part.adapter, prompt=part.prompt)
        if not part.adapter and specialists.get(made.specialist):
            made = make_node(part.id, part.type, adapter=specialists[made.specialist], prompt=part.prompt)
        uses = tuple(earlier.id for earlier in macro.parts[:at])
        nodes.append(made.changed(inputs=made.inputs.changed(uses=uses)))
    edges = tuple((one.id, other.id) for one, other in pairwise(nodes))
    where = f"the workflow {macro.name}"
    limits = budgets or WorkflowBudgets()
    workflow = WorkflowDefinition.from_fields(
        where, name=macro.name, prompt=prompt, nodes=tuple(nodes), edges=edges, budgets=limits
    )
    return check_workflow(workflow, where)
