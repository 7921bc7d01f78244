"""What is known of a command line: which of its words are harmless, and which let it run or reach something else."""

import shlex
from collections.abc import Sequence
from functools import lru_cache

from gitnexus.policy.obeyed import OBEYED
from gitnexus.policy.programtable import GROUPS, PROGRAMS, Program

WRAPPERS = frozenset(name for group in ("interpreters", "wrappers", "other users") for name in GROUPS[group][1].split())
ROOT = frozenset(GROUPS["other users"][1].split())
# These make git run a program that stands beside them; there is no honest use of them here.
_GIT_EXECUTES = ("--upload-pack", "--receive-pack", "--open-files-in-pager", "--exec-path", "--ext-diff", "--textconv")
# `--text` is the beginning of one of them, and an honest option of its own.
_HONEST = ("--text",)
# Programs that are no wrappers, and the words after which they have a command of somebody else's.
_FIND = ("-exec", "-execdir", "-ok", "-okdir")
_PACKAGES = ("--", "exec", "run", "x", "dlx")
_RUN_AFTER: dict[str, tuple[str, ...]] = {
    "find": _FIND,
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "git": ("--", "run", "foreach", "-x", "--exec"),
    **dict.fromkeys(GROUPS["packages"][1].split(), _PACKAGES),
    **dict.fromkeys(("docker", "podman", "kubectl", "ssh", "direnv", "mise", "pre-commit", "cargo"), _PACKAGES),
}
# Not in the tables, for nothing is known of their options: each rest of the line may be the command.
_MORE_WRAPPERS = frozenset(
    "setarch linux32 linux64 i386 x86_64 prlimit chrt taskset setpriv capsh fakeroot fakechroot choom numactl cgexec "
    "eatmydata proot catchsegv npx pnpx bunx uvx pipx".split()
)
_LOADERS = ("ld-linux", "ld-musl", "ld.so", "ld64.so")
_NAMES_OF_OURS = frozenset(("git-nexus",))
# In the tables as harmless, and yet they run what lies in the tree.
_RUN_THE_TREE = frozenset(OBEYED)


@lru_cache(maxsize=4096)
def name_of(word: str) -> str:
    """Return the name that a program goes by: without folder, `.exe` and a version, as in python3.11."""
    name = word.replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = name[:-4] if name.lower().endswith(".exe") else name
    name = name if name in PROGRAMS else name.lower()
    if name in PROGRAMS:
        return name
    bare = name.rstrip("0123456789.-")
    return bare if bare in PROGRAMS else name


def unknown_places(argv: Sequence[str]) -> dict[int, str]:
    """Return the places of `argv` that are not known to be harmless, each with the reason."""
    name = name_of(argv[0])
    program = PROGRAMS.get(name)
    if program is None:
        return {
            at: f"{name} is not in the tables, so nobody knows what {word.split('=')[0]} does"
            for at, word in enumerate(argv)
            if at and word.startswith("-") and len(word) > 1
        }
    return _looked_at(program, name, argv, 1)


def _looked_at(program: Program, name: str, argv: Sequence[str], start: int) -> dict[int, str]:
    if program.escalates:
        return dict.fromkeys(range(start - 1, len(argv)), f"{name}: {program.escalates}")
    found: dict[int, str] = {}
    for at in range(start, len(argv)):
        word = argv[at]
        if word == "--" and not program.words:
            return found
        if word.startswith("-") and len(word) > 1:
            if not _is_harmless(program, word):
                found[at] = f"{name} {word.split('=')[0]} is not one of the options known to be harmless"
        elif program.verbs is not None:
            below = program.verbs.get(word)
            if below is None:
                return {
                    **found,
                    **dict.fromkeys(range(at, len(argv)), f"{name} {word} is not known to be harmless"),
                }
            return {**found, **_looked_at(below, f"{name} {word}", argv, at + 1)}
    return found


