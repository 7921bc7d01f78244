"""What goes into each function and what comes out. Names are those that the prompts use."""

from dataclasses import field
from typing import ClassVar, Literal

from gitnexus.base.record import Record

Argv = tuple[str, ...]


class Form(Record):
    """A record whose fields are called the same in JSON, as models are told."""

    _camel_case: ClassVar[bool] = False


class RouteInput(Form):
    """A request of a person, and what is known about the project."""

    prompt: str
    project_state: str = ""


class RoutedNode(Form):
    """One step of a workflow; `uses` are ids of steps before it."""

    id: str
    type: Literal["research", "plan", "plan_patch", "exec", "review"]
    prompt: str
    uses: tuple[str, ...] = ()


class RoutedWorkflow(Form):
    """Which steps, how sure (0 to 100), and why in one sentence; `alternatives` are other ways to go, in words."""

    nodes: tuple[RoutedNode, ...]
    confidence: int
    why: str
    alternatives: tuple[str, ...] = ()


class ResearchInput(Form):
    """A question, and a pack to answer it from."""

    question: str
    context: str = ""


class Claim(Form):
    """Something that is so, and the references that show it."""

    text: str
    citations: tuple[str, ...]
    confidence: int


class ResearchBundle(Form):
    """What was found out, what follows for a plan, and what is still open."""

    question: str
    summary: str
    claims: tuple[Claim, ...] = ()
    constraints: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()


class MakePlanInput(Form):
    """What is to be reached, and packs of the agenda, of research and of the repository."""

    goal: str
    agenda: str = ""
    research: str = ""
    repo: str = ""


class StepContext(Form):
    """What a step is to be shown: references to documents, paths, words to search for, commands to look at."""

    docs: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    grep: tuple[str, ...] = ()
    commands: tuple[Argv, ...] = ()


class StepCall(Form):
    """Which prompt function carries a step out, and with what."""

    fn: str
    inputs: dict[str, str] = field(default_factory=dict)


class PlanStep(Form):
    """One step: what it touches, how it is checked, how risky it is (0 to 3), and what must be known first."""

    id: str
    title: str
    files: tuple[str, ...] = ()
    commands: tuple[Argv, ...] = ()
    risk: int = 0
    questions: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    depends: tuple[str, ...] = ()
    ctx: StepContext = field(default_factory=StepContext)
    baml: StepCall | None = None


class Plan(Form):
    """Steps in their order, and questions for a person."""

    goal: str
    steps: tuple[PlanStep, ...]
    questions: tuple[str, ...] = ()


class PlanPatchInput(Form):
    """A plan, what is new, and what stands in the way."""

    plan: str
    new_constraints: str = ""
    blocker: str = ""


class StepChange(Form):
    """One change: `step` is the one that is replaced, split or removed, or the one after which `steps` are added."""

    op: Literal["add", "replace", "remove", "split"]
    step: str
    why: str
    steps: tuple[PlanStep, ...] = ()


class PlanChanges(Form):
    """What changes in a plan, in its order."""

    summary: str
    changes: tuple[StepChange, ...]


class ExecStepInput(Form):
    """A plan, the step to do, and a pack for it."""

    plan: str
    step_id: str
    context_pack: str = ""


class Action(Form):
    """Something to be done by others, after a person or the policy said yes: a patch, a command or a handoff."""

    kind: Literal["patch", "command", "handoff"]
    summary: str
    diff: str = ""
    argv: Argv = ()
    receiver: str = ""
    message: str = ""


class Blocked(Form):
    """Why a step cannot be done now, and what might help."""

    kind: Literal["needs_research", "needs_plan_patch", "needs_user_input"]
    question: str
    suggested_ctx: tuple[str, ...] = ()


class ExecResult(Form):
    """What is proposed for a step; or, if it is blocked, by what."""

    status: Literal["done", "blocked"]
    summary: str
    actions: tuple[Action, ...] = ()
    blocked: Blocked | None = None


class AgendaPatchInput(Form):
    """What a run did, and the agenda and phase as they are."""

    run_summary: str
    agenda: str = ""


class Patch(Form):
    """A unified diff of the agenda and its phases; empty if nothing is to change."""

    summary: str
    diff: str = ""
