"""Whether a search, a glob or a command reaches files that a rule keeps from agents: looked up on the disk, bounded.

A rule names files, and a search names a folder above them. So the folder is walked as far as a rule can reach, and
what lies there is compared: links by where they lead, where the search follows them. Only rules that people wrote are
looked for here; with none of them nothing is walked.
"""

import glob
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.policy.law import Law
from gitnexus.policy.parts import Part, folder_words, moves
from gitnexus.policy.patterns import narrow
from gitnexus.policy.programs import name_of, subcommand
from gitnexus.policy.words import ANY_FILE

MOST_ENTRIES = 20_000
_MOST_PATHS = 2_000
_WILD = re.compile(r"[*?\[]")
# A name that zsh with EXTENDED_GLOB takes for a pattern: which shell a program uses is not told.
_EXTENDED = re.compile(r"[#^]|.~")
_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
# Programs that look into all that lies below a folder, and the letters and words by which others do.
_SEARCHERS = frozenset("rg ag ack fd find tree du tar zip rsync cp scp ctags".split())
_RECURSIVE = {"grep": "rR", "egrep": "rR", "fgrep": "rR", "zgrep": "rR", "ls": "R", "diff": "r", "chmod": "R"}
_GIT_SEARCHES = frozenset(("grep", "archive"))
# These show what files hold: always, or with one of the second row; never with one of the third.
_GIT_SHOWS = frozenset(("diff", "show"))
_GIT_PATCH = ("-p", "-u", "--patch", "-S", "-G", "-L")
_GIT_NAMES = ("--stat", "--shortstat", "--numstat", "--name-only", "--name-status", "--no-patch", "-s", "--summary")
_FOLLOWS = ("-R", "-L", "--follow", "--dereference-recursive", "--dereference")


class Reached(NamedTuple):
    """A file that a rule keeps from agents, and that rule."""

    path: str
    rule: str


class Reach:
    """What of one worktree is not read. `looked_at` are folders: an answer holds while they are as they are."""

    def __init__(self, law: Law, top: str) -> None:
        self._groups = law.deny.unreadable()
        self._top = top.rstrip("/")
        self._floating = any(not _is_anchored(one) for rule in law.deny_reads() for one in rule.patterns)
        self._heads = {one.split("/")[0].lower() for rule in law.deny_reads() for one in rule.patterns}
        self._left = MOST_ENTRIES
        self.looked_at: list[str] = []

    @property
    def is_empty(self) -> bool:
        """True where no rule speaks about reading."""
        return not self._groups

    def by_search(self, folder: str, patterns: Sequence[str] = (), *, follows: bool = False) -> Reached | None:
        """Return the first file below a folder that is not read, and whose name fits one of the patterns if any do."""
        if self.is_empty:
            return None
        wanted = [_glob_matcher(one) for pattern in patterns if not pattern.startswith("!") for one in spread(pattern)]
        for path, rule in self._walk(os.path.realpath(folder), follows, set()):
            below = path[len(os.path.realpath(folder)) + 1 :]
            if not wanted or any(match.fullmatch(below) for match in wanted):
                return Reached(path, rule)
        return None

    def by_commands(self, parts: Sequence[Part]) -> Reached | None:
        """Return what commands reach by a glob, a folder to search, or a link."""
        if self.is_empty:
            return None
        for part in parts:
            for folder in part.folders if part.argv and not moves(part.argv) else ():
                if (found := self._by_command(part, folder)) is not None:
                    return found
        return None

    def _by_command(self, part: Part, folder: str) -> Reached | None:
        searches, follows = is_search(part.argv), any(word in _FOLLOWS for word in part.argv)
        named = False
        for word in (*folder_words(part.argv), *part.reads):
            if word.startswith("-") or "\0" in word or len(word) > 1000:
                continue
            for path in _meant(word, folder):
                named = named or os.path.lexists(path)
                if (found := self._at(path)) is not None:
                    return found
                if searches and Path(path).is_dir() and (found := self.by_search(path, follows=follows)) is not None:
                    return found
        return self.by_search(folder, follows=follows) if searches and not named else None

    def _at(self, path: str) -> Reached | None:
        """Return the rule that keeps agents from a file or from all of a folder, by where the path leads."""
        real = os.path.realpath(path)
        below = real[len(self._top) + 1 :] if real.startswith(f"{self._top}/") else ""
        names = (below, f"{below}/{ANY_FILE}") if Path(real).is_dir() else (below,)
        rule = next((rule for name in names if below for group in self._groups if (rule := group.deciding(name))), None)
        return Reached(real, rule.id) if rule is not None else None

    def _walk(self, folder: str, follows: bool, seen: set[str]) -> Iterator[Reached]:
        """Yield the files below a folder that are not read. Where there are too many to look at, the folder itself."""
        if folder in seen or not (folder == self._top or folder.startswith(f"{self._top}/")):
            return
        seen.add(folder)
        self.looked_at.append(folder)
        at_top = folder == self._top
        try:
            entries = sorted(os.scandir(folder), key=lambda one: one.name)
        except OSError:
            return
        for entry in entries:
            self._left -= 1
            if self._left < 0:
                yield Reached(folder, "too many files to look at")
                return
            if entry.name in (".git", ".nexus") or (at_top and not self._may_reach(entry.name)):
                continue
            is_link = entry.is_symlink()
            if is_link and not follows:
                continue
            if entry.is_dir():
                yield from self._walk(os.path.realpath(entry.path), follows, seen)
            elif (found := self._at(entry.path)) is not None:
                yield Reached(entry.path, found.rule)

    def _may_reach(self, name: str) -> bool:
        """False for what lies at the top where every rule begins with another name."""
        return self._floating or name.lower() in self._heads


