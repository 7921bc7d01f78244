"""Parses the `runs` settings and decides which files are copied into a run's worktree. Pure."""

import posixpath
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.base.record import Record
from gitnexus.git.untracked import UntrackedFile
from gitnexus.policy.patterns import NarrowMatcher, is_everything, is_literal, require_path_pattern

SECTION = "runs"
MOST_FILES = 50_000
MOST_BYTES = 2 * 2**30


class RunSettings(Record):
    """The `runs` section of the settings: path patterns of ignored files, and commands as lists of words."""

    copy: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    # Commands run before a landing (see runs/landing/checks).
    checks: tuple[tuple[str, ...], ...] = ()


class FilesToCopy(NamedTuple):
    """The files to copy, those left out with the reason, and the patterns without a match."""

    files: tuple[UntrackedFile, ...]
    left_out: tuple[tuple[str, str], ...]
    idle: tuple[str, ...]


def parse_run_settings(value: Any) -> RunSettings:
    """Return the settings in a JSON value. Raises: Invalid."""
    found = RunSettings.from_value(value, f"settings.json: {SECTION}")
    for at, pattern in enumerate(found.copy):
        where = f"settings.json: {SECTION}: copy[{at}]"
        require_path_pattern(pattern, where)
        if is_everything(pattern):
            raise Invalid(f"{where}: {pattern!r} names everything", hint="name the folders, as in node_modules/**")
    for at, argv in enumerate(found.setup):
        if not argv or not argv[0]:
            raise Invalid(f"settings.json: {SECTION}: setup[{at}] should be a command, a list of words")
    return found


def may_lie_below(patterns: Sequence[str], folder: str) -> bool:
    """True if a pattern could match a file below `folder`; other folders need not be searched."""
    return any(_may_match_below(pattern.split("/"), folder.split("/")) for pattern in patterns)


def choose_files_to_copy(
    patterns: Sequence[str], found: Iterable[UntrackedFile], unreadable: Callable[[str], str | None]
) -> FilesToCopy:
    """Return which files are copied. `unreadable` returns the rule that hides a path from agents. Raises: Invalid."""
    match = NarrowMatcher(patterns)
    files: list[UntrackedFile] = []
    left_out: list[tuple[str, str]] = []
    used: set[int] = set()
    size = 0
    for one in found:
        at = match.first(one.path)
        if at is None:
            continue
        used.add(at)
        why = _why_not_copied(one, unreadable)
        if why:
            left_out.append((one.path, why))
            continue
        files.append(one)
        size += one.size
        if len(files) > MOST_FILES or size > MOST_BYTES:
            raise Invalid(
                f"runs.copy names more than {MOST_FILES} files or {MOST_BYTES // 2**30} GiB",
                hint="create them with a command in runs.setup",
            )
    idle = tuple(pattern for at, pattern in enumerate(patterns) if at not in used)
    return FilesToCopy(tuple(files), tuple(left_out), idle)


def _why_not_copied(one: UntrackedFile, unreadable: Callable[[str], str | None]) -> str:
    rule = unreadable(one.path)
    if rule:
        return f"{rule} hides it from agents"
    if not one.ignored:
        # A file that is not ignored would show up as the agent's change.
        return "no .gitignore of the base names it"
    if one.link is not None:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(one.path), one.link))
        if target == ".." or target.startswith(("../", "/")):
            return "it is a link that leads out of the checkout"
        if target != "." and (rule := unreadable(target)):
            return f"it is a link, and {rule} hides its target from agents"
    return ""


def _may_match_below(wanted: Sequence[str], given: Sequence[str]) -> bool:
    for at, name in enumerate(given):
        if wanted[at] == "**":
            return True
        if at == len(wanted) - 1 or (is_literal(wanted[at]) and wanted[at] != name):
            return False  # the last part names a file
    return True
