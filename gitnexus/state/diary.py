"""The commits of the state ref, read as a diary."""

from dataclasses import dataclass

from gitnexus.base.clock import moment, stamp
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
    log = ("log", f"--max-count={limit}", "-z", "--no-show-signature", "--no-color", "--format=%H%x00%an%x00%ct%x00%s")
    fields = must("--literal-pathspecs", *log, tip, *scope, git_dir=where).decode("utf-8", "replace").split("\0")
    heads = [fields[at : at + 4] for at in range(0, len(fields) - 3, 4)]
    files = _files([head[0] for head in heads], state)
    entries = [
        DiaryEntry(commit, author, stamp(moment(int(when))), why, files.get(commit, []))
        for commit, author, when, why in heads
    ]
    return entries, max(0, count - len(entries))


def _files(commits: list[str], state: State) -> dict[str, list[str]]:
    """Return the files of each commit: rows of a raw difference begin with a colon, ids never do."""
    raw = must("diff-tree", "--stdin", "-z", "-r", "--root", "--raw", "--no-renames", git_dir=state.repo.common_dir,
               stdin="\n".join(commits).encode() + b"\n")  # fmt: skip
    found: dict[str, list[str]] = {}
    current: list[str] = []
    fields = iter(raw.decode("utf-8", "replace").split("\0"))
    for field in fields:
        if field.startswith(":"):
            current.append(next(fields, ""))
        elif field.strip():
            current = found.setdefault(field.strip(), [])
    return found
