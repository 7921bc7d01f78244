"""The commands that one command line stands for, each with the folders it may run in: pure, for what denies and asks.

`sh -c 'cd a && cat b'` is three of them: itself, `cd a`, and `cat b` in the folder of the call or in `a` below it. What
a rule denies is denied in every part of a line, whichever way the line came in.
"""

import posixpath
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from gitnexus.policy.programs import name_of, unwrapped
from gitnexus.policy.shell import Command, TooMuch, inner_text, read

_MOVES = frozenset(("cd", "chdir", "pushd"))
# Each `cd` doubles the folders that a later command may run in.
_MOST_FOLDERS = 64
# Programs whose words are no files, and those whose first operand is what they look for.
_SAYS = frozenset(("echo", "printf", "true", "false", "basename", "dirname", "expr", "test", "["))
_SEEKS = frozenset(
    "grep egrep fgrep zgrep bzgrep xzgrep rgrep ugrep ug rg ag ack fd fdfind sed awk gawk mawk nawk jq".split()
)
_GIVES_PATTERN = ("--regexp", "--file", "--files", "--expression", "--from-file")


class Part(NamedTuple):
    """One command; `folders` are those that it may run in, `reads` and `writes` the files of redirections."""

    argv: tuple[str, ...]
    folders: tuple[str, ...]
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    exact: bool = True


def moves(argv: Sequence[str]) -> bool:
    """True for a command that changes the folder of those after it."""
    return bool(argv) and argv[0] in _MOVES


def placed_commands(commands: Sequence[Command], cwd: str) -> Iterator[Part]:
    """Yield the commands of a shell's text with the folders that they may run in. Raises: TooMuch.

    A `cd` may fail, or stand in a sub-shell: so the folder before it counts as well.
    """
    folders: tuple[str, ...] = (cwd,)
    for command in commands:
        yield Part(command.argv, folders, command.reads, command.writes, command.exact)
        if moves(command.argv):
            target = _target(command.argv)
            entered = (posixpath.normpath(posixpath.join(folder, target)) for folder in folders)
            folders = tuple(dict.fromkeys((*folders, *entered)))
            if len(folders) > _MOST_FOLDERS:
                raise TooMuch


def _target(argv: Sequence[str]) -> str:
    words = [word for word in argv[1:] if word == "-" or not word.startswith("-")]
    return words[0] if words else "~"


@lru_cache(maxsize=512)
def parts_of(argv: tuple[str, ...], cwd: str) -> tuple[Part, ...]:
    """Return a command line, and the commands in a text that it hands to a shell. Raises: TooMuch."""
    found = [Part(argv, (cwd,))]
    for line in unwrapped(argv):
        text = inner_text(line) if line[0] else None
        if text:
            found += placed_commands(read(text).commands, cwd)
    return tuple(part for part in found if part.argv or part.reads)


def folder_words(argv: Sequence[str]) -> Sequence[str]:
    """Return the words of a command that may name a folder to look in: not what is said, and not what is sought."""
    name = name_of(argv[0])
    if name in _SAYS:
        return ()
    words = argv[1:]
    if name == "git" and "grep" in words:
        name, words = "grep", words[words.index("grep") + 1 :]
    if name in _SEEKS and not any(map(_gives_pattern, words)):
        first = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
        return (*words[:first], *words[first + 1 :])
    return words


def _gives_pattern(word: str) -> bool:
    """True for an option that says what is sought, or that nothing is: alone, shortened, or among other letters."""
    if word.startswith("--"):
        stem = word.partition("=")[0]
        return len(stem) > 3 and any(option.startswith(stem) for option in _GIVES_PATTERN)
    return word.startswith("-") and ("e" in word or "f" in word)
