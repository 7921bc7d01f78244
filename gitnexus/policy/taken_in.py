"""Finds the files that `git add` or `git commit` would take into the index or a commit. Asks git, changes nothing."""

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from gitnexus.base.errors import Failed
from gitnexus.git.child import run_git
from gitnexus.policy.gitreads import split_verb

_LONGEST_LOOK = 5.0
_VALUED = ("--message", "--file", "--reuse-message", "--reedit-message", "--fixup", "--squash", "--author", "--date",
           "--template", "--trailer", "--cleanup")  # fmt: skip
_VALUED_LETTER = re.compile("-[aeinopqsvz]*[mFcCt]")
_STAGED = ("diff-index", "--cached", "--name-only", "--no-renames", "-z", "HEAD", "--")
_CHANGED = ("diff-files", "--name-only", "-z", "--")
_NEW = ("ls-files", "--others", "-z")


def files_taken_in(argv: Sequence[str], folder: str, top: str, specs: Sequence[str]) -> Iterator[str]:
    """Yield those of the files that `specs` match which the command would take in, as full paths.

    Args:
        folder: where the command runs, below `top`, which is the top of a worktree.
        specs: pathspecs from the top.

    Raises: Failed, if git takes too long or cannot tell.
    """
    verb, words = split_verb(argv)
    at = words.index("--") if "--" in words else len(words)
    options = [word for word in words[:at] if word.startswith("-")]
    before = ["", *words]
    named = [
        word for was, word in zip(before, words[:at], strict=False) if not (word.startswith("-") or _has_value(was))
    ]
    named += words[at + 1 :]
    for query in _queries(verb, options, named):
        done = run_git(*query, *specs, cwd=Path(top), seconds=_LONGEST_LOOK)
        if done.returncode == 124 or (done.returncode != 0 and query is not _STAGED):  # without a commit all is new
            raise Failed("git cannot tell which files the command would take in")
        for name in done.stdout.decode("utf-8", "surrogateescape").split("\0")[:-1]:
            path = f"{top}/{name}"
            if query is _STAGED or _is_meant(path, named, folder):
                yield path


def _queries(verb: str | None, options: Sequence[str], named: Sequence[str]) -> list[tuple[str, ...]]:
    if verb == "commit":
        has_all = any(word in ("--all", "--include", "--only") or _has_letter(word, "aio") for word in options)
        return [_STAGED, _CHANGED] if has_all or named else [_STAGED]
    has_all = any(
        _has_letter(word, "Au") or word.startswith(("--a", "--u", "--no-ig", "--pathspec")) for word in options
    )
    if not named and not has_all:
        return []
    if any(_has_letter(word, "u") or word.startswith("--u") for word in options):
        return [_CHANGED]
    forced = any(_has_letter(word, "f") or word.startswith("--f") for word in options)
    return [_CHANGED, (*_NEW, "--") if forced else (*_NEW, "--exclude-standard", "--")]


def _has_value(option: str) -> bool:
    """True for an option of `commit` whose value is the next word; `add` has none."""
    return option in _VALUED or _VALUED_LETTER.fullmatch(option) is not None


def _has_letter(word: str, letters: str) -> bool:
    return word[1:2] != "-" and any(letter in word for letter in letters)


def _is_meant(path: str, named: Sequence[str], folder: str) -> bool:
    """True unless all words are files and folders that are there, and the path is in none of them."""
    places = [os.path.realpath(posixpath.join(folder, word)) for word in named]
    if not named or not all(os.path.lexists(posixpath.join(folder, word)) for word in named):
        return True  # a pattern, or a word of another kind
    return any(path == place or path.startswith(f"{place.rstrip('/')}/") for place in places)
