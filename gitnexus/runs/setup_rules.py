"""What a run's worktree gets before its agent comes: which files are copied into it, which commands are run. Pure."""

import posixpath
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.git.untracked import Untracked
from gitnexus.policy.patterns import Narrow, is_everything, is_literal, path_pattern

SECTION = "runs"
MOST_FILES = 50_000
MOST_BYTES = 2 * 2**30


class RunSettings(Record):
    """The part `runs` of the settings: path patterns of ignored files, and commands as lists of words."""

    copy: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    # Before a landing, see there.
    checks: tuple[tuple[str, ...], ...] = ()


class Chosen(NamedTuple):
    """What is copied, what is left out and why, and the patterns that name nothing."""

    files: tuple[Untracked, ...]
    left_out: tuple[tuple[str, str], ...]
    idle: tuple[str, ...]


def settings_of(value: Any) -> RunSettings:
    """Return the settings in a JSON value. Raises: Invalid."""
    found = RunSettings.from_value(value, f"settings.json: {SECTION}")
    for at, pattern in enumerate(found.copy):
        where = f"settings.json: {SECTION}: copy[{at}]"
        path_pattern(pattern, where)
        if is_everything(pattern):
            raise Invalid(f"{where}: {pattern!r} names everything", hint="name the folders, as in node_modules/**")
    for at, argv in enumerate(found.setup):
        if not argv or not argv[0]:
            raise Invalid(f"settings.json: {SECTION}: setup[{at}] should be a command, a list of words")
    return found


def may_lie_below(patterns: Sequence[str], folder: str) -> bool:
    """True if one of the patterns could name a file below `folder`: others need not be looked into."""
    return any(_reaches(pattern.split("/"), folder.split("/")) for pattern in patterns)


def chosen(patterns: Sequence[str], found: Iterable[Untracked], unreadable: Callable[[str], str | None]) -> Chosen:
    """Return which files are copied. `unreadable` tells the rule that keeps a path from agents. Raises: Invalid."""
    match = Narrow(patterns)
    files: list[Untracked] = []
    left_out: list[tuple[str, str]] = []
    used: set[int] = set()
    size = 0
    for one in found:
        at = match.first(one.path)
        if at is None:
            continue
        used.add(at)
        why = _why_not(one, unreadable)
        if why:
            left_out.append((one.path, why))
            continue
        files.append(one)
        size += one.size
        if len(files) > MOST_FILES or size > MOST_BYTES:
            raise Invalid(
                f"runs.copy names more than {MOST_FILES} files or {MOST_BYTES // 2**30} GiB",
                hint="let a command of runs.setup make them",
            )
    idle = tuple(pattern for at, pattern in enumerate(patterns) if at not in used)
    return Chosen(tuple(files), tuple(left_out), idle)


def _why_not(one: Untracked, unreadable: Callable[[str], str | None]) -> str:
    rule = unreadable(one.path)
    if rule:
        return f"{rule} keeps it from agents"
    if not one.ignored:
        # It would come back as a change of the agent's.
        return "no .gitignore of the base names it"
    if one.link is not None:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(one.path), one.link))
        if target == ".." or target.startswith(("../", "/")):
            return "it is a link that leads out of the checkout"
        if target != "." and (rule := unreadable(target)):
            return f"it is a link, and {rule} keeps from agents what it leads to"
    return ""


def _reaches(wanted: Sequence[str], given: Sequence[str]) -> bool:
    for at, name in enumerate(given):
        if wanted[at] == "**":
            return True
        if at == len(wanted) - 1 or (is_literal(wanted[at]) and wanted[at] != name):
            return False  # the last part names a file
    return True
