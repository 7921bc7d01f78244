"""Tells which commands search a folder recursively, and which of their words name that folder. Pure."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from gitnexus.policy.gitreads import shows_files
from gitnexus.policy.parts import folder_words
from gitnexus.policy.programs import first_subcommand, program_name

_GREPS = tuple("grep egrep fgrep zgrep bzgrep xzgrep".split())
# Programs that always search, and the option letters that make others search.
_ALWAYS = frozenset("rg ag ack fd fdfind find bfs tree du tar bsdtar zip 7z rsync cp scp ctags rgrep ugrep ug".split())
_MODULES = frozenset("zipfile tarfile zipapp http.server compileall".split())
# Subcommands of programs that take in a whole folder.
_VERBS = {**dict.fromkeys(("docker", "podman"), ("cp", "build")), "kubectl": ("cp",), "aws": ("s3",)}
_LETTERS = {
    **dict.fromkeys(("gzip", "gunzip"), "r"),
    **dict.fromkeys(_GREPS, "rRd"),
    **dict.fromkeys(("ls", "dir", "vdir"), "R"),
    "diff": "r",
    "chmod": "R",
}
_WORDS = ("--recursive", "--dereference-recursive", "--directories")
# Without a file operand these search the current folder. The letters are those without a value.
_GREP_LETTERS = "abchiHnlLoqrRsvwxyzEFGIPTUVZ0123456789"
_LOOK_HERE = {
    **dict.fromkeys((*_GREPS, "rgrep"), _GREP_LETTERS),
    **dict.fromkeys(("ls", "dir", "vdir"), "aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1"),
    "rg": "abcFHhiIlLnNoPpqSsUuvwxz0.",
    "tree": "adflxRqNQpugshDiFvtcUrnACJX",
    "du": "0abchHklLmPsSDx",
    "find": "HLP",
    **dict.fromkeys(("fd", "fdfind"), "HIusigaplL0F1q"),
    **dict.fromkeys("ag ack bfs ugrep ug ctags".split(), ""),
}
_NO_VALUE = frozenset(
    "-- --recursive --ignore-case --line-number --color --colour --hidden --no-ignore --files --all --follow "
    "--human-readable --summarize --with-filename --no-filename --count --files-with-matches --word-regexp "
    "--fixed-strings --extended-regexp --perl-regexp --no-heading --heading --dereference-recursive".split()
)
_LEAVES_OUT = ("--exclude", "--ignore")
# These read nothing in a folder but names, unless they search.
_NAMES_ALONE = frozenset(
    "ls dir vdir cd chdir pushd popd pwd stat test [ echo printf realpath readlink basename dirname mkdir".split()
)
_GIT_JUDGED = frozenset(
    "add annotate blame check-attr check-ignore commit describe diff diff-files diff-index diff-tree grep log ls-files "
    "ls-tree reflog rev-list rev-parse shortlog show status whatchanged".split()
)
# These always follow links; the others with one of the letters or words.
_FOLLOWS = frozenset("diff zip 7z scp cp tar bsdtar rsync".split())


def is_search(argv: Sequence[str]) -> bool:
    """True for a command that reads whatever is below a folder."""
    name = program_name(argv[0])
    if name in _ALWAYS:
        return True
    if name == "git":
        return shows_files(argv)
    if any(verb in argv[1:] for verb in _VERBS.get(name, ())):
        return True
    if name in ("python", "python3", "pypy3"):
        return any(word == "-m" and after in _MODULES for word, after in pairwise(argv))
    letters = _LETTERS.get(name, "")
    return bool(letters) and any(
        any(letter in word for letter in letters) if _is_letters(word) else _abbreviates_option(word, _WORDS)
        for word in argv[1:]
    )


def looks_no_deeper(argv: Sequence[str]) -> bool:
    """True for a command that does not read below a folder that its words name: it uses or shows names alone.

    What git shows is judged by `gitreads`, and what it takes in by `taken_in`.
    """
    name = program_name(argv[0])
    if name == "git":
        return first_subcommand(argv) in _GIT_JUDGED
    return name in _NAMES_ALONE and not is_search(argv)


def follows_links(argv: Sequence[str]) -> bool:
    """True for a search that may follow links."""
    return program_name(argv[0]) in _FOLLOWS or any(
        any(letter in word for letter in "RLlH") if _is_letters(word) else word.startswith(("--follow", "--deref"))
        for word in argv[1:]
    )


def paths_named_in(argv: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """Yield the words of a command that may name a path, each with whether it can be nothing else."""
    name, before, is_ended = program_name(argv[0]), "", False
    is_sought = is_search(argv) and name != "git"
    for word in folder_words(argv):
        if is_ended or not word.startswith("-"):
            yield word, is_ended or name not in _LOOK_HERE or not _takes_value(name, before)
        elif is_sought and not word.startswith(_LEAVES_OUT):
            value = word.partition("=")[2] if word.startswith("--") else word[2:]
            if value:
                yield value, False
        is_ended = is_ended or word == "--"
        before = word


def _takes_value(name: str, option: str) -> bool:
    """True if the next word may be this option's value."""
    if not option.startswith("-") or "=" in option or option in _NO_VALUE:
        return False
    if not _is_letters(option) or name in ("find", "bfs"):
        return option not in ("-H", "-L", "-P")
    valued = next((at for at, letter in enumerate(option) if at and letter not in _LOOK_HERE[name]), None)
    return valued == len(option) - 1


def _is_letters(word: str) -> bool:
    return word.startswith("-") and not word.startswith("--")


def _abbreviates_option(word: str, options: Sequence[str]) -> bool:
    """True for one of the long options or an accepted abbreviation of it."""
    stem = word.partition("=")[0]
    return len(stem) > 3 and any(option.startswith(stem) for option in options)
