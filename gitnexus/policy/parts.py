"""Splits a command line into the commands it runs, each with its possible folders. Pure; for deny and ask rules.

`sh -c 'cd a && cat b'` has three parts: itself, `cd a`, and `cat b` in the call's folder or in `a` below it. A denied
part denies the whole line.
"""

import posixpath
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gitnexus.policy.programs import inner_text, program_name, rests_of_unlisted, unwrap_command
from gitnexus.policy.shell import MOST_COMMANDS, ShellCommand, TooMuch, parse_shell_text
from gitnexus.policy.texts import texts_in

_MOVES = frozenset(("cd", "chdir", "pushd"))
# Each `cd` doubles the folders that a later command may run in.
_MOST_FOLDERS = 64
_DEEPEST = 6
# Programs whose words are not files, and those whose first operand is a search term.
PROGRAMS_THAT_SAY = frozenset(("echo", "printf", "true", "false", "basename", "dirname", "expr", "test", "["))
_SEEKS = frozenset(
    "grep egrep fgrep zgrep bzgrep xzgrep rgrep ugrep ug rg ag ack fd fdfind sed awk gawk mawk nawk jq".split()
)
# Options by which a program changes folder before it reads its other words.
_ENTERS = ("-C", "-D", "--chdir", "--directory", "--working-directory", "--cwd", "--prefix", "--cd")
_GIVES_PATTERN = ("--regexp", "--file", "--files", "--expression", "--from-file")


class CommandPart(NamedTuple):
    """One command; `folders` are those it may run in, `reads` and `writes` the files of redirections.

    `filled` are words that the shell expands, `sets` the variables set for it.
    """

    argv: tuple[str, ...]
    folders: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    exact: bool = True
    filled: tuple[str, ...] = ()
    sets: tuple[str, ...] = ()
    is_text: bool = False


def changes_folder(argv: Sequence[str]) -> bool:
    """True for a command that changes the folder of those after it."""
    return bool(argv) and argv[0] in _MOVES


def parts_of_commands(commands: Sequence[ShellCommand], *begin: str) -> Iterator[CommandPart]:
    """Yield the commands of a shell script with their possible folders. Raises: TooMuch.

    A `cd` may fail or be in a subshell, so the folder before it stays possible.
    """
    folders = begin
    for command in commands:
        places = _entered(command.argv, folders)
        yield CommandPart(
            command.argv, places, command.reads, command.writes, command.exact, command.filled, command.sets, True
        )
        if changes_folder(command.argv):
            target = _target_folder(command.argv)
            entered = (posixpath.normpath(posixpath.join(folder, target)) for folder in folders)
            folders = tuple(dict.fromkeys((*folders, *entered)))
            if len(folders) > _MOST_FOLDERS:
                raise TooMuch


def _entered(argv: Sequence[str], folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the folders of a command, including those that an option such as `env -C` selects."""
    found = [argv[at + 1] for at, word in enumerate(argv[:-1]) if at and word in _ENTERS]
    found += [value for word in argv[1:] for name, _, value in [word.partition("=")] if value and name in _ENTERS]
    entered = (posixpath.normpath(posixpath.join(folder, name)) for name in found for folder in folders)
    return tuple(dict.fromkeys((*folders, *entered)))[:_MOST_FOLDERS] if found else folders


def _target_folder(argv: Sequence[str]) -> str:
    words = [word for word in argv[1:] if word == "-" or not word.startswith("-")]
    return words[0] if words else "~"


@lru_cache(maxsize=512)
def parts_of_command(argv: tuple[str, ...], cwd: str) -> tuple[CommandPart, ...]:
    """Return a command line, and the commands in the scripts that it passes to a shell. Raises: TooMuch."""
    whole = CommandPart(argv, _entered(argv, (cwd,)))
    found = [whole, *_within(whole, 0)]
    return tuple(part for part in found if part.argv or part.reads or part.sets)


def parts_of_text(commands: Sequence[ShellCommand], cwd: str) -> list[CommandPart]:
    """Return the commands of a shell script and of the scripts they pass on. Raises: TooMuch."""
    found: list[CommandPart] = []
    for part in parts_of_commands(commands, cwd):
        found += [part, *_within(part, 1)]
        if len(found) > 2 * MOST_COMMANDS:
            raise TooMuch
    return found


def _within(part: CommandPart, depth: int) -> list[CommandPart]:
    """Return the commands of scripts that a part passes on, recursively."""
    if depth > _DEEPEST:
        raise TooMuch
    found: list[CommandPart] = []
    seen: set[str] = set()
    lines = [*unwrap_command(part.argv), *rests_of_unlisted(part.argv)] if part.argv and part.argv[0] else []
    for at, line in enumerate(lines):
        if at and line[0] != "git" and line != part.argv[-len(line) :]:  # what env -S makes of one word
            found.append(part._replace(argv=line, reads=(), writes=(), sets=()))
        if at == 0 and part.is_text and _is_shell(line):
            continue
        for text in texts_in(line):
            for inner in parts_of_commands(parse_shell_text(text).commands, *part.folders) if text not in seen else ():
                found += [inner, *_within(inner, depth + 1)]
                if len(found) > 2 * MOST_COMMANDS:
                    raise TooMuch
            seen.add(text)
    return found


def _is_shell(line: Sequence[str]) -> bool:
    return inner_text(tuple(line)) is not None


def folder_words(argv: Sequence[str]) -> Sequence[str]:
    """Return the words of a command that may name a folder to read; not messages or search terms."""
    name = program_name(argv[0])
    if name in PROGRAMS_THAT_SAY:
        return ()
    words = argv[1:]
    if name == "git" and "grep" in words:
        name, words = "grep", words[words.index("grep") + 1 :]
    if name in _SEEKS and not any(map(_gives_pattern, words)):
        first = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
        return (*words[:first], *words[first + 1 :])
    return words


def _gives_pattern(word: str) -> bool:
    """True for an option that gives the search term: alone, abbreviated, or among joined letters."""
    if word.startswith("--"):
        stem = word.partition("=")[0]
        return len(stem) > 3 and any(option.startswith(stem) for option in _GIVES_PATTERN)
    return word.startswith("-") and ("e" in word or "f" in word)
