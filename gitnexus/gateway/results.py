"""The result of each gateway tool."""

from typing import Annotated, Any

from pydantic import Field

from gitnexus.base.document import Many
from gitnexus.base.results import OneOf, Result, Written
from gitnexus.gateway.testrun.protocol import Failure
from gitnexus.policy.model import Level

Hidden = Annotated[int, Field(description="How many denied files were skipped.")]
More = Annotated[bool, Field(description="True if there are others.")]


class TreeEntryRow(Result):
    path: str
    kind: str = Field(description="file, link, submodule, or why it is not entered.")
    size: int


class RepoListTreeResult(Result):
    entries: Many[TreeEntryRow]
    more: More
    hidden: Hidden


class MatchingLine(Result):
    path: str
    line: int
    text: str


class RepoSearchResult(Result):
    hits: Many[MatchingLine]
    more: More
    hidden: Hidden


class RepoReadFileResult(Result):
    path: str
    size: int
    binary: bool = Field(description="If it is true, there is no text.")
    text: str | None = None
    from_: int | None = Field(None, alias="from", description="The first line that is shown.")
    lines: int | None = Field(None, description="How many are shown.")
    total: int | None = Field(None, description="How many there are.")
    more: More | None = None


class ChangedPath(Result):
    path: str
    change: str = Field(description="added, deleted, changed, mode changed or replaced by another kind.")


class RepoApplyPatchResult(Result):
    base: str = Field(description="The commit that it was applied to.")
    result_tree: str
    files: Many[ChangedPath]
    reserved: Many[str] = Field(description="Names that mean a device on Windows.")


class CmdRunResult(Result):
    status: int | None = None
    signal: int | None = None
    seconds: float
    level: Level = Field(description="The level of the sandbox.")
    ended_by: str | None = Field(None, description="The limit that ended it.")
    output: str = Field(description="Both streams, with secrets masked.")
    cut: int = Field(description="How many bytes were cut from the output.")


class CommandTestsResult(CmdRunResult):
    runner: str
    argv: Many[str]
    ok: bool


class CountedTestsResult(CommandTestsResult):
    ran: int
    passed: int
    failed: int
    skipped: int
    failures: Many[Annotated[dict[str, Any], Written(Failure)]]


class TestsRunResult(OneOf[CommandTestsResult | CountedTestsResult]):
    __test__ = False  # not a test, whatever a test runner thinks of its name


class GatewayArtifactResult(Result):
    filename: str
    digest: str
    size: int


class OddPath(Result):
    path: str
    why: str


class GitStatusResult(Result):
    base: str
    changes: Many[ChangedPath]
    odd: Many[OddPath] = Field(description="What no tree can contain.")
    more: More
    hidden: Hidden


class GitDiffResult(Result):
    diff: str
    more: More
    hidden: Hidden
