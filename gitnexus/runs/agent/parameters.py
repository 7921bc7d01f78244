"""The parameters of the tools that only the agent of a run has."""

from typing import Annotated, Literal

from pydantic import Field

from gitnexus.base.parameters import Number, Parameters
from gitnexus.gateway.parameters import RepoReadFileParameters
from gitnexus.policy.model import Network
from gitnexus.runs.agent.tools import MOST_PATIENCE

Summary = Annotated[str, Field(description="What it is for, in a line. Shown to the approver, and not trusted.")]
Patience = Annotated[
    Number,
    Field(
        description="How many seconds to wait for a person if one has to answer, at most "
        f"{MOST_PATIENCE}; none by default."
    ),
]


class ProposePatchParameters(Parameters):
    patch: str = Field(description="The diff, as git writes it.")
    summary: Summary | None = None
    replaces: str | None = Field(None, description="A waiting patch of yours, such as a2: this one replaces it.")
    wait: Patience | None = None


class ProposeCommandParameters(Parameters):
    argv: list[str] = Field(description="The program and its arguments, passed on unchanged.")
    cwd: str | None = Field(None, description="The folder to run in, from the top of the worktree.")
    env: dict[str, str] | None = Field(None, description="Variables to set, by names that are allowed.")
    stdin: str | None = Field(None, description="What it reads.")
    seconds: Number | None = Field(None, description="When to end it; the policy's limit applies if it is lower.")
    network: Network | None = Field(None, description="What it may reach; nothing by default.")
    summary: Summary | None = None
    wait: Patience | None = None


class HandoffParameters(Parameters):
    to: str = Field(description="An agent by its name, such as claude, or a role for your own program.")
    message: str = Field(description="What it has to do and to know: its prompt.")
    summary: Summary | None = None
    wait: Patience | None = None


class RunAskParameters(Parameters):
    question: str = Field(description="The question, in full.")
    wait: Patience | None = None


class ReportBlockParameters(Parameters):
    kind: Literal["needs_research", "needs_plan_patch", "needs_user_input"] = Field(
        description="What it takes: something to be found out, another plan, or an answer of a person."
    )
    question: str = Field(description="What exactly is missing.")
    suggested_ctx: list[str] | None = Field(None, description="Files and documents that might help.")


class RunReadParameters(RepoReadFileParameters):
    path: str | None = Field(  # type: ignore[assignment]
        None, description="The file or the folder, from the top of the repository."
    )


class RunStatusParameters(Parameters):
    id: str | None = Field(None, description="One action or question, such as a2 or q1; all by default.")


class RunWaitParameters(Parameters):
    id: str = Field(description="The action or the question, such as a2 or q1.")
    wait: Patience | None = None
