"""Finds words of a command that hide which programs it runs or which files it reads. Pure.

It matters if a rule denies a program or files: hidden words may mean just those. What a program does with a file that
its words name, or that it reads by itself, is not examined here.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from gitnexus.policy.builtin import why_bad_variable
from gitnexus.policy.gitreads import is_known_verb, is_quiet_verb
from gitnexus.policy.parts import CommandPart, changes_folder
from gitnexus.policy.programs import (
    WRAPPERS,
    first_subcommand,
    is_opaque,
    is_unlisted,
    program_name,
    rests_of_unlisted,
    unwrap_command,
)
from gitnexus.policy.unlisted import may_be_script

# Option letters or names after which an interpreter takes a script as a word.
_LETTERS = {"perl": "eE", "php": "rBER",
            **dict.fromkeys(("ruby", "rake", "lua", "Rscript", "R", "osascript", "ghci"), "e"),
            **dict.fromkeys(("python", "python2", "python3", "pypy3"), "c"),
            **dict.fromkeys(("node", "nodejs", "bun"), "ep"), "julia": "eE",
            **dict.fromkeys(("psql", "fish", "csh", "tcsh", "pwsh", "expect"), "c"), "mysql": "e"}  # fmt: skip
_OPTIONS = {
    **dict.fromkeys(("node", "nodejs", "bun", "julia"), ("--eval", "--print", "--import")),
    **dict.fromkeys(("vim", "vi", "nvim", "view", "ex"), ("-c", "-sc", "--cmd", "+", "-S", "-s", "-es", "-e")),
    "dc": ("-e", "--expression"),
    **dict.fromkeys(("bash", "sh"), ("--rcfile", "--init-file")),
    "cmake": ("-E",),
    "emacs": ("--eval", "-eval", "--funcall", "-f", "--load", "-l", "--execute"),
    "gdb": ("-ex", "--ex", "-x", "--command", "-iex", "-eval-command", "--eval-command"),
    "lldb": ("-o", "-O", "--one-line", "-s", "--source"),
    "pwsh": ("-Command", "-EncodedCommand", "/c"),
    "cmd": ("/c", "/C", "/k", "/K"),
    "deno": ("eval",),
    "less": ("+",),
    **dict.fromkeys(("make", "gmake"), ("--eval", "-f-", "--file=-", "--makefile=-", "SHELL=", "MAKEFILES=")),
    "sqlite3": (".", "-cmd"),
}  # fmt: skip
# Python modules that run a script given as a word.
_RUN_TEXT = frozenset("timeit pdb trace cProfile profile code runpy".split())
# In a computed variable name, brackets hold an expression, and a substitution in it runs even if quoted.
_COMPUTED = re.compile(r"\w\[[^\]]*(?:\$\(|`)")
_PROMPT = re.compile(r"\$\{[^}]*@P\}")
# Without a file operand these run their input.
_FED = frozenset(
    "fish csh tcsh python python2 python3 pypy3 perl ruby node nodejs deno php lua tclsh osascript ed ex sqlite3 psql "
    "mysql gdb lldb jshell ghci irb R julia expect at batch crontab parallel bc dc pwsh busybox".split()
)
_FEEDS = frozenset(("-", "-s", "-i", "-u", "-q", "-B", "--", "/dev/stdin", "/proc/self/fd/0", "/dev/fd/0"))
_AWKS = frozenset(("awk", "gawk", "mawk", "nawk"))
_WILD_AWK = re.compile(r"system|getline|ARG|ENVIRON|@|(?<!\|)\|(?!\|)|\\")
_TAME_SED = re.compile(
    r"(?:(?:\d+|\$|/[^/\\]*/)?(?:,(?:\d+|\$|/[^/\\]*/))?!?(?:[pdqDPNnGHhgx=]|s([/|,#])[^;\n]*\1[^;\n]*\1[gpiI0-9]*)(?:;\s*|\n|$))*"
)
_SED_OPTIONS = ("-n", "-E", "-r", "-e", "-s", "-z", "-ne", "-nE", "-nr", "--quiet", "--silent", "--regexp-extended")
# These run a file that they name, as with `sh FILE`.
_RUNS_FILE = frozenset(("source", ".", "alias"))
# These pass generated names to a program.
_HANDS_ON = frozenset(("xargs", "parallel", "entr"))
_XARGS_VALUED = "adEILnPs"
_MOVED = re.compile(r"~[-+]?\d*(?<=[-+\d])(?:/|$)")
# Options by which a program takes file names from a file or a pipe.
_LISTS = ("--files-from", "--files0-from", "--file-list", "--pathspec-from-file", "--from-file-list")
# Their words are not files to show.
_READ_NOTHING = frozenset(
    "echo printf true false basename dirname expr test [ : exit return shift set unset export local declare typeset "
    "readonly let read wait sleep kill mkdir rmdir rm touch chmod chown umask ulimit type which hash pwd date seq trap "
    "eval sh bash dash zsh ksh ash mksh rbash break continue getopts nproc uname id whoami hostname".split()
)


def unread_runs(parts: Sequence[CommandPart]) -> str | None:
    """Return the words that hide which program they run, or None."""
    for part in parts:
        if any(_is_bad(word) for word in _settings(part)) or _is_computed(part):
            return " ".join((*part.sets, *part.argv))
        if not part.argv or not part.argv[0]:
            continue
        if _is_opaque(part):
            return " ".join(part.argv)
        if any(_hides_program(line) for line in _lines(part.argv)):
            return " ".join(part.argv)
    return None


def unread_files(parts: Sequence[CommandPart]) -> str | None:
    """Return the words that hide which files they read, or None."""
    for part in parts:
        if not part.argv or not part.argv[0]:
            continue
        filled = [word for word in part.filled if word not in part.sets]
        if (filled and _reads_filled(part)) or _reads_from_moved(part):
            return " ".join(part.argv) + "".join(f" < {name}" for name in part.reads if name in filled)
        if _is_opaque(part) and part.argv[0] not in _RUNS_FILE:
            return " ".join(part.argv)
        if any(_hides_program(line) or _hides_names(line) for line in _lines(part.argv)):
            return " ".join(part.argv)
        if is_unlisted(part.argv) and may_be_script(part.argv, part.folders[0]):
            return " ".join(part.argv)
    return None


def _lines(argv: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield a command line and the remainders of it that may be run."""
    yield from (line for line in (*unwrap_command(argv), *rests_of_unlisted(argv)) if line and line[0])


