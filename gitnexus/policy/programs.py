"""Tells which words of a command line are harmless, and which let it run or reach something else. Pure."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from gitnexus.policy.obeyed import OBEYED
from gitnexus.policy.programtable import GROUPS, PROGRAMS, ProgramRow

WRAPPERS = frozenset(name for group in ("interpreters", "wrappers", "other users") for name in GROUPS[group][1].split())
ROOT = frozenset(GROUPS["other users"][1].split())
# Options that make git run another program; there is no legitimate use of them here.
_GIT_EXECUTES = ("--upload-pack", "--receive-pack", "--open-files-in-pager", "--exec-path", "--ext-diff", "--textconv")
# `--text` is a prefix of one of them, and a legitimate option itself.
_HONEST = ("--text",)
# Programs that are not wrappers, and the words after which they take a command.
_FIND = ("-exec", "-execdir", "-ok", "-okdir")
_PACKAGES = ("--", "exec", "run", "x", "dlx")
_RUN_AFTER: dict[str, tuple[str, ...]] = {
    "find": _FIND,
    "fd": ("-x", "-X", "--exec", "--exec-batch"),
    "git": ("--", "run", "foreach", "-x", "--exec"),
    **dict.fromkeys(GROUPS["packages"][1].split(), _PACKAGES),
    **dict.fromkeys(("docker", "podman", "kubectl", "ssh", "direnv", "mise", "pre-commit", "cargo"), _PACKAGES),
}
# Not in the tables, because their options are unknown: any rest of the line may be the command.
_MORE_WRAPPERS = frozenset(
    "setarch linux32 linux64 i386 x86_64 prlimit chrt taskset setpriv capsh fakeroot fakechroot choom numactl cgexec "
    "eatmydata proot catchsegv npx pnpx bunx uvx pipx chronic ifne mispipe pee dbus-run-session dbus-launch xvfb-run "
    "cpulimit nocache trickle torsocks torify proxychains proxychains4 faketime rlwrap valgrind perf heaptrack rr "
    "gdbserver hyperfine run0 gosu su-exec tini dumb-init toybox caffeinate softlimit setuidgid chpst s6-setuidgid "
    "with-contenv dotenv direnv op doppler aws-vault sg newgrp xterm gnome-terminal konsole".split()
)
# Shell built-ins whose words are never a command.
_BUILT_IN = frozenset(
    "test [ : cd chdir pushd popd exit return shift set unset export local declare typeset readonly let read wait type "
    "hash pwd umask ulimit break continue getopts true false echo printf which alias unalias source .".split()
)
# Groups of programs in the tables whose options, and words such as `EXEC:id`, may name a program that they run.
_GROUPS_THAT_RUN = ("packages", "interpreters", "wrappers", "other users", "network", "builds")
_RUN_BY_WORDS = frozenset(name for group in _GROUPS_THAT_RUN for name in GROUPS[group][1].split()) | {"cargo", "go"}
_COPIES = frozenset("cp mv ln link install dd cat rsync".split())
# A bound on the remainders of one command line that are judged.
_MOST_RESTS = 20
_LOADERS = ("ld-linux", "ld-musl", "ld.so", "ld64.so")
_PYTHONS = frozenset(("python", "python3", "pypy", "pypy3"))
_NAMES_OF_OURS = frozenset(("git-nexus",))
# In the tables as harmless, but they execute files of the tree.
_RUN_THE_TREE = frozenset(OBEYED)


@lru_cache(maxsize=4096)
def program_name(word: str) -> str:
    """Return the plain name of a program: without folder, `.exe` and a version, as in python3.11."""
    name = word.replace("\\", "/").rstrip("/").rpartition("/")[2]
    name = name[:-4] if name.lower().endswith(".exe") else name
    name = name if name in PROGRAMS else name.lower()
    if name in PROGRAMS:
        return name
    bare = name.rstrip("0123456789.-")
    return bare if bare in PROGRAMS else name


def unknown_places(argv: Sequence[str]) -> dict[int, str]:
    """Return the positions of `argv` not known to be harmless, with the reason."""
    name = program_name(argv[0])
    program = PROGRAMS.get(name)
    if program is None:
        return {
            at: f"{name} is not in the tables, so it is unknown what {word.split('=')[0]} does"
            for at, word in enumerate(argv)
            if at and word.startswith("-") and len(word) > 1
        }
    return _unknown_words(program, name, argv, 1)


def _unknown_words(program: ProgramRow, name: str, argv: Sequence[str], start: int) -> dict[int, str]:
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
            return {**found, **_unknown_words(below, f"{name} {word}", argv, at + 1)}
    if program.needs_verb:
        found[start - 1] = f"{name} alone is not known to be harmless"
    return found


def _is_harmless(program: ProgramRow, word: str) -> bool:
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


def program_row(argv: Sequence[str]) -> ProgramRow | None:
    """Return the table row of the program or its subcommand, None if it is in no table."""
    program = PROGRAMS.get(program_name(argv[0]))
    if program is None or program.verbs is None:
        return program
    return program.verbs.get(first_subcommand(argv) or "", program)


def only_looks(argv: Sequence[str]) -> bool:
    """True for a program in the tables that neither executes its input nor uses the network."""
    row = program_row(argv)
    return row is not None and not row.escalates and not row.network and program_name(argv[0]) not in _RUN_THE_TREE


def first_subcommand(argv: Sequence[str]) -> str | None:
    """Return the first word that is not an option; git's -C and -c take a value."""
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
    """Return the option by which git would run an arbitrary program, or None."""
    if program_name(argv[0]) != "git":
        return None
    for word in argv[1:]:
        option = word.partition("=")[0]
        if len(option) > 4 and option not in _HONEST and any(known.startswith(option) for known in _GIT_EXECUTES):
            return option
        if word.startswith(("ext::", "fd::")):
            return word
    if first_subcommand(argv) == "grep" and any(_opens_pager(word) for word in argv[2:]):
        return "-O"
    return None


