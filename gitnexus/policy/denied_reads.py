"""Finds files that a rule denies and that a search, glob or command would read, by a bounded walk of the disk.

A rule names files, and a search names a folder above them. So the folder is walked as far as a rule can match; links
are followed where the search follows them. Only rules that people wrote are looked for; without any, nothing is walked.
"""

import glob
import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from gitnexus.base.errors import NexusError
from gitnexus.base.files import expand_home
from gitnexus.base.text import one_line
from gitnexus.git import discover
from gitnexus.git.child import run_git as git_run
from gitnexus.git.worktrees import list_worktrees
from gitnexus.policy.compiled_rules import CompiledPolicy
from gitnexus.policy.gitreads import paths_shown_by, shows_files, takes_in
from gitnexus.policy.globs import GlobTarget, expand_braces, glob_targets, widen_classes
from gitnexus.policy.model import CommandRequest, GateDecision
from gitnexus.policy.parts import PROGRAMS_THAT_SAY, CommandPart, parts_of_command
from gitnexus.policy.programs import program_name, unwrap_command
from gitnexus.policy.searches import follows_links, is_search, paths_named_in
from gitnexus.policy.taken_in import files_taken_in
from gitnexus.policy.word_paths import ANY_FILE, path_texts_in_word

MOST_ENTRIES = 20_000
_MOST_PATHS = 2_000
_LONGEST_NAME = 1_000
_TOO_MANY = "too many files to look at"
_LONGEST_LOOK = 5.0
_HISTORY = ("log", "--branches", "--tags", "--remotes", "--glob=refs/stash", "--reflog", "HEAD", "--full-history",
            "--format=", "--name-only", "--max-count=1", "--")  # fmt: skip
_WILD = re.compile(r"[*?\[{]")
# A name that zsh with EXTENDED_GLOB treats as a pattern: the shell in use is unknown.
_EXTENDED = re.compile(r"[#^]|.~")


class DeniedFile(NamedTuple):
    """A file that a rule denies to agents, and that rule."""

    path: str
    rule: str