def _is_opaque(part: CommandPart) -> bool:
    """True if only a shell can tell the program; outside a script nothing expands a word."""
    filled_in = any(mark in part.argv[0] for mark in "$`*?[]{}~")
    return is_opaque(part.argv) and (part.is_text or not filled_in)


def _settings(part: CommandPart) -> Iterator[str]:
    yield from part.sets
    if part.argv and program_name(part.argv[0]) in ("env", "export", "declare", "typeset", "sudo", "doas"):
        yield from (word for word in part.argv[1:] if "=" in word and not word.startswith("-"))


def _is_bad(word: str) -> bool:
    """True for a variable that makes a program run another."""
    name, _, value = word.partition("=")
    return name.isidentifier() and why_bad_variable(name, value) is not None and "\n" not in value


def _is_computed(part: CommandPart) -> bool:
    """True if a shell would run a substitution in the quoted name or value of a variable."""
    return part.is_text and any(_COMPUTED.search(word) or _PROMPT.search(word) for word in (*part.sets, *part.argv))


def _hides_program(line: Sequence[str]) -> bool:
    """True for a script that is not for a shell, or one that is read from input."""
    name, words = program_name(line[0]), line[1:]
    if name == "find":
        runs = pairwise(words)
        return any(word in ("-exec", "-execdir", "-ok", "-okdir") and "{}" in after for word, after in runs)
    if name.startswith(("python", "pypy")) and any(
        word == "-m" and after in _RUN_TEXT for word, after in pairwise(words)
    ):
        return True
    if name in _AWKS:
        return _is_wild_awk(words)
    if name in ("sed", "gsed"):
        return not _is_tame_sed(words)
    if name in _FED and all(word in _FEEDS for word in words):
        return True
    if name in ("make", "gmake") and _is_wild_make(words):
        return True
    if name in ("parallel", "at", "batch", "crontab"):
        return True
    if name == "git":
        verb = first_subcommand(line)
        return verb is not None and not is_known_verb(verb)
    if name == "xargs":
        command = _handed(words)
        is_bare = bool(command) and all(word.startswith("-") for word in command[1:])
        return (is_bare and program_name(command[0]) in WRAPPERS) or any(mark in command[0] for mark in "{%" if command)
    return _has_code(name, words)


