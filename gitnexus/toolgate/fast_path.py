"""Answers simple tool calls from the policy's precomputed fast rules, without importing the gate.

Each step mirrors one in `toolgate.files` or `toolgate.shell` for calls where only one result is possible. A property
test compares them.
"""

import os
import stat
from typing import TYPE_CHECKING, Any

from gitnexus.git.shape import why_git_may_obey
from gitnexus.harness.call_files import file_mode, new_text, paths_in_call, text_after
from gitnexus.harness.calls import ReadCall, ShellCall, WriteCall
from gitnexus.harness.patchform import BEGIN
from gitnexus.harness.writers import files_written_by_command
from gitnexus.policy.fast_paths import is_readable, is_unread, line_that_allows
from gitnexus.policy.word_paths import ANY_FILE
from gitnexus.state.locate import ProjectLocation
from gitnexus.toolgate.cache import CachedAnswer, path_below_top, resolve_command_word

if TYPE_CHECKING:
    from gitnexus.policy import shell
    from gitnexus.policy.parts import CommandPart

_LONGEST_WORD = 1000
# Characters that a shell expands, including zsh with EXTENDED_GLOB.
_WILD = frozenset("*?[{#^~")
# Verbs of git that hand nothing to a shell.
_TELLING_VERBS = frozenset("status log diff show branch ls-files rev-parse add commit".split())


def answer_plain_call(
    call: ReadCall | WriteCall | ShellCall, location: ProjectLocation, plain: dict[str, Any]
) -> CachedAnswer | None:
    """Return the answer to a call without a role, None if it has to be judged."""
    if isinstance(call, ShellCall):
        return _answer_shell(call, location, plain)
    return _answer_read(call, location, plain) if isinstance(call, ReadCall) else _answer_write(call, location, plain)


def _answer_read(call: ReadCall, location: ProjectLocation, plain: dict[str, Any]) -> CachedAnswer | None:
    inside = [path_below_top(location, path) for path in paths_in_call(call)]
    quiet = not call.patterns and all(path is not None and is_readable(plain, path) for path in inside)
    if plain.get("reads", True) and any(os.path.isdir(path) for path in paths_in_call(call)):
        return None
    return CachedAnswer("", "") if quiet else None


def _answer_write(call: WriteCall, location: ProjectLocation, plain: dict[str, Any]) -> CachedAnswer | None:
    path = paths_in_call(call)[0]
    inside, kind = path_below_top(location, path), file_mode(path)
    if inside is None or "\0" in new_text(call) or (kind and not stat.S_ISREG(kind)):
        return None
    if why_git_may_obey(inside, text_after(call, path)):
        return None
    line = line_that_allows(plain, inside)
    return None if line is None else CachedAnswer("allow", f"allowed: {line}")


def _answer_shell(call: ShellCall, location: ProjectLocation, plain: dict[str, Any]) -> CachedAnswer | None:
    """Return the first denial, or an allow answer if every command of a simple script is allowed."""
    from gitnexus.policy import shell
    from gitnexus.policy.programs import inner_text

    text = inner_text(call.argv) if call.argv else call.text
    if call.dialect != "sh" or call.typed or plain["runs"] is None:
        return None
    try:
        script = shell.parse_shell_text(text) if text is not None else shell.script_of_command(call.argv)
    except shell.TooMuch:
        return None
    first: CachedAnswer | None = None
    if plain.get("reads", True) and any(_may_reach_more_files(command.argv) for command in script.commands):
        return None
    for command in script.commands:
        known = _answer_command(command, os.path.realpath(call.cwd), location, plain)
        if known is None or known.verdict == "deny":
            return known
        first = first or known
    is_all = script.is_exact and not (text is not None and (call.argv or BEGIN in text))
    return first if is_all and not _is_unread(script, call.cwd, plain) else None


def _is_unread(script: "shell.ShellScript", cwd: str, plain: dict[str, Any]) -> bool:
    """True if the script does not show what is run or read, and a rule denies some of it."""
    if not (plain.get("reads", True) or plain["runs"]["deny"]) or all(map(_is_telling, script.commands)):
        return False
    from gitnexus.policy.parts import parts_of_text
    from gitnexus.policy.shell import TooMuch
    from gitnexus.policy.unread import unread_files, unread_runs

    try:
        parts = parts_of_text(script.commands, cwd)
    except TooMuch:
        return True
    hides_runs = bool(plain["runs"]["deny"]) and (unread_runs(parts) is not None or any(map(_may_run_more, parts)))
    return (
        hides_runs
        or (plain.get("reads", True) and unread_files(parts) is not None)
        or len(parts) > len(script.commands)
    )


