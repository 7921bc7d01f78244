"""Lists the files that a command line writes, judged by its words; for path rules, and for edits without a task.

The list covers known commands only: what an interpreter or a build writes cannot be told from its words. Those
commands need an approval by themselves.
"""

from typing import NamedTuple


class WriteEffect(NamedTuple):
    """`paths` as spelled; `anything` if files are written that the words do not name."""

    paths: tuple[str, ...] = ()
    anything: bool = False


_ALL = frozenset("rm rmdir unlink shred truncate touch mkdir tee mkfifo mknod setfacl chattr".split())
_MOVES = frozenset(("mv", "rename"))
_LAST = frozenset(("cp", "install", "ln", "link", "scp", "rsync"))
_AFTER_FIRST = frozenset(("chmod", "chown", "chgrp"))
_ANYTHING = frozenset("patch apply_patch ed ex vi vim nvim emacs nano unzip cpio rsync 7z bsdtar".split())
_IN_PLACE = frozenset(("sed", "gsed", "perl", "ruby"))
_GIT_PATHS = frozenset(("rm", "mv"))
_GIT_ANYTHING = frozenset(
    "apply am checkout restore reset stash clean merge rebase pull switch revert cherry-pick checkout-index "
    "read-tree sparse-checkout submodule worktree bisect".split()
)
# Their operands are commits and names, no files.
_GIT_COMMITS = frozenset("merge rebase pull switch revert cherry-pick bisect stash sparse-checkout".split())
# What of them only looks.
_GIT_LOOKS = {
    "stash": ("list", "show"),
    "worktree": ("list",),
    "submodule": ("status", "summary"),
    "bisect": ("log", "terms"),
    "sparse-checkout": ("list",),
}
_EDITORS = frozenset("ed ex vi vim nvim emacs nano".split())
# Options of theirs with a value that is no file to be written.
_TOLD = ("-c", "--cmd", "-S", "-s", "-u", "-i", "--eval", "-f", "-l", "--load", "--funcall")
_WRITERS = _ALL | _MOVES | _LAST | _AFTER_FIRST | _ANYTHING | _IN_PLACE
# What follows one of these is run by the program: each rest of the line may be the command.
_WRAPPERS = frozenset(
    "env xargs nohup nice ionice time timeout setsid stdbuf watch parallel flock script command builtin exec sudo doas "
    "su chroot find fd busybox toybox unshare nsenter strace".split()
)
_OUTPUTS = {
    "sort": ("-o", "--output"),
    "curl": ("-o", "--output"),
    "wget": ("-O", "--output-document"),
    "uniq": (),
    "git": ("-o", "--output", "--output-directory"),
    "openssl": ("-out",),
    "gcc": ("-o",),
}


def files_written_by_command(argv: tuple[str, ...]) -> WriteEffect:
    """Return the files that a command line writes."""
    found = _effect_of_command(argv)
    name = argv[0].rpartition("/")[2] if argv else ""
    if name in _WRAPPERS:
        parts = [_effect_of_command(argv[at:]) for at in range(1, min(len(argv), 64))]
        paths = tuple(path for part in (found, *parts) for path in part.paths)
        # What it is handed besides, from a pipe or by a search, is named nowhere.
        fed = any(word.rpartition("/")[2] in _WRITERS for word in argv[1:]) or "-delete" in argv
        return WriteEffect(tuple(dict.fromkeys(paths)), fed or found.anything or any(part.anything for part in parts))
    return found


def _effect_of_command(argv: tuple[str, ...]) -> WriteEffect:
    if not argv:
        return WriteEffect()
    name, words = argv[0].rpartition("/")[2], argv[1:]
    operands = _operand_words(words)
    if name in _ANYTHING:
        return WriteEffect(_edited(words) if name in _EDITORS else operands, True)
    if name in _ALL or name in _MOVES:
        return WriteEffect((*operands, *_option_values(words, ("-t", "--target-directory"))))
    if name in _LAST:
        return WriteEffect((*operands[-1:], *_option_values(words, ("-t", "--target-directory"))))
    if name in _AFTER_FIRST:
        return WriteEffect(operands[1:])
    if name in _IN_PLACE and any(_is_in_place_option(word) for word in words):
        # Which of the words is the script and which are files depends on options: all of them may be files.
        return WriteEffect(operands)
    if name == "dd":
        return WriteEffect(tuple(word[3:] for word in words if word.startswith("of=")))
    if name in ("tar", "gtar"):
        extracts = any("x" in word.lstrip("-") for word in words[:1]) or "--extract" in words
        return WriteEffect(_option_values(words, ("-f", "--file")), extracts)
    if name == "git":
        return _effect_of_git(words)
    return WriteEffect(_option_values(words, _OUTPUTS.get(name, ())))


def _edited(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that an editor opens, without its commands and option values."""
    told = {at + 1 for at, word in enumerate(words) if word in _TOLD}
    return tuple(word for at, word in enumerate(words) if at not in told and not word.startswith(("-", "+")))


def _effect_of_git(words: tuple[str, ...]) -> WriteEffect:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1
    verb, rest = (words[at], words[at + 1 :]) if at < len(words) else ("", ())
    if verb in _GIT_PATHS:
        return WriteEffect(_operand_words(rest))
    if verb in _GIT_LOOKS and rest[:1] and rest[0] in _GIT_LOOKS[verb]:
        return WriteEffect()
    if verb in _GIT_ANYTHING:
        return WriteEffect(_git_written(verb, rest), True)
    return WriteEffect(_option_values(rest, _OUTPUTS["git"]))


def _git_written(verb: str, rest: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that may name files; for most git commands the others are commits, and HEAD always is."""
    if "--" in rest:
        return tuple(rest[rest.index("--") + 1 :])
    if verb in _GIT_COMMITS:
        return ()
    return tuple(word for word in _operand_words(rest) if word not in ("HEAD", "@"))


def _is_in_place_option(word: str) -> bool:
    if word.startswith("--"):
        return "--in-place".startswith(word.partition("=")[0]) and len(word) > 3
    # Letters before the i take no value that could hold one: -ni, -Ei.bak, -pi.
    return word.startswith("-") and "i" in word[1:].partition("e")[0].partition("f")[0]


def _operand_words(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that are not options; after `--` all of them."""
    if "--" in words:
        at = words.index("--")
        return (*(word for word in words[:at] if not word.startswith("-")), *words[at + 1 :])
    return tuple(word for word in words if not word.startswith("-"))


def _option_values(words: tuple[str, ...], options: tuple[str, ...]) -> tuple[str, ...]:
    """Return the values of these options, joined or as the next word."""
    found: list[str] = []
    for at, word in enumerate(words):
        for option in options:
            if word == option:
                found += words[at + 1 : at + 2]
            elif option.startswith("--") and word.startswith(f"{option}="):
                found.append(word[len(option) + 1 :])
            elif not option.startswith("--") and word.startswith(option) and len(word) > len(option):
                found.append(word[len(option) :])
    return tuple(found)
