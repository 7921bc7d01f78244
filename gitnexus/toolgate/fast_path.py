"""The answers to plain calls that were never seen, by the part of the law that is written out: no gate is loaded.

Each step here is one of `judgefiles` or `judgeshell`, for calls where it can end in one way only. A property test
compares them.
"""

import os
import stat
from typing import TYPE_CHECKING, Any

from gitnexus.app.gatememo import Known, Place, program_of
from gitnexus.app.harnessgate import below, mode_of, new_text, paths_of, text_after
from gitnexus.git.shape import why_git_may_obey
from gitnexus.harness.calls import Reads, Shell, Writes
from gitnexus.policy.plain import allowing, is_readable, is_unread
from gitnexus.policy.words import ANY_FILE

if TYPE_CHECKING:
    from gitnexus.policy import shell

_LONGEST_WORD = 1000
# What a shell fills in, zsh with EXTENDED_GLOB too.
_WILD = frozenset("*?[{#^~")


def answered(call: Reads | Writes | Shell, place: Place, plain: dict[str, Any]) -> Known | None:
    """Return the answer to a call of nobody's role, None if it has to be judged."""
    if isinstance(call, Shell):
        return _shell(call, place, plain)
    return _read(call, place, plain) if isinstance(call, Reads) else _written(call, place, plain)


def _read(call: Reads, place: Place, plain: dict[str, Any]) -> Known | None:
    inside = [below(place, path) for path in paths_of(call)]
    quiet = not call.patterns and all(path is not None and is_readable(plain, path) for path in inside)
    if plain.get("reads", True) and any(os.path.isdir(path) for path in paths_of(call)):
        return None
    return Known("", "") if quiet else None


def _written(call: Writes, place: Place, plain: dict[str, Any]) -> Known | None:
    path = paths_of(call)[0]
    inside, kind = below(place, path), mode_of(path)
    if inside is None or "\0" in new_text(call) or (kind and not stat.S_ISREG(kind)):
        return None
    if why_git_may_obey(inside, text_after(call, path)):
        return None
    line = allowing(plain, inside)
    return None if line is None else Known("allow", f"allowed: {line}")


def _shell(call: Shell, place: Place, plain: dict[str, Any]) -> Known | None:
    """Return the first no, or a yes if every command of a plain text has one."""
    from gitnexus.harness.patchform import BEGIN
    from gitnexus.policy import shell

    text = shell.inner_text(call.argv) if call.argv else call.text
    if call.dialect != "sh" or call.typed or plain["runs"] is None:
        return None
    try:
        script = shell.read(text) if text is not None else shell.Script((shell.Command(call.argv, True),))
    except shell.TooMuch:
        return None
    first: Known | None = None
    if plain.get("reads", True) and any(_looks_around(command.argv) for command in script.commands):
        return None
    for command in script.commands:
        known = _part(command, os.path.realpath(call.cwd), place, plain)
        if known is None or known.verdict == "deny":
            return known
        first = first or known
    is_all = script.is_exact and not (text is not None and (call.argv or BEGIN in text))
    return first if is_all else None


def _looks_around(argv: "tuple[str, ...]") -> bool:
    """True for a command that may reach more files than its words name: by a search, a pattern, or another folder."""
    from gitnexus.policy.parts import moves
    from gitnexus.policy.programs import WRAPPERS, name_of
    from gitnexus.policy.searches import is_search

    if not argv or not argv[0] or moves(argv):
        return bool(argv)
    if name_of(argv[0]) in WRAPPERS or is_search(argv):
        return True
    return any(not _WILD.isdisjoint(word) for word in argv[1:])


def _part(command: "shell.Command", cwd: str, place: Place, plain: dict[str, Any]) -> Known | None:
    from gitnexus.harness.writers import effect
    from gitnexus.policy.plainrun import answer

    argv = command.argv
    if not argv or not argv[0]:
        return None
    if not _is_plain_folder(argv, cwd, place):
        return None
    found = answer(plain, argv, program_of(argv[0], cwd), cwd, place.top)
    if found is None or found[0] == "deny":
        return None if found is None else Known(*found)
    written = effect(argv)
    if written.paths or written.anything or command.writes or command.reads:
        return None
    return Known(*found) if all(_leads_nowhere_else(word, cwd, place, plain) for word in argv[1:]) else None


def _is_plain_folder(argv: "tuple[str, ...]", cwd: str, place: Place) -> bool:
    """True where nothing in the folder can make the program run something else: in git's case, at the top alone."""
    from gitnexus.policy.obeyed import OBEYED
    from gitnexus.policy.programs import name_of, unwrapped

    name = name_of(argv[0])
    if name == "git":
        return cwd == place.top and "-C" not in argv
    return not any(name_of(line[0]) in OBEYED for line in unwrapped(argv))


def _leads_nowhere_else(word: str, cwd: str, place: Place, plain: dict[str, Any]) -> bool:
    """True for a word that names no file, or one that may be read."""
    path = os.path.join(cwd, word)
    if word.startswith("-") or len(word) > _LONGEST_WORD or not os.path.lexists(path):
        return True
    real = os.path.realpath(path)
    inside = below(place, real)
    if inside is None:
        return not is_unread(plain, real.lstrip("/"))
    if inside and os.path.isdir(real) and is_unread(plain, f"{inside}/{ANY_FILE}"):
        return False
    return inside == "" or is_readable(plain, inside)
