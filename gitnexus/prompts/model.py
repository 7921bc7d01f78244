"""The input and output documents of each prompt function. Their fields have the names that the prompts use."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from gitnexus.base.document import Document, Many, json_schema_of

Argv = Many[str]
Percent = Annotated[int, Field(ge=0, le=100)]
Risk = Annotated[int, Field(ge=0, le=3)]


class Form(Document):
    """A document whose field names are the same in JSON, as in the prompts."""

    model_config = ConfigDict(alias_generator=None)


class RouteInput(Form):
    """A request of the user, and what is known about the project."""

    prompt: str
    project_state: str = ""


class RoutedNode(Form):
    """One step of a workflow; `uses` has ids of earlier steps."""

    id: str
    type: Literal["research", "plan", "plan_patch", "exec", "review"]
    prompt: str
    uses: Many[str] = ()


class RoutedWorkflow(Form):
    """The steps, a confidence from 0 to 100, and the reason as a sentence; `alternatives` describes other workflows."""

    nodes: Many[RoutedNode]
    confidence: Percent
    why: str
    alternatives: Many[str] = ()


class ResearchInput(Form):
    """A question, and a pack with material to answer it."""

    question: str
    context: str = ""


class Claim(Form):
    """A statement, and the references that support it."""

    text: str
    citations: Many[str]
    confidence: Percent


class ResearchBundle(Form):
    """The findings, their consequences for a plan, and the open questions."""

    question: str
    summary: str
    claims: Many[Claim] = ()
    constraints: Many[str] = ()
    unresolved: Many[str] = ()


class MakePlanInput(Form):
    """The goal, and packs of the agenda, of research and of the repository."""

    goal: str
    agenda: str = ""
    research: str = ""
    repo: str = ""


class StepContext(Form):
    """The context of a step: references to documents, paths, search words, commands whose output matters."""

    docs: Many[str] = ()
    paths: Many[str] = ()
    grep: Many[str] = ()
    commands: Many[Argv] = ()


class StepCall(Form):
    """The prompt function that carries out a step, and its inputs."""

    fn: str
    inputs: dict[str, str] = Field(default_factory=dict)


class PlanStep(Form):
    """One step: files it touches, how it is checked, its risk (0 to 3), and what must be known first."""

    id: str
    title: str
    files: Many[str] = ()
    commands: Many[Argv] = ()
    risk: Risk = 0
    questions: Many[str] = ()
    accept: Many[str] = ()
    depends: Many[str] = ()
    ctx: StepContext = StepContext()
    baml: StepCall | None = None


class Plan(Form):
    """The steps in order, and questions for the user."""

    goal: str
    steps: Many[PlanStep]
    questions: Many[str] = ()


class PlanPatchInput(Form):
    """A plan, new facts, and the obstacle."""

    plan: str
    new_constraints: str = ""
    blocker: str = ""


class StepChange(Form):
    """One change: `step` is replaced, split or removed, or is the step after which `steps` are added."""

    op: Literal["add", "replace", "remove", "split"]
    step: str
    why: str
    steps: Many[PlanStep] = ()


class PlanChanges(Form):
    """The changes of a plan, in order."""

    summary: str
    changes: Many[StepChange]


class ExecStepInput(Form):
    """A plan, the step to carry out, and a pack for it."""

    plan: str
    step_id: str
    context_pack: str = ""


class Action(Form):
    """A patch, command or handoff for others to carry out after the user or the policy approves it."""

    kind: Literal["patch", "command", "handoff"]
    summary: str
    diff: str = ""
    argv: Argv = ()
    receiver: str = ""
    message: str = ""


class Blocked(Form):
    """The reason why a step cannot be carried out now, and what might help."""

    kind: Literal["needs_research", "needs_plan_patch", "needs_user_input"]
    question: str
    suggested_ctx: Many[str] = ()


class ExecResult(Form):
    """The proposed actions for a step, or the reason why it is blocked."""

    status: Literal["done", "blocked"]
    summary: str
    actions: Many[Action] = ()
    blocked: Blocked | None = None


class AgendaPatchInput(Form):
    """The result of a run, and the current agenda and phase."""

    run_summary: str
    agenda: str = ""


class Patch(Form):
    """A unified diff of the agenda and its phases; empty if nothing changes."""

    summary: str
    diff: str = ""


def prompt_schema(form: type[Any], name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document, or a record, that goes into or comes out of a prompt function."""
    return json_schema_of(form, f"urn:git-nexus:prompt:{name}:1")
