"""What a node gives: the form it must have, the files it becomes, and the way back from those. Pure."""

from collections.abc import Collection
from typing import Any

from gitnexus.base.canonical import document, parse
from gitnexus.base.errors import Invalid
from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Blocked, ExecResult, Form, Plan, PlanChanges, ResearchBundle
from gitnexus.workflow.definition import OUTPUTS, NodeType
from gitnexus.workflow.packing import SplitRequest
from gitnexus.workflow.papers import research_text
from gitnexus.workflow.planchange import changed_plan
from gitnexus.workflow.specialist import FUNCTIONS, Output

PLAN = "plan.json"
CHANGES = "plan_patch.json"
LARGEST_OUTPUT = 4 * 1024 * 1024


class Hindrance(Form):
    """What is kept of a node that is blocked: why, and the request for a split if a step is too big."""

    blocked: Blocked
    split: SplitRequest | None = None


def checked(type_: NodeType, output: Output, plan: Plan | None, done: Collection[str] = ()) -> Output:
    """Return an output that fits its node and the plan in force. Raises: Invalid, for who gave it."""
    if isinstance(output, Blocked):
        if not output.question.strip():
            raise Invalid("the answer: blocked should say what is missing, as a question")
        return output
    function = function_named(FUNCTIONS.get(type_, "ExecStep"))
    if not isinstance(output, function.output):
        raise Invalid(f"the answer should be a {function.output.__name__}, not a {type(output).__name__}")
    found = function.answer(output.plain())
    if isinstance(found, PlanChanges) and plan is not None:
        changed_plan(plan, found, done)
    if isinstance(found, ExecResult) and found.blocked is not None and not found.blocked.question.strip():
        raise Invalid("the answer: blocked should say what is missing, as a question")
    if len(document(found.plain())) > LARGEST_OUTPUT:
        raise Invalid(f"the answer is larger than {LARGEST_OUTPUT // 2**20} MiB")
    return output


def block_in(output: Output) -> Blocked | None:
    """Return what blocks, if that is what a node gave."""
    if isinstance(output, Blocked):
        return output
    return output.blocked if isinstance(output, ExecResult) else None


def files_of(type_: NodeType, output: Output) -> dict[str, bytes]:
    """Return the files that an output becomes; the first of them is read back by `read`."""
    names = OUTPUTS[type_]
    found = {names[0] if type_ != "command" else "exec_result.json": document(output.plain())}
    if isinstance(output, ResearchBundle):
        found[names[1]] = research_text(output, type_).encode("utf-8", "replace")
    return found


def read(type_: NodeType, raw: bytes) -> Output:
    """Return the output in a file that was kept. Raises: Invalid."""
    value: Any = parse(raw)
    forms: dict[NodeType, type[ResearchBundle | Plan | PlanChanges | ExecResult]] = {
        "research": ResearchBundle, "review": ResearchBundle, "plan": Plan, "plan_patch": PlanChanges,
        "exec": ExecResult, "command": ExecResult,
    }  # fmt: skip
    return forms[type_].from_value(value, OUTPUTS[type_][0])