class DeniedReads:
    """The denied files of one worktree. `looked_at` are folders: an answer is valid while they are unchanged.

    `is_lasting` is False if an answer depends on more than folders, such as on history.
    """

    def __init__(self, policy: CompiledPolicy, top: str) -> None:
        self._groups = policy.deny.unreadable()
        self._rules = policy.deny_reads()
        self.is_lasting = True
        self._top = top.rstrip("/")
        self._others: tuple[str, ...] | None = None
        self._floating = any(not _is_anchored(one) for rule in policy.deny_reads() for one in rule.patterns)
        self._heads = {one.split("/")[0].lower() for rule in policy.deny_reads() for one in rule.patterns}
        self._left = MOST_ENTRIES
        self.looked_at: list[str] = []

    @property
    def is_empty(self) -> bool:
        """True if no rule denies reading."""
        return not self._groups

    @property
    def _tops(self) -> tuple[str, ...]:
        """The worktree and the others of its repository: a file denied in one is denied in all."""
        if self._others is None:
            self._others = tuple(one for one in worktrees_of(self._top) if one != self._top)
        return (self._top, *self._others)

    def find_in_search(self, folder: str, patterns: Sequence[str] = (), *, follows: bool = False) -> DeniedFile | None:
        """Return the first denied file below a folder whose name matches one of the patterns, if any are given.

        A folder that contains the worktree reaches all of it. A pattern may lead out of the folder.
        """
        if self.is_empty:
            return None
        aims = [aim for pattern in patterns for aim in glob_targets(folder, pattern)]
        for aim in aims or [GlobTarget(folder, None)]:
            self._note_parents(folder, aim.folder)
            # Some programs resolve `..` by name, others by the target of a link.
            for begin in dict.fromkeys((os.path.realpath(aim.folder), os.path.realpath(os.path.normpath(aim.folder)))):
                if (found := self._find_below(GlobTarget(begin, aim.match), follows or bool(aims))) is not None:
                    return found
        return None

    def _find_below(self, aim: GlobTarget, follows: bool) -> DeniedFile | None:
        above = aim.folder.rstrip("/") + "/"
        begins = [top for top in self._tops if f"{top}/".startswith(above)] or [aim.folder]
        for begin in begins:
            if aim.match is None and (found := self._denied_at(begin)) is not None:
                return found
            for found, shown in self._walk_folder(begin, begin, follows, frozenset()):
                if aim.match is None or found.rule == _TOO_MANY or aim.match.fullmatch(shown[len(above) :]):
                    return found
        return None

    def _note_parents(self, folder: str, begin: str) -> None:
        """Add the parents of a folder to `looked_at`: one of them may become a link."""
        while begin != folder and len(begin) > len(self._top):
            self.looked_at.append(begin)
            begin = posixpath.dirname(begin)

    def by_path(self, path: str) -> DeniedFile | None:
        """Return the rule that denies a file, in any worktree of the repository."""
        return None if self.is_empty else self._denied_at(path)

    def find_in_commands(self, parts: Sequence[CommandPart]) -> DeniedFile | None:
        """Return the first denied file that commands reach by a glob, a searched folder or a link."""
        if self.is_empty:
            return None
        for part in parts:
            for folder in _filled_in(part.folders) if part.argv else ():
                for argv in _command_lines(part.argv):
                    if (found := self._find_in_command(argv, part.reads, folder)) is not None:
                        return found
        return None

    def _find_in_command(self, argv: Sequence[str], reads: Sequence[str], folder: str) -> DeniedFile | None:
        is_git = program_name(argv[0]) == "git"
        searches, follows, named = is_search(argv) and not is_git, follows_links(argv), False
        for word, is_sure in (*paths_named_in(argv), *((path, True) for path in reads)):
            if "\0" in word or len(word) > _LONGEST_NAME:
                continue
            if "**" in word and (found := self.find_in_search(folder, (word,))) is not None:
                return found
            for path in _expand_word(word, folder):
                named = named or (is_sure and (os.path.lexists(path) or word == "{}"))
                if (found := self._denied_at(path)) is not None:
                    return found
                if (
                    searches
                    and Path(path).is_dir()
                    and (found := self.find_in_search(path, follows=follows)) is not None
                ):
                    return found
        if (found := self._find_in_parts_of_words(argv, folder)) is not None:
            return found
        if is_git:
            return self._find_in_git(argv, folder)
        return self.find_in_search(folder, follows=follows) if searches and not named else None

    def _find_in_parts_of_words(self, argv: Sequence[str], folder: str) -> DeniedFile | None:
        """Return a denied file that exists and that a part of a word names: `if=my list.csv`, `file:///…`, `./x:/y`."""
        if program_name(argv[0]) in PROGRAMS_THAT_SAY:
            return None
        for word in argv[1:]:
            if "\0" in word or len(word) > 4 * _LONGEST_NAME:
                continue
            for text in path_texts_in_word(word) - {word}:
                path = str(Path(folder, expand_home(text)))
                if os.path.lexists(path) and (found := self._denied_at(path)) is not None:
                    return found
        return None

    def _find_in_git(self, argv: Sequence[str], folder: str) -> DeniedFile | None:
        """Return the first denied file that a git command shows: in its paths, else in the whole repository."""
        if not shows_files(argv) and not takes_in(argv):
            return None
        for at, word in enumerate(argv[:-1]):
            if word == "-C":
                folder = str(Path(folder, expand_home(argv[at + 1])))
        real = os.path.realpath(folder)
        is_told = any(word.startswith(("--git-dir", "--work-tree")) for word in argv)
        if not shows_files(argv):
            return self._find_taken_in(argv, self._top if is_told else real)
        if not is_told and not any(f"{real}/".startswith(f"{top}/") for top in self._tops):
            return self.find_in_search(real)
        paths = [posixpath.join(real, path) for path in paths_shown_by(argv)]
        if not paths or not all(map(os.path.lexists, paths)):
            return self.find_in_search(self._top) or self._in_history()
        return next((found for path in paths if (found := self.find_in_search(path))), None)

    def _find_taken_in(self, argv: Sequence[str], folder: str) -> DeniedFile | None:
        """Return a denied file, changed or new, that a command would take into the index or a commit."""
        self.is_lasting = False
        top = next((top for top in self._tops if f"{folder}/".startswith(f"{top}/")), None)
        specs = [spec for rule in self._rules for pattern in rule.patterns for spec in _pathspecs(pattern)]
        if top is None:
            return None
        try:
            taken = files_taken_in(argv, folder, top, specs)
            return next((found for path in taken if (found := self._denied_at(path)) is not None), None)
        except NexusError:
            return DeniedFile(top, _TOO_MANY)

    def _in_history(self) -> DeniedFile | None:
        """Return a denied file that was committed once and is not on disk now. Such an answer is not cached."""
        self.is_lasting = False
        for rule in self._rules:
            specs = [spec for pattern in rule.patterns for spec in _pathspecs(pattern)]
            told = git_run(*_HISTORY, *specs, cwd=Path(self._top), seconds=_LONGEST_LOOK)
            if told.returncode == 124:
                return DeniedFile(self._top, _TOO_MANY)
            if name := told.stdout.decode("utf-8", "replace").strip().split("\n")[0]:
                return DeniedFile(f"{self._top}/{name}", rule.id)
        return None

    def _denied_at(self, path: str) -> DeniedFile | None:
        """Return the rule that denies a file or a whole folder, by its real path."""
        real = os.path.realpath(path)
        for top in self._tops:
            below = real[len(top) + 1 :] if real.startswith(f"{top}/") else ""
            names = (below, f"{below}/{ANY_FILE}") if below and Path(real).is_dir() else (below,)
            for name in names if below else ():
                if (rule := next((rule for one in self._groups if (rule := one.deciding(name))), None)) is not None:
                    return DeniedFile(real, rule.id)
        return None

    def _walk_folder(
        self, folder: str, shown: str, follows: bool, above: frozenset[str]
    ) -> Iterator[tuple[DeniedFile, str]]:
        """Yield the denied files below a folder, each with the path that led there.

        If there are too many files to check, yields the folder itself.
        """
        is_inside = any(folder == top or folder.startswith(f"{top}/") for top in self._tops)
        # Nothing outside is denied, but a link may lead in.
        if folder in above or not (is_inside or follows):
            return
        self.looked_at.append(folder)
        is_short = folder in self._tops and not follows
        try:
            entries = sorted(os.scandir(folder), key=lambda one: one.name)
        except OSError:
            return
        for entry in entries:
            self._left -= 1
            if self._left < 0:
                yield DeniedFile(folder, _TOO_MANY), shown
                return
            if (entry.name in (".git", ".nexus") and is_inside) or (is_short and not self._may_reach(entry.name)):
                continue
            if entry.is_symlink() and not follows:
                continue
            path = f"{shown}/{entry.name}"
            if entry.is_dir():
                yield from self._walk_folder(os.path.realpath(entry.path), path, follows, above | {folder})
            elif (found := self._denied_at(entry.path)) is not None:
                yield DeniedFile(entry.path, found.rule), path

    def _may_reach(self, name: str) -> bool:
        """False for a name at the top with which no rule can begin."""
        return self._floating or name.lower() in self._heads


