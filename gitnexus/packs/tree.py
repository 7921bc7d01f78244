"""The files of one commit that a pack may contain: denied paths are absent, and links are not followed."""

from collections.abc import Callable, Iterator

from gitnexus.docgraph.store import Blob
from gitnexus.gateway.paths import why_unreachable
from gitnexus.gateway.tool_context import denying_rule
from gitnexus.git.commits import tree_of_commit
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import GITLINK, LINK, TreeEntry, list_tree_files, object_sizes, read_blob, read_blobs
from gitnexus.packs.history_text import commit_message_and_paths, resolve_earlier_commit

# What is larger holds nothing that a model should read whole, and all of a file is looked through for secrets.
LARGEST = 2 * 2**20
MOST_SEARCHED = 256 * 2**20
_AT_ONCE = 200
# The rule that keeps every reader from a path, or None.
Denied = Callable[[str], str | None]


class BaseTree:
    """The files of a commit for the doc graph, read through git's private folder."""

    def __init__(self, git: PrivateGit, commit: str, denied: Denied) -> None:
        self.commit = commit
        self._git = git
        self._denied = denied
        self._entries = {entry.path: entry for entry in list_tree_files(git, tree_of_commit(git, commit))}

    def read(self, path: str) -> Blob | None:
        """Return a plain file that may be read, None for anything else."""
        entry = self._entries.get(path)
        if entry is None or self.why_not(path) is not None:
            return None
        return Blob(read_blob(self._git, entry.oid), entry.oid)

    def mode(self, path: str) -> str:
        """Return the mode of a file in git's notation, as in 100644; empty if there is no file."""
        entry = self._entries.get(path)
        return entry.mode if entry is not None else ""

    def has(self, path: str) -> bool:
        """Return True if a file or folder exists."""
        return path in ("", ".") or path in self._entries or any(one.startswith(f"{path}/") for one in self._entries)

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in a folder that may be read, sorted."""
        below = [path for path in self._entries if path.startswith(f"{folder}/") and not self._denying_rule(path)]
        return sorted(path[len(folder) + 1 :] for path in below if "/" not in path[len(folder) + 1 :])

    def why_not(self, path: str) -> str | None:
        """Return the reason why a file cannot be read, or None."""
        if reason := why_unreachable(path):
            return reason
        # Before anything else: whether a denied file exists is nobody's business either.
        if rule := self._denying_rule(path):
            return f"it may not be read: {rule}"
        entry = self._entries.get(path)
        if entry is None:
            return "it is a folder" if self.has(path) else f"there is no such file in {self.commit[:12]}"
        if entry.mode in (LINK, GITLINK):
            return "it is a link" if entry.mode == LINK else "it is a submodule"
        if object_sizes(self._git, [entry.oid])[0] > LARGEST:
            return f"it is larger than {LARGEST // 2**20} MiB"
        return None

    def paths(self) -> list[str]:
        """Return the files that may be read, sorted."""
        return sorted(
            path
            for path, one in self._entries.items()
            if one.mode not in (LINK, GITLINK) and not self._denying_rule(path)
        )

    def describe_commit(self, word: str) -> tuple[str, str]:
        """Return the id of an ancestor, and its message with the changed paths. Raises: NotFound."""
        commit = resolve_earlier_commit(self._git, self.commit, word)
        message, paths = commit_message_and_paths(self._git, commit)
        # Only names of files that may be read are listed.
        changed = [f"changed: {path}" for path in paths if not self._denying_rule(path)]
        return commit, "\n".join([f"commit {commit}", message, *changed]).encode("utf-8", "backslashreplace").decode()

    def texts(self, below: str) -> Iterator[tuple[TreeEntry, bytes]]:
        """Yield the readable files below a folder, by name, up to a byte limit."""
        wanted = [one for path, one in sorted(self._entries.items()) if _is_at_or_below(path, below)]
        wanted = [one for one in wanted if one.mode not in (LINK, GITLINK) and not self._denying_rule(one.path)]
        room = MOST_SEARCHED
        for at in range(0, len(wanted), _AT_ONCE):
            some = wanted[at : at + _AT_ONCE]
            lengths = object_sizes(self._git, [one.oid for one in some])
            fit = [one for one, size in zip(some, lengths, strict=True) if 0 <= size <= LARGEST]
            room -= sum(size for size in lengths if 0 <= size <= LARGEST)
            if room < 0:
                return
            yield from zip(fit, read_blobs(self._git, [one.oid for one in fit]), strict=True)

    def _denying_rule(self, path: str) -> str | None:
        return denying_rule(self._denied, path)


def _is_at_or_below(path: str, below: str) -> bool:
    return not below or path == below or path.startswith(f"{below}/")
