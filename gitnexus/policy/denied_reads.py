"""Whether a search, a glob or a command reaches files that a rule keeps from agents: looked up on the disk, bounded.

A rule names files, and a search names a folder above them. So the folder is walked as far as a rule can reach, and
what lies there is compared: links by where they lead, where the search follows them. Only rules that people wrote are
looked for here; with none of them nothing is walked.
"""

import glob
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.policy.gitreads import kept_to, shows_files
from gitnexus.policy.globs import Aim, aims_of, spread, widened
from gitnexus.policy.law import Law
from gitnexus.policy.parts import Part, moves
from gitnexus.policy.programs import name_of, unwrapped
from gitnexus.policy.searches import follows_links, is_search, places_in
from gitnexus.policy.words import ANY_FILE

MOST_ENTRIES = 20_000
_MOST_PATHS = 2_000
_TOO_MANY = "too many files to look at"
_WILD = re.compile(r"[*?\[{]")
# A name that zsh with EXTENDED_GLOB takes for a pattern: which shell a program uses is not told.
_EXTENDED = re.compile(r"[#^]|.~")


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
        """Return the first file below a folder that is not read, and whose name fits one of the patterns if any do.

        A folder that the worktree lies in reaches all of it. A pattern may lead out of the folder.
        """
        if self.is_empty:
            return None
        aims = [aim for pattern in patterns for aim in aims_of(folder, pattern)]
        for aim in aims or [Aim(folder, None)]:
            self._note(folder, aim.folder)
            # Some programs take `..` for the folder above by name, some for the one above where a link leads.
            for begin in dict.fromkeys((os.path.realpath(aim.folder), os.path.realpath(os.path.normpath(aim.folder)))):
                if (found := self._below(Aim(begin, aim.match), follows or bool(aims))) is not None:
                    return found
        return None

    def _below(self, aim: Aim, follows: bool) -> Reached | None:
        above = aim.folder.rstrip("/") + "/"
        begin = self._top if f"{self._top}/".startswith(above) else aim.folder
        if aim.match is None and (found := self._at(begin)) is not None:
            return found
        for found, shown in self._walk(begin, begin, follows, frozenset()):
            if aim.match is None or found.rule == _TOO_MANY or aim.match.fullmatch(shown[len(above) :]):
                return found
        return None

    def _note(self, folder: str, begin: str) -> None:
        """Note what leads to a folder: one of the names may become a link."""
        while begin != folder and len(begin) > len(self._top):
            self.looked_at.append(begin)
            begin = posixpath.dirname(begin)

    def by_commands(self, parts: Sequence[Part]) -> Reached | None:
        """Return what commands reach by a glob, a folder to search, or a link."""
        if self.is_empty:
            return None
        for part in parts:
            for folder in part.folders if part.argv and not moves(part.argv) else ():
                for argv in _lines(part.argv):
                    if (found := self._by_command(argv, part.reads, folder)) is not None:
                        return found
        return None

    def _by_command(self, argv: Sequence[str], reads: Sequence[str], folder: str) -> Reached | None:
        is_git = name_of(argv[0]) == "git"
        searches, follows, named = is_search(argv) and not is_git, follows_links(argv), False
        for word, is_sure in (*places_in(argv), *((path, True) for path in reads)):
            if "\0" in word or len(word) > 1000:
                continue
            if "**" in word and (found := self.by_search(folder, (word,))) is not None:
                return found
            for path in _meant(word, folder):
                named = named or (is_sure and (os.path.lexists(path) or word == "{}"))
                if (found := self._at(path)) is not None:
                    return found
                if searches and Path(path).is_dir() and (found := self.by_search(path, follows=follows)) is not None:
                    return found
        if is_git:
            return self._by_git(argv, folder)
        return self.by_search(folder, follows=follows) if searches and not named else None

    def _by_git(self, argv: Sequence[str], folder: str) -> Reached | None:
        """Return what a command of git shows: of the paths that it is kept to, else of all that the repository has."""
        if not shows_files(argv):
            return None
        for at, word in enumerate(argv[:-1]):
            if word == "-C":
                folder = str(Path(folder, expand_home(argv[at + 1])))
        real = os.path.realpath(folder)
        is_told = any(word.startswith(("--git-dir", "--work-tree")) for word in argv)
        if not is_told and not f"{real}/".startswith(f"{self._top}/"):
            return self.by_search(real)
        paths = [posixpath.join(real, path) for path in kept_to(argv)]
        if not paths or not all(map(os.path.lexists, paths)):
            return self.by_search(self._top)
        return next((found for path in paths if (found := self.by_search(path))), None)

    def _at(self, path: str) -> Reached | None:
        """Return the rule that keeps agents from a file or from all of a folder, by where the path leads."""
        real = os.path.realpath(path)
        below = real[len(self._top) + 1 :] if real.startswith(f"{self._top}/") else ""
        names = (below, f"{below}/{ANY_FILE}") if Path(real).is_dir() else (below,)
        rule = next((rule for name in names if below for group in self._groups if (rule := group.deciding(name))), None)
        return Reached(real, rule.id) if rule is not None else None

    def _walk(self, folder: str, shown: str, follows: bool, above: frozenset[str]) -> Iterator[tuple[Reached, str]]:
        """Yield the files below a folder that are not read, each with the path that led there.

        Where there are too many to look at, that is the folder itself.
        """
        if folder in above or not (folder == self._top or folder.startswith(f"{self._top}/")):
            return
        self.looked_at.append(folder)
        is_short = folder == self._top and not follows
        try:
            entries = sorted(os.scandir(folder), key=lambda one: one.name)
        except OSError:
            return
        for entry in entries:
            self._left -= 1
            if self._left < 0:
                yield Reached(folder, _TOO_MANY), shown
                return
            if entry.name in (".git", ".nexus") or (is_short and not self._may_reach(entry.name)):
                continue
            if entry.is_symlink() and not follows:
                continue
            path = f"{shown}/{entry.name}"
            if entry.is_dir():
                yield from self._walk(os.path.realpath(entry.path), path, follows, above | {folder})
            elif (found := self._at(entry.path)) is not None:
                yield Reached(entry.path, found.rule), path

    def _may_reach(self, name: str) -> bool:
        """False for what lies at the top where every rule begins with another name."""
        return self._floating or name.lower() in self._heads


def _is_anchored(pattern: str) -> bool:
    head, _, rest = pattern.partition("/")
    return bool(rest.strip("/")) and _WILD.search(head) is None and head.isascii()


def _lines(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return a command line, and those that it may run: the ends of it that a wrapper would hand on."""
    return [argv, *(line for line in unwrapped(argv)[1:] if line[0] and line == argv[-len(line) :])]


def _meant(word: str, folder: str) -> list[str]:
    """Return the paths that a word of a command stands for once a shell has filled it in."""
    found: list[str] = []
    for text in map(widened, spread(word)):
        path = str(Path(folder, expand_home(text))) if text else folder
        if _WILD.search(text) or _EXTENDED.search(text):
            path = "/".join("*" if _EXTENDED.search(name) else name for name in path.split("/"))
            for match in glob.iglob(path, include_hidden=True):  # noqa: PTH207 - by the whole path, as a shell
                found.append(match)
                if len(found) > _MOST_PATHS:
                    break
        found.append(path)
    return found


def words_of(found: Reached, top: str) -> str:
    """Return a refusal in words, with what to do instead."""
    below = found.path[len(top.rstrip("/")) + 1 :] if found.path.startswith(top) else found.path
    return f"it reaches {one_line(below or 'the whole worktree', 120)}, which is not read for an agent ({found.rule})"
