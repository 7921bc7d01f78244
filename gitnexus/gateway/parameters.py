"""The parameters of each gateway tool."""

from typing import Annotated

from pydantic import Field

from gitnexus.base.parameters import Number, Parameters
from gitnexus.gateway.tools.read import MOST_HITS, MOST_ITEMS, MOST_LINES
from gitnexus.policy.model import Network

Path = Annotated[str, Field(description="Only what lies at or below this path, from the top of the repository.")]
Revision = Annotated[
    str, Field(description="A commit: a branch, a tag or an id, with ~2 or ^ after it. Without it the files on disk.")
]
Summary = Annotated[str, Field(description="What it is for. Shown to the approver, and not trusted.")]
Approval = Annotated[str, Field(description="The token of an approval that was given for exactly this.")]
Cwd = Annotated[str, Field(description="The folder to run in, from the top of the worktree.")]
Seconds = Annotated[Number, Field(description="When to end it; the policy's limit applies if it is lower.")]


class RepoListTreeParameters(Parameters):
    path: Path | None = None
    revision: Revision | None = None
    offset: Number | None = Field(None, description="How many to skip.")
    limit: Number | None = Field(None, description=f"How many to show, at most {MOST_ITEMS}.")


class RepoSearchParameters(Parameters):
    query: str = Field(description="What to find, on one line.")
    regex: bool | None = Field(None, description="Treat the query as a regular expression (RE2 syntax).")
    ignore_case: bool | None = Field(None, description="Ignore case.")
    path: Path | None = None
    revision: Revision | None = None
    limit: Number | None = Field(None, description=f"How many lines to show, at most {MOST_HITS}.")


class RepoReadFileParameters(Parameters):
    path: str = Field(description="The file, from the top of the repository.")
    revision: Revision | None = None
    offset: Number | None = Field(None, description="The first line, from 1.")
    limit: Number | None = Field(None, description=f"How many lines, at most {MOST_LINES} and 256 KiB.")


class RepoApplyPatchParameters(Parameters):
    patch: str = Field(description="The diff, as git writes it.")
    summary: Summary | None = None
    approval: Approval | None = None


class CmdRunParameters(Parameters):
    argv: list[str] = Field(description="The program and its arguments, passed on unchanged.")
    cwd: Cwd | None = None
    env: dict[str, str] | None = Field(None, description="Variables to set, by names that are allowed.")
    stdin: str | None = Field(None, description="What it reads.")
    seconds: Seconds | None = None
    network: Network | None = Field(None, description="What it may reach; nothing by default.")
    summary: Summary | None = None
    approval: Approval | None = None


class TestsRunParameters(Parameters):
    runner: str | None = Field(None, description="Which runner; by default the first that fits.")
    files: list[str] | None = Field(None, description="Only these files.")
    argv: list[str] | None = Field(None, description="A command instead of a runner; then only its exit status counts.")
    cwd: Cwd | None = None
    seconds: Seconds | None = None
    summary: Summary | None = None
    approval: Approval | None = None


class GatewayArtifactParameters(Parameters):
    filename: str = Field(description="Its name; / separates folders.")
    content: str = Field(description="The whole text.")


class GitDiffParameters(Parameters):
    revision: str | None = Field(None, description="The older side: a branch, a tag or an id. HEAD by default.")
    to: str | None = Field(None, description="The newer side, a commit. The files on disk by default.")
    paths: list[str] | None = Field(None, description="Only these files or folders; names are literal, not patterns.")
    context: Number | None = Field(None, description="How many lines around a change; 3 by default.")
