"""The table of prompt functions by name: file, input and output documents, and checks that no schema can express."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitnexus.base.errors import Invalid, NotFound
from gitnexus.prompts.model import (
    Action,
    AgendaPatchInput,
    ExecResult,
    ExecStepInput,
    Form,
    MakePlanInput,
    Patch,
    Plan,
    PlanChanges,
    PlanPatchInput,
    PlanStep,
    ResearchBundle,
    ResearchInput,
    RoutedWorkflow,
    RouteInput,
)

_MOST = 500
_ARGUMENT = {"patch": "diff", "command": "argv", "handoff": "receiver"}


@dataclass(frozen=True, slots=True)
class PromptFunction:
    """One function. `about` describes it for people; `check` refuses a well-formed answer that makes no sense."""

    name: str
    file: str
    about: str
    inputs: type[Form]
    output: type[Form]
    check: Callable[[Any], None]

    def given(self, value: Mapping[str, Any] | Form) -> Form:
        """Return the validated input. Raises: Invalid."""
        plain = value.plain() if isinstance(value, Form) else value
        return self.inputs.from_value(dict(plain), self.name)

    def answer(self, value: Any) -> Form:
        """Return the checked output. Raises: Invalid, worded so that a model can correct it."""
        found = self.output.from_value(_without_null_fields(value), "the answer")
        self.check(found)
        return found


def function_named(name: str) -> PromptFunction:
    """Return a function. Raises: NotFound."""
    if name not in FUNCTIONS:
        raise NotFound(f"there is no prompt {name[:60]!r}", hint=f"there are: {', '.join(FUNCTIONS)}")
    return FUNCTIONS[name]


def _without_null_fields(value: Any) -> Any:
    """Return a value without fields that are null: they count as missing."""
    if isinstance(value, dict):
        return {key: _without_null_fields(item) for key, item in value.items() if item is not None}
    return [_without_null_fields(item) for item in value] if isinstance(value, list) else value


def _check_ids(ids: Iterable[str], what: str) -> None:
    seen: set[str] = set()
    for one in ids:
        if not one.strip() or len(one) > 100 or one in seen:
            raise Invalid(
                f"the answer: each {what} needs an id of its own, of 1 to 100 characters; {one[:40]!r} is none"
            )
        seen.add(one)
    if not 0 < len(seen) <= _MOST:
        raise Invalid(f"the answer: there should be 1 to {_MOST} of {what}")


def _check_route(found: RoutedWorkflow) -> None:
    _check_ids((node.id for node in found.nodes), "node")
    before: set[str] = set()
    for node in found.nodes:
        late = [one for one in node.uses if one not in before]
        if late:
            raise Invalid(f"the answer: node {node.id} uses {late[0][:40]}, which is not an earlier node")
        before.add(node.id)


def _check_research(found: ResearchBundle) -> None:
    for claim in found.claims:
        if not any(one.strip() for one in claim.citations):
            raise Invalid(f"the answer: the claim {claim.text[:60]!r} has no citation; move it to unresolved, or cite")


def _check_plan(found: Plan) -> None:
    _check_steps(found.steps)


def _check_steps(steps: tuple[PlanStep, ...]) -> None:
    _check_ids((step.id for step in steps), "step")
    for step in steps:
        if any(not argv or not argv[0] for argv in step.commands):
            raise Invalid(f"the answer: step {step.id}: a command is a list of words, and the first names a program")


def _check_plan_changes(found: PlanChanges) -> None:
    if not found.changes:
        raise Invalid("the answer: changes should have at least one change")
    for change in found.changes:
        if (change.op == "remove") == bool(change.steps):
            raise Invalid(f"the answer: {change.op} of {change.step[:40]} {_describe_steps_rule(change.op)}")
        if change.steps:
            _check_steps(change.steps)


def _describe_steps_rule(op: str) -> str:
    return "should have no steps" if op == "remove" else "should say which steps"


def _check_exec_result(found: ExecResult) -> None:
    if (found.status == "blocked") != (found.blocked is not None):
        raise Invalid("the answer: blocked should be there if status is blocked, and only then")
    if found.status == "blocked" and found.actions:
        raise Invalid("the answer: a step that is blocked proposes no actions")
    for action in found.actions:
        _check_action(action)


def _check_action(action: Action) -> None:
    wanted = _ARGUMENT[action.kind]
    if not getattr(action, wanted):
        raise Invalid(f"the answer: the {action.kind} {action.summary[:60]!r} should have {wanted}")


def _accept_any_patch(_found: Patch) -> None:
    """Accept any patch: the caller that applies it checks it."""


FUNCTIONS: dict[str, PromptFunction] = {
    one.name: one
    for one in (
        PromptFunction(
            "RoutePrompt", "router.baml", "which steps a request needs", RouteInput, RoutedWorkflow, _check_route
        ),
        PromptFunction(
            "Research", "research.baml", "what is so, with citations", ResearchInput, ResearchBundle, _check_research
        ),
        PromptFunction("MakePlan", "plan.baml", "steps that can be carried out", MakePlanInput, Plan, _check_plan),
        PromptFunction(
            "PlanPatch", "plan.baml", "what changes in a plan", PlanPatchInput, PlanChanges, _check_plan_changes
        ),
        PromptFunction(
            "ExecStep",
            "exec.baml",
            "actions for one step, or what blocks it",
            ExecStepInput,
            ExecResult,
            _check_exec_result,
        ),
        PromptFunction(
            "AgendaPatch", "agenda_patch.baml", "the agenda after a run", AgendaPatchInput, Patch, _accept_any_patch
        ),
    )
}
