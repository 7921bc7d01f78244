"""Lists the names that belong to the state tree, and checks whether a path may be written there."""

import re
from functools import lru_cache

from gitnexus.base.errors import Invalid

FORMAT_FILE = "format.json"
IGNORE_FILE = ".gitignore"
IGNORE_TEXT = b"state/\n"
# Never on the ref: what one worktree's session works with.
SESSION_FOLDER = "state"
# Top-level names that `.nexus/` shares with the ref. A room owns its name and nothing else.
OWNED_FILES = frozenset(
    {FORMAT_FILE, IGNORE_FILE, "approvers", "history.json", "policy.md", "settings.json", "tools.json"}
)
OWNED_FOLDERS = frozenset({
    "approvers", "backlog", "baml", "commands", "conflicts", "context", "memory", "plans", "policy", "research",
    "rules", "runs", "schemas",
})  # fmt: skip
OWNED = OWNED_FILES | OWNED_FOLDERS
# Files without which there is no project: put back, never taken as deleted.
STRUCTURAL = frozenset({FORMAT_FILE, IGNORE_FILE})
LARGEST_FILE = 10 * 1024 * 1024
KEPT = re.compile(r"\.mine-[0-9a-f]{7}$")
# A version of a file that another clone had and that could not be merged: on the ref, beside the file, or in a folder
# of its own for a file at the top, where nothing can be deleted by hand.
CONFLICTS = "conflicts"
OTHER_MARK = ".other-"
OTHER = re.compile(r"\.other-[0-9a-f]{7}$")

# By far the most names are like this, and nothing can be wrong with them.
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}(\.[A-Za-z0-9]{1,9})?")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_GIT_SPELLINGS = re.compile(r"^(\.git|git~1)[. ]*(:.*)?$", re.IGNORECASE)
_NOISE = re.compile(r"^\.|~$|\.(swp|swo|swx|tmp|bak|orig|rej)$")


@lru_cache(maxsize=4096)
def why_path_unsafe(path: str) -> str | None:
    """Return why `path` may not be a path of the state tree, or None if it may."""
    if _PLAIN.fullmatch(path):
        return None
    if len(path.encode("utf-8", "surrogatepass")) > 1024:
        return "it is longer than 1024 bytes"
    if _CONTROL.search(path):
        return "it holds control or invisible characters"
    for part in path.split("/"):
        if part in ("", ".", ".."):
            return "it has an empty, '.' or '..' part"
        if len(part.encode()) > 255:
            return "a part is longer than 255 bytes"
        # Zero-width characters vanish on HFS+, so `.g\u200cit` would become `.git` there.
        if _GIT_SPELLINGS.match(re.sub("[\u200b-\u200f\u2060-\u2064\ufeff]", "", part)):
            return "a part is a spelling of .git"
        if "\\" in part or ":" in part:
            return "a part holds a backslash or a colon"
    return None


def require_state_path(path: str) -> str:
    """Return `path` if it may be a path of the state tree. Raises: Invalid."""
    reason = why_path_unsafe(path)
    if reason:
        raise Invalid(f"{path[:80]!r} cannot be a file of the state: {reason}")
    return path


@lru_cache(maxsize=4096)
def belongs_to_state(path: str) -> bool:
    """Return True for a path below `.nexus/` that the ref stores: a name we own, and not an editor's temporary file."""
    if path == IGNORE_FILE:
        return True
    parts = path.split("/")
    if parts[0] not in (OWNED_FILES if len(parts) == 1 else OWNED_FOLDERS) or KEPT.search(parts[-1]):
        return False
    return not any(_NOISE.search(part) for part in parts) and why_path_unsafe(path) is None


def why_left_out(path: str) -> str | None:
    """Return why a file below a folder we own is not stored, or None if no one would expect it to be."""
    if belongs_to_state(path) or KEPT.search(path) or path.rsplit("/", maxsplit=1)[-1].startswith(".nexus-tmp-"):
        return None
    if path in OWNED_FOLDERS:
        return "it should be a folder that can be read"
    unsafe = why_path_unsafe(path)
    if unsafe:
        return f"its name cannot be stored: {unsafe}"
    if path.split("/", maxsplit=1)[0] in OWNED_FOLDERS:
        return "a name of that kind looks like a temporary file of an editor"
    return "it is not one of the names that belong here"