def _opens_pager(word: str) -> bool:
    """True for -O of git grep, alone or joined; what follows a letter with a value is that value."""
    if not word.startswith("-") or word.startswith("--"):
        return False
    for letter in word[1:]:
        if letter in "eABCfm":
            return False
        if letter == "O":
            return True
    return False


def unwrap_command(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the command lines that `argv` may run: itself, that of a wrapper, git without its options."""
    found = [tuple(argv)]
    name = program_name(argv[0])
    if name in WRAPPERS or name in _MORE_WRAPPERS or name.startswith(_LOADERS):
        found += [tuple(argv[at:]) for at in range(1, len(argv))]
        found += [("bash", *line) for line in found[1:] if name == "capsh" and line[0] == "-c"]
        found += _split_by_env(argv) if name == "env" else []
    elif name in _RUN_AFTER or name in _NAMES_OF_OURS:
        found += [
            tuple(argv[at + 1 :]) for at, word in enumerate(argv[:-1]) if at and word in _RUN_AFTER.get(name, ("--",))
        ]
    for line in list(found):
        if program_name(line[0]) == "git" and (verb := first_subcommand(line)) is not None:
            found.append(("git", *line[line.index(verb, 1) :]))
            found += [("sh", "-c", word.partition("=!")[2]) for word in line if _is_alias(word)]
        elif program_name(line[0]).startswith("git-") and program_name(line[0]) not in _NAMES_OF_OURS:
            found.append(("git", program_name(line[0])[4:], *line[1:]))
    return found


def is_unlisted(argv: Sequence[str]) -> bool:
    """True for a program in no table, and no built-in of a shell: its words may be a command that it runs."""
    name = program_name(argv[0])
    if name in PROGRAMS or name in _MORE_WRAPPERS or name in _NAMES_OF_OURS or name in _BUILT_IN:
        return False
    return not name.startswith((*_LOADERS, "git-"))


def may_run_by_words(argv: Sequence[str]) -> bool:
    """True for a program of which an option or a part of a word may name a program that it runs."""
    return is_unlisted(argv) or program_name(argv[0]) in _RUN_BY_WORDS


def rests_of_unlisted(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """Return what follows the words of a program in no table that are wrappers or interpreters; the first ones."""
    if not is_unlisted(argv):
        return []
    begins = [at for at, word in enumerate(argv) if at and program_name(word) in WRAPPERS]
    return [tuple(argv[at:]) for at in begins[:_MOST_RESTS]]


def programs_copied(argv: Sequence[str]) -> Iterator[str]:
    """Yield the programs of the system that a command copies, or links to."""
    if program_name(argv[0]) in _COPIES:
        paths = (word.partition("=")[2] or word for word in argv[1:])
        yield from (path for path in paths if path.rpartition("/")[0].endswith("bin"))


def programs_in(argv: Sequence[str]) -> Iterator[str]:
    """Yield the program, those it may run, and a Python module that is one."""
    yield from (program_name(line[0]) for line in unwrap_command(argv))
    if program_name(argv[0]) in _PYTHONS:
        joined = next((word for word in argv[1:] if word.startswith("-") and "m" in word), "").partition("m")[2]
        modules = [joined, *argv[2:]]
        yield from (name for word in modules for name in _names_of_module(word.partition(".")[0]))


def _names_of_module(module: str) -> tuple[str, ...]:
    return module, module.replace("_", "-"), f"{module}-build"


def _is_alias(word: str) -> bool:
    """True for a setting by which git runs a shell script as an alias."""
    return word.lower().removeprefix("-c").startswith("alias.") and "=!" in word


def _split_by_env(argv: Sequence[str]) -> list[tuple[str, ...]]:
    """Return the lines that `env -S` makes of one word and the words after it."""
    import shlex  # hardly any command is of this kind

    found: list[tuple[str, ...]] = []
    for at, word in enumerate(argv[1:], 1):
        if any(mark in word for mark in " \t\"'"):
            try:
                words = tuple(shlex.split(word.removeprefix("--split-string=").removeprefix("-S")))
            except ValueError:
                continue
            found += [(*words[begin:], *argv[at + 1 :]) for begin in range(len(words))]
    return [line for line in found if line[0]]


_SHELLS = frozenset("sh bash dash zsh ksh ash mksh rbash".split())
_FILLED_IN = frozenset("$`*?[]{}~")


def inner_text(argv: tuple[str, ...]) -> str | None:
    """Return the script of `sh -c`, `eval` and `trap`, None for other commands."""
    name = argv[0].rpartition("/")[2]
    if name == "eval":
        return " ".join(argv[1:])
    if name == "trap":
        return next((word for word in argv[1:] if not word.startswith("-")), None)
    if name not in _SHELLS:
        return None
    for at, word in enumerate(argv[1:], 1):
        if not word.startswith(("-", "+")):
            return None
        if not word.startswith("--") and "c" in word[1:]:
            rest = [one for one in argv[at + 1 :] if not one.startswith("-")]
            return rest[0] if rest else ""
    return None


def is_opaque(argv: tuple[str, ...]) -> bool:
    """True if only a shell can tell the program: it is expanded, or reads its script from input."""
    name = argv[0].rpartition("/")[2] if argv else ""
    fed = name in _SHELLS and all(word.startswith("-") for word in argv[1:])
    return fed or name in ("source", ".", "alias") or not _FILLED_IN.isdisjoint(argv[0] if argv else "")