def _is_harmless(program: Program, word: str) -> bool:
    if program.words:
        return word in program.words
    if word.startswith("--"):
        return word.partition("=")[0] in program.flags
    letters = word[1:]
    if program.numbers and letters.isdecimal():
        return True
    for letter in letters:
        if letter in program.valued:
            return True
        if letter not in program.letters:
            return False
    return True


def row_of(argv: Sequence[str]) -> Program | None:
    """Return what is known of the program, or of its subcommand; None for one that is in no table."""
    program = PROGRAMS.get(name_of(argv[0]))
    if program is None or program.verbs is None:
        return program
    return program.verbs.get(subcommand(argv) or "", program)


def only_looks(argv: Sequence[str]) -> bool:
    """True for a program of the tables that neither runs what it is given nor reaches the network."""
    row = row_of(argv)
    return row is not None and not row.escalates and not row.network and name_of(argv[0]) not in _RUN_THE_TREE


def subcommand(argv: Sequence[str]) -> str | None:
    """Return the first word that is no option; -C and -c of git take a value."""
    at = 1
    while at < len(argv):
        if argv[at] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--exec-path"):
            at += 2
        elif argv[at].startswith("-"):
            at += 1
        else:
            return argv[at]
    return None


def executes_by_option(argv: Sequence[str]) -> str | None:
    """Return the option by which git would run any program at all, or None."""
    if name_of(argv[0]) != "git":
        return None
    for word in argv[1:]:
        option = word.partition("=")[0]
        if len(option) > 4 and option not in _HONEST and any(known.startswith(option) for known in _GIT_EXECUTES):
            return option
        if word.startswith(("ext::", "fd::")):
            return word
    if subcommand(argv) == "grep" and any(_opens_pager(word) for word in argv[2:]):
        return "-O"
    return None


def _opens_pager(word: str) -> bool:
    """True for -O of git grep, alone or joined to others; what follows a letter with a value is that value."""
    if not word.startswith("-") or word.startswith("--"):
        return False
    for letter in word[1:]:
        if letter in "eABCfm":
            return False
        if letter == "O":
            return True
    return False


def unwrapped(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the command lines that `argv` may stand for: itself, what a wrapper would run, git without its options."""
    found = [tuple(argv)]
    name = name_of(argv[0])
    if name in WRAPPERS or name in _MORE_WRAPPERS or name.startswith(_LOADERS):
        found += [tuple(argv[at:]) for at in range(1, len(argv))]
        found += [("bash", *line) for line in found[1:] if name == "capsh" and line[0] == "-c"]
        found += _split_by_env(argv) if name == "env" else []
    elif name in _RUN_AFTER or name in _NAMES_OF_OURS:
        found += [
            tuple(argv[at + 1 :]) for at, word in enumerate(argv[:-1]) if at and word in _RUN_AFTER.get(name, ("--",))
        ]
    for line in list(found):
        if name_of(line[0]) == "git" and (verb := subcommand(line)) is not None:
            found.append(("git", *line[line.index(verb, 1) :]))
            found += [("sh", "-c", word.partition("=!")[2]) for word in line if _is_alias(word)]
        elif name_of(line[0]).startswith("git-") and name_of(line[0]) not in _NAMES_OF_OURS:
            found.append(("git", name_of(line[0])[4:], *line[1:]))
    return found


def _is_alias(word: str) -> bool:
    """True for a setting by which git runs a text for a shell under a name of its own."""
    return word.lower().removeprefix("-c").startswith("alias.") and "=!" in word


def _split_by_env(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the lines that `env -S` makes of one word, with what stands behind it."""
    found: list[tuple[str, ...]] = []
    for at, word in enumerate(argv[1:], 1):
        if any(mark in word for mark in " \t\"'"):
            try:
                words = tuple(shlex.split(word.removeprefix("--split-string=").removeprefix("-S")))
            except ValueError:
                continue
            found += [(*words[begin:], *argv[at + 1 :]) for begin in range(len(words))]
    return [line for line in found if line[0]]
