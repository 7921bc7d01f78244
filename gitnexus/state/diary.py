"""The commits of the state ref, read as a diary."""

from dataclasses import dataclass
from datetime import UTC, datetime

from gitnexus.base.clock import stamp
from gitnexus.base.errors import NotFound
from gitnexus.git.child import must
from gitnexus.state.layout import checked
from gitnexus.state.store import State


@dataclass(frozen=True, slots=True)
class DiaryEntry:
    """One transaction: who, when, why, and which files."""

    commit: str
    author: str
    at: str
    why: str
    files: list[str]


def diary(state: State, path: str | None, limit: int) -> tuple[list[DiaryEntry], int]:
    """Return the newest entries, of one path if given, and how many more there are. Raises: NotFound."""
    tip = state.required().commit or ""
    scope = ["--", checked(path)] if path else ["--"]
    where = state.repo.common_dir
    count = int(must("--literal-pathspecs", "rev-list", "--count", tip, *scope, git_dir=where))
    if path and not count:
        raise NotFound(f"the state never held {path}", hint="git nexus log shows everything")
    raw = must(
        "--literal-pathspecs",
        "log",
        f"--max-count={limit}",
        "--no-show-signature",
        "--no-color",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--name-only",
        "-z",
        "--root",
        "--format=%x01%H%x00%an%x00%ct%x00%s%x00",
        tip,
        *scope,
        git_dir=where,
    )
    entries = [_entry(block) for block in raw.decode("utf-8", "replace").split("\x01")[1:]]
    return entries, max(0, count - len(entries))


def _entry(block: str) -> DiaryEntry:
    commit, author, when, why, *files = block.split("\0")
    names = [name.strip("\n") for name in files if name.strip("\n")]
    return DiaryEntry(commit, author, stamp(datetime.fromtimestamp(int(when), UTC)), why, names)