def worktrees_of(top: str) -> tuple[str, ...]:
    """Return the tops of all worktrees of the repository that one belongs to."""
    try:
        return tuple(os.path.realpath(one.path) for one in list_worktrees(discover(Path(top))))
    except (NexusError, OSError):
        return (top,)


def _pathspecs(pattern: str) -> list[str]:
    """Return git pathspecs for the files that a pattern denies: at any depth without a slash, and everything below."""
    depth = "" if "/" in pattern.strip("/") else "**/"
    spec = f":(top,icase,glob){depth}{pattern.strip('/')}"
    return [spec, f"{spec}/**"]


def _is_anchored(pattern: str) -> bool:
    head, _, rest = pattern.partition("/")
    return bool(rest.strip("/")) and _WILD.search(head) is None and head.isascii()


def _command_lines(argv: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Return a command line and the ones it may run: the remainders that a wrapper would execute."""
    return [argv, *(line for line in unwrap_command(argv)[1:] if line[0] and line == argv[-len(line) :])]


def _filled_in(folders: Sequence[str]) -> Iterator[str]:
    """Yield folders, and those that a glob among them matches: `cd cust*` enters what it finds."""
    for folder in folders:
        yield folder
        if _WILD.search(folder) and not os.path.lexists(folder):
            begin, rest = _existing(folder)
            yield from islice(glob.iglob(f"{glob.escape(begin)}/{rest}", include_hidden=True), _MOST_PATHS)  # noqa: PTH207


def _existing(folder: str) -> tuple[str, str]:
    """Return the existing part of a path, and the rest."""
    names = folder.split("/")
    at = next((at for at in range(len(names), 0, -1) if Path("/".join(names[:at]) or "/").is_dir()), 0)
    return "/".join(names[:at]), "/".join(names[at:])


def _expand_word(word: str, folder: str) -> list[str]:
    """Return the paths that a word of a command expands to in a shell."""
    found: list[str] = []
    for text in map(widen_classes, expand_braces(word)):
        path = str(Path(folder, expand_home(text))) if text else folder
        if _WILD.search(text) or _EXTENDED.search(text):
            path = "/".join("*" if _EXTENDED.search(name) else name for name in path.split("/"))
            for match in glob.iglob(path, include_hidden=True):  # noqa: PTH207 - by the whole path, as a shell
                found.append(match)
                if len(found) > _MOST_PATHS:
                    break
        found.append(path)
    return found


def unreached(request: CommandRequest, policy: CompiledPolicy, top: str, found: GateDecision) -> GateDecision:
    """Return the decision, or a denial if the command reaches files that a rule denies to agents."""
    reached = DeniedReads(policy, top).find_in_commands(parts_of_command(request.argv, request.cwd))
    if reached is None:
        return found
    instead = "a command that names the files or folders it needs"
    return found.changed(verdict="deny", rule=reached.rule, why=describe_denied_file(reached, top), instead=instead)


def describe_denied_file(found: DeniedFile, top: str) -> str:
    """Return a denial in words, with an alternative."""
    below = found.path[len(top.rstrip("/")) + 1 :] if found.path.startswith(top) else found.path
    return f"it reaches {one_line(below or 'the whole worktree', 120)}, which agents may not read ({found.rule})"
