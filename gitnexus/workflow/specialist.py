"""Defines how a specialist is called: a work order in; a record of the node's output schema, or a block, out."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from gitnexus.base.document import Document
from gitnexus.base.errors import Failed
from gitnexus.packs import Library
from gitnexus.prompts.model import Blocked, ExecResult, Plan, PlanChanges, ResearchBundle
from gitnexus.workflow.definition import NodeType, WorkflowNode
from gitnexus.workflow.packing import SplitRequest

# The output of a node. Specialists other than the executor return a bare `Blocked` if they cannot continue.
Output = ResearchBundle | Plan | PlanChanges | ExecResult | Blocked
# The prompt function whose schema a node's output has; a command has none, it is run as it is.
FUNCTIONS: dict[NodeType, str] = {
    "research": "Research",
    "review": "Research",
    "plan": "MakePlan",
    "plan_patch": "PlanPatch",
    "exec": "ExecStep",
}


class HistoryCommit(NamedTuple):
    """One commit of the history: id, time in seconds, and the first line of its message."""

    id: str
    time: int
    subject: str


class ProjectView(Protocol):
    """The project as a specialist may see it: one commit of code and one of state, as far as the policy allows."""

    @property
    def library(self) -> Library:
        """The library that resolves references."""

    def log(self, most: int) -> Sequence[HistoryCommit]:
        """Return the last commits up to the base, newest first."""

    def touched(self, path: str, most: int) -> Sequence[HistoryCommit]:
        """Return the last commits that changed a path, newest first."""


class StepLimits(NamedTuple):
    """How many files and lines one step may change; 0 is no limit."""

    files: int = 0
    lines: int = 0


class AnsweredQuestion(NamedTuple):
    """A node's question to a person, and the answer."""

    question: str
    answer: str


class CallUsage(Document):
    """The usage of a call; `cost` in millionths of a dollar, all 0 if unknown."""

    input: int = 0
    output: int = 0
    cost: int = 0
    session: str = ""


class UnusableAnswer(Failed):
    """An answer that cannot be used. Its message is sent back to its author, as often as the node's retries allow."""

    # What that answer took all the same.
    usage: CallUsage | None = None


class SpecialistGaveUp(Failed):
    """There is no answer and a retry is pointless; the usage so far, and the attempts that failed, count."""

    def __init__(self, message: str, usage: CallUsage, wrong: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.usage = usage
        self.wrong = wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkOrder:
    """One call. `goal` is the prompt of the workflow, `prompt` that of this node (by default the goal).

    `inputs` are the outputs of the nodes that it uses, by id, in order. `plan` is the plan in force with all approved
    changes, `step` the id of the step to carry out: an executor is called once for each. Both are empty without a plan.
    `blocked` is the block that a planner or researcher has to resolve, `split` the step that is too big. `skill` is a
    skill of the catalog that says how the user wants the work done; `pack` is what a model is given to read. `feedback`
    is the error of the previous answer, empty at first. `session` is the session of an agent's program that did this
    step before, to be taken up again. `done` are the steps of the plan that are carried out, and `limits` how much
    one of them may change.
    """

    node: WorkflowNode
    goal: str
    prompt: str
    inputs: Mapping[str, Output] = field(default_factory=dict)
    plan: Plan | None = None
    step: str = ""
    blocked: Blocked | None = None
    split: SplitRequest | None = None
    answers: tuple[AnsweredQuestion, ...] = ()
    skill: str = ""
    pack: str = ""
    view: ProjectView | None = None
    feedback: str = ""
    session: str = ""
    done: tuple[str, ...] = ()
    limits: StepLimits = field(default_factory=StepLimits)
    # By time.monotonic(); a call that takes longer is abandoned.
    deadline: float | None = None
    # The id of the backlog task that the run is for, as its reference; empty if there is none.
    task: str = ""
    say: Callable[[str], None] = field(default=lambda _text: None)

    def seconds_left(self) -> float | None:
        """Return the remaining time in seconds, None for no limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkResult:
    """The result: the output, its usage, the errors of earlier answers, and references of what was looked up for it."""

    output: Output
    usage: CallUsage = field(default_factory=CallUsage)
    wrong: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


class Specialist(Protocol):
    """Does a node's work. It proposes and never acts; its result is checked before it counts."""

    name: str

    def work(self, order: WorkOrder) -> WorkResult:
        """Carry out the order. Raises: UnusableAnswer if it may be asked again, another NexusError to give up."""
