"""Decides whether a git command shows file contents, and of which paths. Pure.

A command not known to show only names is taken to show everything: an unlisted option, an alias, an object id.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from gitnexus.policy.programs import first_subcommand

# These show no file unless a word of `_PATCHES` is given.
_SILENT = frozenset(
    "add am apply bisect branch check-attr check-ignore checkout cherry cherry-pick clean commit commit-tree config "
    "count-objects describe fetch for-each-ref gc hash-object help init ls-files ls-remote ls-tree merge merge-base mv "
    "name-rev nexus pull push rebase remote reset restore rev-list rev-parse revert rm shortlog show-branch show-ref "
    "sparse-checkout stash status submodule switch symbolic-ref tag update-index update-ref var verify-commit "
    "verify-tag version worktree write-tree".split()
)
_LISTS = frozenset(("log", "reflog", "whatchanged"))
_SHOWS = frozenset(("diff", "show", "diff-tree", "diff-index", "diff-files"))
_OTHERS = frozenset(
    "annotate archive blame bundle cat-file checkout-index clone difftool diff-pairs fast-export fast-import "
    "filter-branch format-patch fsck grep instaweb interpret-trailers mailinfo merge-file merge-tree mergetool notes "
    "pack-objects pack-refs patch-id prune range-diff read-tree repack replace rerere send-email show-index "
    "stripspace unpack-file unpack-objects lfs maintenance multi-pack-index backfill refs hook".split()
)
_PATCHES = ("--patch", "--show-current-patch", "--blob")
_LOUD_WORDS = {"status": ("--verbose",), "commit": ("--verbose", "--interactive"), "add": ("--interactive", "--edit")}
_LOUD_LETTERS = {
    "status": "v",
    "commit": "vp",
    "add": "pie",
    **dict.fromkeys("checkout reset restore stash".split(), "p"),
}
# Options of log, show and diff that limit output to names, numbers and messages.
_NAMES = frozenset("--stat --shortstat --numstat --name-only --name-status --no-patch -s --summary --raw".split())
_PLAIN = frozenset(
    "-- --oneline --graph --all --branches --tags --remotes --decorate --no-decorate --format --pretty --abbrev-commit "
    "--no-abbrev-commit --abbrev --date --author --committer --grep --since --after --until --before --max-count "
    "--skip --reverse --merges --no-merges --first-parent --topo-order --date-order --no-color --color --no-pager "
    "--cached --staged --no-renames --no-ext-diff --no-textconv --exit-code --quiet --left-right --cherry-pick "
    "--show-signature --simplify-by-decoration --diff-filter --relative-date --no-notes --no-walk -i -z -r -M -q "
    "-n".split()
)
# These are compiled when a word is first compared with one: the gate loads this module before commands of all kinds.
_NUMBER = r"-n?[0-9]+"
_LINES = r"-p|-u|--patch|(?:-U|--unified=)[0-9]+|-w|-b"
_BLAMES = r"-L.*|-[bceflnpstw]+|-[MC]+[0-9]*|--(?:line-)?porcelain|--date=.*"
_KNOWN_COMMIT = r"(?:HEAD|@)(?:[~^][0-9]*)*(?:\.\.\.?(?:(?:HEAD|@)(?:[~^][0-9]*)*)?)?"
_OBJECT = r"[0-9a-fA-F]{4,64}(?:[~^:].*)?"
_SAFE_SETTINGS = ("color.", "user.", "advice.", "core.pager=", "core.quotepath=", "commit.gpgsign=", "init.")


def shows_files(argv: Sequence[str]) -> bool:
    """True for a git command that may show file contents."""
    verb, words = split_verb(argv)
    if verb is None:
        return False
    if _has_settings(argv[: len(argv) - len(words)]):
        return True
    if verb in _LISTS or (verb == "stash" and "list" in words):
        return not all(_is_quiet(word) for word in _option_words(words)) or "show-patch" in words
    if verb in _SHOWS or (verb == "stash" and "show" in words):
        return _may_show(verb, words)
    return verb not in _SILENT or _is_loud(verb, words)


def is_quiet_verb(argv: Sequence[str]) -> bool:
    """True for a git command that never shows a file."""
    verb = first_subcommand(argv)
    if verb == "commit":
        return not any(word.startswith("--d") for word in argv)  # --dry-run is what prints
    return verb in _SILENT and verb not in _LOUD_LETTERS and verb not in ("bisect", "worktree", "for-each-ref", "am")


def is_known_verb(verb: str) -> bool:
    """True for a command of git itself, not an alias."""
    return verb in _SILENT or verb in _LISTS or verb in _SHOWS or verb in _OTHERS


def paths_shown_by(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the only paths whose files a git command can show, empty if that is uncertain."""
    verb, words = split_verb(argv)
    if verb not in ("log", "diff", "blame", "annotate"):
        return ()
    if verb in ("blame", "annotate"):
        is_known = all(re.fullmatch(_BLAMES, word) for word in _option_words(words))
        return tuple(words[-1:]) if is_known and words and _is_plain_path(words[-1]) else ()
    if not all(_is_quiet(word) or re.fullmatch(_LINES, word) for word in _option_words(words)):
        return ()
    at = words.index("--") if "--" in words else len(words)
    before, paths = [word for word in words[:at] if not word.startswith("-")], tuple(words[at + 1 :])
    if "--" not in words:
        paths = tuple(word for word in before if not re.fullmatch(_KNOWN_COMMIT, word))
    elif verb == "diff" and not all(re.fullmatch(_KNOWN_COMMIT, word) for word in before):
        return ()
    return paths if all(map(_is_plain_path, paths)) else ()


