"""The table of all gateway tools, and the function that calls one by name."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import NotFound
from gitnexus.base.tool import NO_PARAMETERS, Tool, check_parameters, check_result
from gitnexus.gateway.tool_context import ToolContext
from gitnexus.gateway.tools import changes, effects, read

_FORMS = "gitnexus.gateway.parameters"
_RESULTS = "gitnexus.gateway.results"

_ALL = (
    Tool(
        "repo.list_tree",
        "List files. What the base commit ignores, and what is denied, is not among them.",
        f"{_FORMS}:RepoListTreeParameters",
        read.list_tree,
        reads_only=True,
        result=f"{_RESULTS}:RepoListTreeResult",
    ),
    Tool(
        "repo.search",
        "Find lines in files of up to 1 MiB.",
        f"{_FORMS}:RepoSearchParameters",
        read.search_files,
        reads_only=True,
        result=f"{_RESULTS}:RepoSearchResult",
    ),
    Tool(
        "repo.read_file",
        "Read lines of one file, with secrets hidden.",
        f"{_FORMS}:RepoReadFileParameters",
        read.read_file,
        reads_only=True,
        result=f"{_RESULTS}:RepoReadFileResult",
    ),
    Tool(
        "repo.apply_patch",
        "Apply a unified diff to HEAD and to the files, completely or not at all.",
        f"{_FORMS}:RepoApplyPatchParameters",
        effects.apply_patch,
        destructive=True,
        result=f"{_RESULTS}:RepoApplyPatchResult",
    ),
    Tool(
        "cmd.run",
        "Run one program in the sandbox. There is no shell.",
        f"{_FORMS}:CmdRunParameters",
        effects.run_program,
        destructive=True,
        result=f"{_RESULTS}:CmdRunResult",
    ),
    Tool(
        "tests.run",
        "Run tests in the sandbox and return how many ran, passed, failed and were skipped.",
        f"{_FORMS}:TestsRunParameters",
        effects.run_tests,
        destructive=True,
        result=f"{_RESULTS}:TestsRunResult",
    ),
    Tool(
        "artifact.write",
        "Store a text for others to read, with secrets masked, named by its content.",
        f"{_FORMS}:GatewayArtifactParameters",
        effects.write_artifact,
        result=f"{_RESULTS}:GatewayArtifactResult",
    ),
    Tool(
        "git.status",
        "Return how the files on disk differ from HEAD.",
        NO_PARAMETERS,
        changes.git_status,
        reads_only=True,
        result=f"{_RESULTS}:GitStatusResult",
    ),
    Tool(
        "git.diff",
        "Show the difference between two commits, or between a commit and the files on disk.",
        f"{_FORMS}:GitDiffParameters",
        changes.git_diff,
        reads_only=True,
        result=f"{_RESULTS}:GitDiffResult",
    ),
)

TOOLS: dict[str, Tool[ToolContext]] = {tool.name: tool for tool in _ALL}


def call_tool(
    context: ToolContext, name: str, params: Mapping[str, Any], own: Mapping[str, Tool[ToolContext]] | None = None
) -> dict[str, Any]:
    """Call a tool as an agent does; `own` are the project's. Raises: NexusError."""
    tool = TOOLS.get(name) or (own or {}).get(name)
    if tool is None:
        raise NotFound(f"there is no tool {name!r}", hint=f"there are: {', '.join((*TOOLS, *(own or {})))}")
    return check_result(tool, tool.run(context, check_parameters(tool, params)))
