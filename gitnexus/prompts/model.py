"""The documents that go into and come out of each prompt function. Field names are those that the prompts use."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from gitnexus.base.document import Document, Many, json_schema_of

Argv = Many[str]
Percent = Annotated[int, Field(ge=0, le=100)]
Risk = Annotated[int, Field(ge=0, le=3)]


class Form(Document):
    """A document whose fields are called the same in JSON, as models are told."""

    model_config = ConfigDict(alias_generator=None)


class RouteInput(Form):
    """A request of a person, and what is known about the project."""

    prompt: str
    project_state: str = ""


class RoutedNode(Form):
    """One step of a workflow; `uses` are ids of steps before it."""

    id: str
    type: Literal["research", "plan", "plan_patch", "exec", "review"]
    prompt: str
    uses: Many[str] = ()


class RoutedWorkflow(Form):
    """Which steps, how sure (0 to 100), and why in one sentence; `alternatives` are other ways to go, in words."""

    nodes: Many[RoutedNode]
    confidence: Percent
    why: str
    alternatives: Many[str] = ()


class ResearchInput(Form):
    """A question, and a pack to answer it from."""

    question: str
    context: str = ""


class Claim(Form):
    """Something that is so, and the references that show it."""

    text: str
    citations: Many[str]
    confidence: Percent


class ResearchBundle(Form):
    """What was found out, what follows for a plan, and what is still open."""

    question: str
    summary: str
    claims: Many[Claim] = ()
    constraints: Many[str] = ()
    unresolved: Many[str] = ()


class MakePlanInput(Form):
    """What is to be reached, and packs of the agenda, of research and of the repository."""

    goal: str
    agenda: str = ""
    research: str = ""
    repo: str = ""


class StepContext(Form):
    """What a step is to be shown: references to documents, paths, words to search for, commands to look at."""

    docs: Many[str] = ()
    paths: Many[str] = ()
    grep: Many[str] = ()
    commands: Many[Argv] = ()


class StepCall(Form):
    """Which prompt function carries a step out, and with what."""

    fn: str
    inputs: dict[str, str] = Field(default_factory=dict)


class PlanStep(Form):
    """One step: what it touches, how it is checked, how risky it is (0 to 3), and what must be known first."""

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
    """Steps in their order, and questions for a person."""

    goal: str
    steps: Many[PlanStep]
    questions: Many[str] = ()


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
    steps: Many[PlanStep] = ()


class PlanChanges(Form):
    """What changes in a plan, in its order."""

    summary: str
    changes: Many[StepChange]


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
    suggested_ctx: Many[str] = ()


class ExecResult(Form):
    """What is proposed for a step; or, if it is blocked, by what."""

    status: Literal["done", "blocked"]
    summary: str
    actions: Many[Action] = ()
    blocked: Blocked | None = None


class AgendaPatchInput(Form):
    """What a run did, and the agenda and phase as they are."""

    run_summary: str
    agenda: str = ""


class Patch(Form):
    """A unified diff of the agenda and its phases; empty if nothing is to change."""

    summary: str
    diff: str = ""


def prompt_schema(form: type[Any], name: str) -> dict[str, Any]:
    """Return the JSON Schema of a document, or a record, that goes into or comes out of a prompt function."""
    return json_schema_of(form, f"urn:git-nexus:prompt:{name}:1")
