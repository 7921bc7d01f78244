"""Which files a command line writes, as far as its words tell: for rules about paths, and for edits without a task.

It is a list of those that are known, not of all: what an interpreter or a build does is not told by its words. Those
are asked about for what they are.
"""

from typing import NamedTuple


class Effect(NamedTuple):
    """`paths` as they are spelled; `anything` where files are written that the words do not name."""

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


def effect(argv: tuple[str, ...]) -> Effect:
    """Return what a command line writes."""
    found = _of(argv)
    name = argv[0].rpartition("/")[2] if argv else ""
    if name in _WRAPPERS:
        parts = [_of(argv[at:]) for at in range(1, min(len(argv), 64))]
        paths = tuple(path for part in (found, *parts) for path in part.paths)
        # What it is handed besides, from a pipe or by a search, is named nowhere.
        fed = any(word.rpartition("/")[2] in _WRITERS for word in argv[1:]) or "-delete" in argv
        return Effect(tuple(dict.fromkeys(paths)), fed or found.anything or any(part.anything for part in parts))
    return found


def _of(argv: tuple[str, ...]) -> Effect:
    if not argv:
        return Effect()
    name, words = argv[0].rpartition("/")[2], argv[1:]
    operands = _operands(words)
    if name in _ANYTHING:
        return Effect(operands, True)
    if name in _ALL or name in _MOVES:
        return Effect((*operands, *_valued(words, ("-t", "--target-directory"))))
    if name in _LAST:
        return Effect((*operands[-1:], *_valued(words, ("-t", "--target-directory"))))
    if name in _AFTER_FIRST:
        return Effect(operands[1:])
    if name in _IN_PLACE and any(_is_in_place(word) for word in words):
        # Which of the words is the script and which are files depends on options: all of them may be files.
        return Effect(operands)
    if name == "dd":
        return Effect(tuple(word[3:] for word in words if word.startswith("of=")))
    if name in ("tar", "gtar"):
        extracts = any("x" in word.lstrip("-") for word in words[:1]) or "--extract" in words
        return Effect(_valued(words, ("-f", "--file")), extracts)
    if name == "git":
        return _git(words)
    return Effect(_valued(words, _OUTPUTS.get(name, ())))


def _git(words: tuple[str, ...]) -> Effect:
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1
    verb, rest = (words[at], words[at + 1 :]) if at < len(words) else ("", ())
    if verb in _GIT_PATHS:
        return Effect(_operands(rest))
    if verb in _GIT_ANYTHING:
        return Effect(_operands(rest) if "--" not in rest else tuple(rest[rest.index("--") + 1 :]), True)
    return Effect(_valued(rest, _OUTPUTS["git"]))


def _is_in_place(word: str) -> bool:
    if word.startswith("--"):
        return "--in-place".startswith(word.partition("=")[0]) and len(word) > 3
    # Letters before the i take no value that could hold one: -ni, -Ei.bak, -pi.
    return word.startswith("-") and "i" in word[1:].partition("e")[0].partition("f")[0]


def _operands(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words that are no options; after `--` all are."""
    if "--" in words:
        at = words.index("--")
        return (*(word for word in words[:at] if not word.startswith("-")), *words[at + 1 :])
    return tuple(word for word in words if not word.startswith("-"))


def _valued(words: tuple[str, ...], options: tuple[str, ...]) -> tuple[str, ...]:
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
