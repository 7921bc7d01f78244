"""The paths that a word of a command may mean: for what denies, and with nothing loaded that would take time."""

import posixpath
from collections.abc import Iterator

# Stands for whatever lies in a folder: denied with it is a folder of which a rule denies all.
ANY_FILE = "-"


def paths_in(word: str) -> tuple[str, ...]:
    """Return the paths that a word may mean: itself, the value of an option, what follows a revision."""
    # A sentence is no path: a commit message may speak of server.key.
    if word.split() != [word]:
        return ()
    found = []
    for text in {word, word.partition("=")[2], word.rpartition(":")[2], word[2:] if word[0] == "-" else ""} - {""}:
        path = posixpath.normpath(text).lstrip("/")
        while path.startswith("../"):
            path = path[3:]
        found += [path] if path not in ("", ".", "..") else []
    return tuple(found)


def seen_from(cwd: str, worktree: str, path: str) -> Iterator[str]:
    """Yield a path as it is spelled, and as seen from the top: `x` in a folder, or the whole path from the root."""
    here = posixpath.normpath(cwd).rstrip("/") + "/"
    top = worktree.rstrip("/") + "/" if worktree else here
    yield path
    if f"/{path}".startswith(top):
        yield f"/{path}".removeprefix(top)
    if here.startswith(top) and here != top:
        yield here.removeprefix(top) + path
