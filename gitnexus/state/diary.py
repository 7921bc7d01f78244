"""Reads the commits of the state ref as log entries: what changed, when, by whom and why."""

from dataclasses import dataclass

from gitnexus.base.clock import format_timestamp, time_from_seconds
from gitnexus.base.errors import NotFound
from gitnexus.git.child import run_git_or_raise
from gitnexus.state.layout import require_state_path
from gitnexus.state.store import State


@dataclass(frozen=True, slots=True)
class StateLogEntry:
    """One transaction: author, time, reason and files."""

    commit: str
    author: str
    at: str
    why: str
    files: list[str]


def read_state_log(state: State, path: str | None, limit: int) -> tuple[list[StateLogEntry], int]:
    """Return the newest entries, of one path if given, and how many more there are. Raises: NotFound."""
    tip = state.required().commit or ""
    scope = ["--", require_state_path(path)] if path else ["--"]
    where = state.repo.common_dir
    count = int(run_git_or_raise("--literal-pathspecs", "rev-list", "--count", tip, *scope, git_dir=where))
    if path and not count:
        raise NotFound(f"the state never held {path}", hint="git nexus log shows everything")
    log = ("log", f"--max-count={limit}", "-z", "--no-show-signature", "--no-color", "--format=%H%x00%an%x00%ct%x00%s")
    fields = (
        run_git_or_raise("--literal-pathspecs", *log, tip, *scope, git_dir=where).decode("utf-8", "replace").split("\0")
    )
    heads = [fields[at : at + 4] for at in range(0, len(fields) - 3, 4)]
    files = _files_of_commits([head[0] for head in heads], state)
    entries = [
        StateLogEntry(commit, author, format_timestamp(time_from_seconds(int(when))), why, files.get(commit, []))
        for commit, author, when, why in heads
    ]
    return entries, max(0, count - len(entries))


def _files_of_commits(commits: list[str], state: State) -> dict[str, list[str]]:
    """Return the files of each commit: rows of a raw diff begin with a colon, ids never do."""
    raw = run_git_or_raise(
        "diff-tree",
        "--stdin",
        "-z",
        "-r",
        "--root",
        "--raw",
        "--no-renames",
        git_dir=state.repo.common_dir,
        stdin="\n".join(commits).encode() + b"\n",
    )
    found: dict[str, list[str]] = {}
    current: list[str] = []
    fields = iter(raw.decode("utf-8", "replace").split("\0"))
    for field in fields:
        if field.startswith(":"):
            current.append(next(fields, ""))
        elif field.strip():
            current = found.setdefault(field.strip(), [])
    return found
