"""Paths a command-line word may refer to (`--file=x`, `@x`, `a:b`). Over-approximates: for deny rules only.

No heavy imports.
"""

import posixpath
import re
from collections.abc import Iterator

# Represents everything in a folder: if a rule denies all of it, the folder is denied too.
ANY_FILE = "-"


# What stands between the parts of a word such as `type=bind,source=./x,target=/y` or `./x:/y:ro`.
_BETWEEN = re.compile("[=:,;]")
_ESCAPED = re.compile("%([0-9A-Fa-f]{2})")


def path_texts_in_word(word: str) -> set[str]:
    """Return the parts of a word that may be a path, as they are written: the word itself is one of them."""
    texts = {word, word.partition("=")[2], word.rpartition(":")[2], word[2:] if word[:1] == "-" else ""}
    if _BETWEEN.search(word) is not None:
        texts |= {part for part in _BETWEEN.split(word) if "/" in part}
    # `-d @FILE` and `-F x=@FILE` send a file, as `x=<FILE` does.
    texts |= {text[1:] for text in texts if text[:1] in ("@", "<")}
    at = word.lower().find("file:/")
    if at >= 0:
        texts.add(_path_of_url(word[at + len("file:") :]))
    return texts - {""}


def _path_of_url(rest: str) -> str:
    """Return the path of a file URL without its scheme and host, with its escapes undone."""
    path = f"/{rest[2:].partition('/')[2]}" if rest.startswith("//") else rest
    raw = _ESCAPED.sub(lambda found: chr(int(found[1], 16)), path)
    try:
        return raw.encode("latin-1").decode("utf-8")
    except ValueError:
        return raw


def paths_in_word(word: str) -> tuple[str, ...]:
    """Return the paths that a word may mean: itself, the value of an option, what follows a revision."""
    # A sentence is not a path: a commit message may mention server.key.
    if word.split() != [word]:
        return ()
    found = []
    for text in path_texts_in_word(word):
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
