"""How a specialist is called: an order goes in; a record of the form that its node has comes out, or what blocks it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from gitnexus.base.errors import Failed
from gitnexus.base.record import Record
from gitnexus.packs import Library
from gitnexus.prompts.model import Blocked, ExecResult, Plan, PlanChanges, ResearchBundle
from gitnexus.workflow.definition import NodeType, WorkflowNode
from gitnexus.workflow.packing import SplitRequest

# What a node gives. Whoever is no executor says by a bare `Blocked` that it cannot.
Output = ResearchBundle | Plan | PlanChanges | ExecResult | Blocked
# Which prompt function has the form of a node's output; a command has none, it is run as it stands.
FUNCTIONS: dict[NodeType, str] = {
    "research": "Research",
    "review": "Research",
    "plan": "MakePlan",
    "plan_patch": "PlanPatch",
    "exec": "ExecStep",
}


class Commit(NamedTuple):
    """One commit of the history: id, time in seconds, and the first line of its message."""

    id: str
    time: int
    subject: str


class View(Protocol):
    """The project as a specialist may see it: the code at one commit, the state at one, what the law lets be read."""

    @property
    def library(self) -> Library:
        """Where references are looked up."""

    def log(self, most: int) -> Sequence[Commit]:
        """Return the last commits before and with the base, the newest first."""

    def touched(self, path: str, most: int) -> Sequence[Commit]:
        """Return the last commits that changed a path, the newest first."""


class Answered(NamedTuple):
    """A question of a node to a person, and the answer."""

    question: str
    answer: str


class Usage(Record):
    """What a call took; `cost` in millionths of a dollar, all 0 where nobody knows."""

    input: int = 0
    output: int = 0
    cost: int = 0
    session: str = ""


class Unfit(Failed):
    """An answer that cannot be used. Its message is told to who gave it, as often as the node's retries allow."""

    # What that answer took all the same.
    usage: Usage | None = None


class GaveUp(Failed):
    """No answer, and no use in asking again; what was taken until then counts."""

    def __init__(self, message: str, usage: Usage) -> None:
        super().__init__(message)
        self.usage = usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """One call. `goal` is the prompt of the workflow, `prompt` what this node is told (the goal where it says nothing).

    `inputs` are the outputs of the nodes that it uses, by id, in their order. `plan` is the plan in force with all
    approved changes, `step` the id of its step to carry out: an executor is called once for each. Both are empty where
    there is no plan. `blocked` is what a planner or researcher is called to clear away, `split` the step that is too
    big. `skill` is how a person wants it done, from the catalog; `pack` is what a model is given to read. `feedback`
    says what was wrong with the answer before, empty at first.
    """

    node: WorkflowNode
    goal: str
    prompt: str
    inputs: Mapping[str, Output] = field(default_factory=dict)
    plan: Plan | None = None
    step: str = ""
    blocked: Blocked | None = None
    split: SplitRequest | None = None
    answers: tuple[Answered, ...] = ()
    skill: str = ""
    pack: str = ""
    view: View | None = None
    feedback: str = ""
    # By time.monotonic(); whoever takes longer is given up.
    deadline: float | None = None
    # The id of the backlog task that the run is for, as its reference; empty if there is none.
    task: str = ""
    say: Callable[[str], None] = field(default=lambda _text: None)

    def seconds_left(self) -> float | None:
        """Return how long it may still take, None for no limit."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """What came back: the output, what it took, and what was wrong with each answer that was tried before it."""

    output: Output
    usage: Usage = field(default_factory=Usage)
    wrong: tuple[str, ...] = ()


class Specialist(Protocol):
    """Who does a node's work. It proposes and never acts; what it returns is looked at again before it counts."""

    name: str

    def work(self, order: Order) -> Returned:
        """Do it. Raises: Unfit for an answer that may be asked for again, Failed or another NexusError to give up."""