def _is_anchored(pattern: str) -> bool:
    head, _, rest = pattern.partition("/")
    return bool(rest.strip("/")) and _WILD.search(head) is None and head.isascii()


def spread(pattern: str) -> list[str]:
    """Return a pattern with its braces spelled out, a hundred of them at most."""
    found = [pattern]
    while (at := next((one for one in found if _BRACES.search(one)), None)) is not None and len(found) < 100:
        found.remove(at)
        inside = _BRACES.search(at)
        if inside is not None:
            found += [at[: inside.start()] + word + at[inside.end() :] for word in inside[1].split(",")]
    return found


def _glob_matcher(pattern: str) -> re.Pattern[str]:
    """Return what a pattern of names finds below a folder; one without a slash finds it at any depth."""
    text = pattern.lstrip("/").removeprefix("./")
    text = text if "/" in text else f"**/{text}"
    try:
        return re.compile(narrow(text + ("**" if text.endswith("/") else "")))
    except re.error:
        return re.compile(".*", re.DOTALL)


def _meant(word: str, folder: str) -> list[str]:
    """Return the paths that a word of a command stands for once a shell has filled it in."""
    found: list[str] = []
    for text in spread(word):
        path = str(Path(folder, expand_home(text))) if text else folder
        if _WILD.search(text) or _EXTENDED.search(text):
            path = "/".join("*" if _EXTENDED.search(name) else name for name in path.split("/"))
            for match in glob.iglob(path, include_hidden=True):  # noqa: PTH207 - by the whole path, as a shell
                found.append(match)
                if len(found) > _MOST_PATHS:
                    break
        found.append(path)
    return found


def is_search(argv: Sequence[str]) -> bool:
    """True for a command that looks into whatever lies below a folder."""
    name = name_of(argv[0])
    if name in _SEARCHERS:
        return True
    if name == "git":
        verb, is_patch = subcommand(argv), any(word.startswith(_GIT_PATCH) for word in argv[2:])
        shows = verb in _GIT_SHOWS and not any(word in _GIT_NAMES for word in argv[2:])
        return verb in _GIT_SEARCHES or shows or (verb in ("log", "stash", "reflog") and is_patch)
    letters = _RECURSIVE.get(name, "")
    joined = (word for word in argv[1:] if word.startswith("-") and not word.startswith("--"))
    return bool(letters) and (
        any(letter in word for word in joined for letter in letters)
        or any(word.startswith(("--recursive", "--dereference-recursive")) for word in argv)
    )


def words_of(found: Reached, top: str) -> str:
    """Return a refusal in words, with what to do instead."""
    below = found.path[len(top.rstrip("/")) + 1 :] if found.path.startswith(top) else found.path
    return f"it reaches {one_line(below or 'the whole worktree', 120)}, which is not read for an agent ({found.rule})"