def _may_run_more(part: "CommandPart") -> bool:
    """True for a program whose words may name another that it runs, and for one that copies a program."""
    from gitnexus.policy.programs import may_run_by_words, programs_copied

    if len(part.argv) < 2 or not part.argv[0]:
        return False
    return may_run_by_words(part.argv) or any(programs_copied(part.argv))


def _is_telling(command: "shell.ShellCommand") -> bool:
    """True for a command of which nobody needs a closer look: it runs nothing, and reads what its words name."""
    argv = command.argv
    if not command.exact or command.sets or command.filled or command.reads or len(argv) < 2 or argv[0] != "git":
        return False
    return argv[1] in _TELLING_VERBS and not any(word.startswith(("-c", "-x", "--e")) for word in argv[2:])


def _may_reach_more_files(argv: "tuple[str, ...]") -> bool:
    """True for a command that may reach files beyond its words: by a search, a pattern, another folder or an index."""
    from gitnexus.policy.gitreads import takes_in
    from gitnexus.policy.parts import changes_folder
    from gitnexus.policy.programs import WRAPPERS, program_name
    from gitnexus.policy.searches import is_search

    if not argv or not argv[0] or changes_folder(argv):
        return bool(argv)
    if program_name(argv[0]) in WRAPPERS or is_search(argv) or (program_name(argv[0]) == "git" and takes_in(argv)):
        return True
    return any(not _WILD.isdisjoint(word) for word in argv[1:])


def _answer_command(
    command: "shell.ShellCommand", cwd: str, location: ProjectLocation, plain: dict[str, Any]
) -> CachedAnswer | None:
    from gitnexus.policy.fast_commands import quick_command_answer

    argv = command.argv
    if not argv or not argv[0]:
        return None
    if not _is_plain_folder(argv, cwd, location):
        return None
    found = quick_command_answer(plain, argv, resolve_command_word(argv[0], cwd), cwd, location.top)
    if found is None or found[0] == "deny":
        return None if found is None else CachedAnswer(*found)
    written = files_written_by_command(argv)
    if written.paths or written.anything or command.writes or command.reads:
        return None
    return CachedAnswer(*found) if all(_is_readable_word(word, cwd, location, plain) for word in argv[1:]) else None


def _is_plain_folder(argv: "tuple[str, ...]", cwd: str, location: ProjectLocation) -> bool:
    """True if nothing in the folder can make the program run something else; for git, only at the top."""
    from gitnexus.policy.obeyed import OBEYED
    from gitnexus.policy.programs import program_name, unwrap_command

    name = program_name(argv[0])
    if name == "git":
        return cwd == location.top and "-C" not in argv
    return not any(program_name(line[0]) in OBEYED for line in unwrap_command(argv))


def _is_readable_word(word: str, cwd: str, location: ProjectLocation, plain: dict[str, Any]) -> bool:
    """True for a word that names nothing denied.

    If a rule denies files, the gate must look into every folder that a word names: an empty word and `.` name one too.
    A rule also denies a path that is not there, which may lead through a link.
    """
    reads, path = plain.get("reads", True), os.path.join(cwd, word)
    if word.startswith("-") or len(word) > _LONGEST_WORD:
        return True
    is_there = os.path.lexists(path)
    if not is_there and not reads:
        return True
    real = os.path.realpath(path)
    inside = path_below_top(location, real)
    if inside is None:  # it may be another worktree of the same repository
        return not reads and not is_unread(plain, real.lstrip("/"))
    if not is_there:
        return not (is_unread(plain, inside) or is_unread(plain, f"{inside}/{ANY_FILE}"))
    if os.path.isdir(real) and (
        (reads and _may_hold_denied(inside, location, plain)) or (inside and is_unread(plain, f"{inside}/{ANY_FILE}"))
    ):
        return False
    return inside == "" or is_readable(plain, inside)


def _may_hold_denied(folder: str, location: ProjectLocation, plain: dict[str, Any]) -> bool:
    """True unless all denied files lie elsewhere, and no other worktree can lie in this folder."""
    heads = plain.get("heads")
    has_worktrees = os.path.lexists(os.path.join(location.common, "worktrees"))
    return not folder or heads is None or has_worktrees or folder.partition("/")[0].lower() in heads
