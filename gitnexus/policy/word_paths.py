"""Paths a command-line word may refer to (`--file=x`, `@x`, `a:b`). Over-approximates: for deny rules only.

No heavy imports.
"""

import posixpath
from collections.abc import Iterator

# Represents everything in a folder: if a rule denies all of it, the folder is denied too.
ANY_FILE = "-"


def paths_in_word(word: str) -> tuple[str, ...]:
    """Return the paths that a word may mean: itself, the value of an option, what follows a revision."""
    # A sentence is not a path: a commit message may mention server.key.
    if word.split() != [word]:
        return ()
    found = []
    texts = {word, word.partition("=")[2], word.rpartition(":")[2], word[2:] if word[0] == "-" else ""}
    # `-d @FILE` and `-F x=@FILE` send a file, as `x=<FILE` does.
    texts |= {text[1:] for text in texts if text[:1] in ("@", "<")}
    for text in texts - {""}:
        path = posixpath.normpath(text).lstrip("/")
        while path.startswith("../"):
            path = path[3:]
        found += [path] if path not in ("", ".", "..") else []
    return tuple(found)


def paths_from_top(cwd: str, worktree: str, path: str) -> Iterator[str]:
    """Yield a path as written, and relative to the top of the worktree."""
    here = posixpath.normpath(cwd).rstrip("/") + "/"
    top = worktree.rstrip("/") + "/" if worktree else here
    yield path
    if f"/{path}".startswith(top):
        yield f"/{path}".removeprefix(top)
    if here.startswith(top) and here != top:
        yield here.removeprefix(top) + path


def assumed_program_path(word: str) -> str:
    """Return an assumed path for a program that is not installed, so that it can be judged."""
    return f"/usr/bin/{word.rpartition('/')[2] or 'nothing'}"
