"""Checks the output of a node against its schema, writes it as artifact files and parses those again. Pure."""

from collections.abc import Collection
from typing import Any

from gitnexus.base.canonical import json_document, parse_json
from gitnexus.base.errors import Invalid
from gitnexus.prompts.functions import function_named
from gitnexus.prompts.model import Blocked, ExecResult, Form, Plan, PlanChanges, ResearchBundle
from gitnexus.workflow.definition import OUTPUTS, NodeType
from gitnexus.workflow.packing import SplitRequest
from gitnexus.workflow.papers import render_research
from gitnexus.workflow.planchange import apply_plan_changes
from gitnexus.workflow.specialist import FUNCTIONS, Output

PLAN = "plan.json"
CHANGES = "plan_patch.json"
# Begins the question of a step that did not hold as often as it may be tried; `resume` answers it by trying again.
GAVE_UP = "no valid result"
# Kept by the tool by which an agent's program says that it is blocked.
REPORT = "blocked-report.json"
LARGEST_OUTPUT = 4 * 1024 * 1024


class Hindrance(Form):
    """The record of a blocked node: why, and the split request if a step is too big."""

    blocked: Blocked
    split: SplitRequest | None = None


def check_output(type_: NodeType, output: Output, plan: Plan | None, done: Collection[str] = ()) -> Output:
    """Return an output if it fits its node and the plan in force. Raises: Invalid, worded for its author."""
    if isinstance(output, Blocked):
        if not output.question.strip():
            raise Invalid("the answer: blocked should say what is missing, as a question")
        return output
    function = function_named(FUNCTIONS.get(type_, "ExecStep"))
    if not isinstance(output, function.output):
        raise Invalid(f"the answer should be a {function.output.__name__}, not a {type(output).__name__}")
    found = function.answer(output.plain())
    if isinstance(found, PlanChanges) and plan is not None:
        apply_plan_changes(plan, found, done)
    if isinstance(found, ExecResult) and found.blocked is not None and not found.blocked.question.strip():
        raise Invalid("the answer: blocked should say what is missing, as a question")
    if len(json_document(found.plain())) > LARGEST_OUTPUT:
        raise Invalid(f"the answer is larger than {LARGEST_OUTPUT // 2**20} MiB")
    return output


def block_of_output(output: Output) -> Blocked | None:
    """Return the block, if the output is one."""
    if isinstance(output, Blocked):
        return output
    return output.blocked if isinstance(output, ExecResult) else None


def output_files(type_: NodeType, output: Output) -> dict[str, bytes]:
    """Return the files of an output; `parse_output` reads the first one back."""
    names = OUTPUTS[type_]
    found = {names[0] if type_ != "command" else "exec_result.json": json_document(output.plain())}
    if isinstance(output, ResearchBundle):
        found[names[1]] = render_research(output, type_).encode("utf-8", "replace")
    return found


def parse_output(type_: NodeType, raw: bytes) -> Output:
    """Return the output in a stored file. Raises: Invalid."""
    value: Any = parse_json(raw)
    forms: dict[NodeType, type[ResearchBundle | Plan | PlanChanges | ExecResult]] = {
        "research": ResearchBundle,
        "review": ResearchBundle,
        "plan": Plan,
        "plan_patch": PlanChanges,
        "exec": ExecResult,
        "command": ExecResult,
    }
    return forms[type_].from_value(value, OUTPUTS[type_][0])