def _is_wild_make(words: Sequence[str]) -> bool:
    """True if make reads rules from a pipe, or expands one of its words."""
    fed = any(word in ("-f", "--file", "--makefile") and after in _FEEDS for word, after in pairwise(words))
    return fed or any("$(" in word or "${" in word for word in words)


def _has_code(name: str, words: Sequence[str]) -> bool:
    letters, options = _LETTERS.get(name, ""), _OPTIONS.get(name, ())
    if not letters and not options:
        return False
    for word in words:
        if any(
            word == option or (len(option) < 3 and option in "+." and word.startswith(option)) for option in options
        ):
            return True
        if any(option.endswith(("=", "-")) and word.startswith(option) for option in options):
            return True
        if word.startswith("--") and any(word.startswith(f"{option}=") for option in options):
            return True
        if not word.startswith("-") or word == "-m":
            if letters and not options:
                return False  # words after a script or module belong to it
            continue
        if not word.startswith("--") and any(letter in word[1:] for letter in letters):
            return True
    return False


def _is_wild_awk(words: Sequence[str]) -> bool:
    """True for an awk program that may run or read more than its words name."""
    if any(word.startswith(("-i", "-l", "-E", "-e", "--")) for word in words):
        return True
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        if words[at].startswith("-f"):
            return words[at][2:] == "-" or words[at : at + 2] == ("-f", "-")
        at += 2 if words[at] in ("-F", "-v") else 1
    return at < len(words) and _WILD_AWK.search(words[at]) is not None


def _is_tame_sed(words: Sequence[str]) -> bool:
    """True for a sed script that only prints, deletes and replaces."""
    scripts, operands, at = list[str](), list[str](), 0
    while at < len(words):
        word = words[at]
        if word in ("-e", "-ne", "--expression"):
            scripts += words[at + 1 : at + 2]
            at += 1
        elif word.startswith(("-i", "--in-place")) or word in _SED_OPTIONS:
            pass
        elif word.startswith("-") and len(word) > 1:
            return word.startswith(("-f", "--file")) and word not in ("-f-", "--file=-") and "-" not in words
        else:
            operands.append(word)
        at += 1
    scripts = scripts or operands[:1]
    return all(len(script) < 2000 and _TAME_SED.fullmatch(script) for script in scripts)


def _hides_names(line: Sequence[str]) -> bool:
    """True for a program that reads files named on its input or in another file."""
    name, words = program_name(line[0]), line[1:]
    if name in _HANDS_ON:
        command = _handed(words) if name == "xargs" else words
        if command and program_name(command[0]) == "git":
            return not is_quiet_verb(command)
        return bool(command) and program_name(command[0]) not in _READ_NOTHING
    if name in ("cpio", "pax"):
        return True
    if name in ("tar", "bsdtar", "gtar") and any(_is_tar_list(word) for word in words):
        return True
    if name == "zip" and "-@" in words:
        return True
    return any(len(word) > 8 and _begins(word.partition("=")[0], _LISTS) for word in words if word.startswith("--"))


def _begins(stem: str, options: Sequence[str]) -> bool:
    return any(option.startswith(stem) for option in options)


def _is_tar_list(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--") and "T" in word


def _handed(words: Sequence[str]) -> tuple[str, ...]:
    """Return the command after the options of xargs, empty if there is none: then it echoes."""
    at = 0
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        valued = len(words[at]) == 2 and words[at][1] in _XARGS_VALUED
        long = words[at].startswith("--") and "=" not in words[at] and words[at][2:3] in ("a", "d", "m")
        at += 2 if valued or long else 1
    return tuple(words[at:])


def _reads_from_moved(part: CommandPart) -> bool:
    """True if a word begins at a folder that only the shell knows: `~+`, `~-` or `~1`."""
    words = (*part.argv[1:], *part.reads)
    return part.is_text and any(map(_MOVED.match, words)) and program_name(part.argv[0]) not in _READ_NOTHING


def _reads_filled(part: CommandPart) -> bool:
    """True if a word that a shell expands may name a file to read."""
    if changes_folder(part.argv) or any(name in part.filled for name in part.reads):
        return True
    name = program_name(part.argv[0])
    if name == "git":
        verb = first_subcommand(part.argv)
        return verb is None or verb in part.filled or not is_quiet_verb(part.argv)
    return name not in _READ_NOTHING