def takes_in(argv: Sequence[str]) -> bool:
    """True for a git command that takes the content of files into the index or a commit."""
    return split_verb(argv)[0] in ("add", "commit")


def split_verb(argv: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """Return the subcommand of a git command, None without one, and the words after it."""
    verb = first_subcommand(argv)
    return verb, argv[list(argv).index(verb, 1) + 1 :] if verb is not None else ()


def _option_words(words: Sequence[str]) -> list[str]:
    at = list(words).index("--") if "--" in words else len(words)
    return [word for word in words[:at] if word.startswith("-")]


def _has_settings(before: Sequence[str]) -> bool:
    """True if a given setting could turn this into another command."""
    values = [after for word, after in pairwise(before) if word == "-c"]
    return any(word.startswith("--config-env") for word in before) or not all(
        value.lower().startswith(_SAFE_SETTINGS) for value in values
    )


def _is_quiet(word: str) -> bool:
    stem = word.partition("=")[0]
    return stem in _NAMES or stem in _PLAIN or re.fullmatch(_NUMBER, word) is not None


def _may_show(verb: str, words: Sequence[str]) -> bool:
    """True unless an option limits output to names, none reverts that, and no object is named."""
    options = _option_words(words)
    if not any(word.partition("=")[0] in _NAMES for word in options) or not all(map(_is_quiet, options)):
        return True
    named = [word for word in words if not word.startswith("-") and verb == "show"]
    return not all(re.fullmatch(_KNOWN_COMMIT, word) for word in named)


def _is_loud(verb: str, words: Sequence[str]) -> bool:
    """True for a command that normally shows no file, with a word that makes it do so."""
    options = _option_words(words)
    long = (*_PATCHES, *_LOUD_WORDS.get(verb, ()))
    if any(len(word) > 3 and any(one.startswith(word.partition("=")[0]) for one in long) for word in options):
        return True
    letters = _LOUD_LETTERS.get(verb, "")
    if any(letter in word for word in options if word[1:2] != "-" for letter in letters):
        return True
    # A worktree copies every file to where no rule looks; a ref may name a file.
    if (verb == "worktree" and "add" in words) or "%(raw" in " ".join(words):
        return True
    if verb == "bisect":
        return "view" in words or "visualize" in words
    return verb in ("checkout", "restore", "reset") and _takes_tree(verb, words)


def _takes_tree(verb: str, words: Sequence[str]) -> bool:
    """True for files taken from a tree given only by its id, which may be any folder."""
    named = [word for word in words if not word.startswith("-")]
    sources = [word.partition("=")[2] for word in words if word.startswith("--so")]
    many = verb == "restore" or len(named) > 1
    return many and any(re.fullmatch(_OBJECT, word) or ":" in word for word in (*named, *sources))


def _is_plain_path(word: str) -> bool:
    return bool(word) and word[0] not in ":-" and not any(mark in word for mark in "*?[\\")
