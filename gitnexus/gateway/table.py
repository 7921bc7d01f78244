"""The tools of this room, written by hand."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import NotFound
from gitnexus.base.tool import Param, Tool, checked
from gitnexus.gateway.bench import Bench
from gitnexus.gateway.tools import changes, effects, looking

_REVISION = Param("revision", "text", "A commit: a branch, a tag or an id, with ~2 or ^ after it. Without it the "
                  "files on disk.")  # fmt: skip
_BELOW = Param("path", "text", "Only what lies at or below this path, from the top of the repository.")
_SUMMARY = Param("summary", "text", "What it is for. Shown to whoever approves, and not believed.")
_APPROVAL = Param("approval", "text", "The token of an approval that was given for exactly this.")
_SECONDS = Param("seconds", "number", "When to end it; the policy's own limit holds if it is lower.")

_ALL = (
    Tool(
        "repo.list_tree",
        "List files. What the base commit ignores, and what is denied, is not among them.",
        (
            _BELOW,
            _REVISION,
            Param("offset", "number", "How many to pass over."),
            Param("limit", "number", f"How many to show, at most {looking.MOST_ITEMS}."),
        ),
        looking.list_tree,
        reads_only=True,
    ),
    Tool(
        "repo.search",
        "Find lines in files of up to 1 MiB.",
        (
            Param("query", "text", "What to find, on one line.", required=True),
            Param("regex", "flag", "Take the query for a pattern, in the syntax of RE2."),
            Param("ignore_case", "flag", "Upper and lower case alike."),
            _BELOW,
            _REVISION,
            Param("limit", "number", f"How many lines to show, at most {looking.MOST_HITS}."),
        ),
        looking.search,
        reads_only=True,
    ),
    Tool(
        "repo.read_file",
        "Read lines of one file, with secrets hidden.",
        (
            Param("path", "text", "The file, from the top of the repository.", required=True),
            _REVISION,
            Param("offset", "number", "The first line, from 1."),
            Param("limit", "number", f"How many lines, at most {looking.MOST_LINES} and 256 KiB."),
        ),
        looking.read_file,
        reads_only=True,
    ),
    Tool(
        "repo.apply_patch",
        "Apply a unified diff to HEAD and bring it into the files, all of it or nothing.",
        (Param("patch", "text", "The diff, as git writes it.", required=True), _SUMMARY, _APPROVAL),
        effects.apply_patch,
        destructive=True,
    ),
    Tool(
        "cmd.run",
        "Run one program in the sandbox. There is no shell.",
        (
            Param("argv", "texts", "The program and its arguments, each as it is.", required=True),
            Param("cwd", "text", "The folder to run in, from the top of the worktree."),
            Param("env", "text map", "Variables to set, by names that are allowed."),
            Param("stdin", "text", "What it reads."),
            _SECONDS,
            Param("network", "text", "What it may reach; none if not said.", choices=("none", "loopback", "full")),
            _SUMMARY,
            _APPROVAL,
        ),
        effects.run,
        destructive=True,
    ),
    Tool(
        "tests.run",
        "Run tests in the sandbox and tell how many ran, passed, failed and were skipped.",
        (
            Param("runner", "text", "Which runner; the first that fits if not said."),
            Param("files", "texts", "Only these files."),
            Param("argv", "texts", "A command instead of a runner; then only its exit status counts."),
            Param("cwd", "text", "The folder to run in, from the top of the worktree."),
            _SECONDS,
            _SUMMARY,
            _APPROVAL,
        ),
        effects.run_tests,
        destructive=True,
    ),
    Tool(
        "artifact.write",
        "Keep a text for others to read, with secrets hidden, named by its content.",
        (
            Param("filename", "text", "What to call it; sub-folders with /.", required=True),
            Param("content", "text", "The whole text.", required=True),
        ),
        effects.write_artifact,
    ),
    Tool("git.status", "Tell how the files on disk differ from HEAD.", (), changes.status, reads_only=True),
    Tool(
        "git.diff",
        "Show the difference between two commits, or between a commit and the files on disk.",
        (
            Param("revision", "text", "The older side: a branch, a tag or an id. HEAD if not said."),
            Param("to", "text", "The newer side, a commit. The files on disk if not said."),
            Param("paths", "texts", "Only these files or folders, each name as it is."),
            Param("context", "number", "How many lines around a change, 3 if not said."),
        ),
        changes.diff,
        reads_only=True,
    ),
)

TOOLS: dict[str, Tool[Bench]] = {tool.name: tool for tool in _ALL}


def call(bench: Bench, name: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool as an agent calls it. Raises: NexusError."""
    tool = TOOLS.get(name)
    if tool is None:
        raise NotFound(f"there is no tool {name!r}", hint=f"there are: {', '.join(TOOLS)}")
    return tool.run(bench, checked(tool, params))
