"""Built-in refusals: requests that are denied before any rule is applied."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from gitnexus.base.text import one_line
from gitnexus.policy import builtin, programs
from gitnexus.policy.compiled_rules import LEVELS, CompiledPolicy
from gitnexus.policy.facts import EXECUTABLE, SUBMODULE, SYMLINK, link_escape
from gitnexus.policy.model import CommandRequest, DocumentRequest, HandoffRequest, PatchRequest, PatchRow, Request
from gitnexus.policy.parts import CommandPart, folder_words, parts_of_command
from gitnexus.policy.paths import enters_git, fold_path, has_stream, is_usual_path, why_path_odd
from gitnexus.policy.shell import TooMuch
from gitnexus.policy.word_paths import ANY_FILE, paths_from_top, paths_in_word

MOST_WORDS, MOST_BYTES, MOST_WRAPPED = 4096, 128 * 1024, 256
_MODES = ("", "100644", EXECUTABLE, SYMLINK, SUBMODULE)
_BROKEN = re.compile("[\x00\ud800-\udfff]")
_UNRESOLVED = re.compile(r"/\.{1,2}(?:/|$)", re.MULTILINE)
Refusal = tuple[str, str]

# The purpose of each built-in refusal; a test compares the reference page with it.
REFUSALS: dict[str, str] = {
    "builtin.request": "a request that does not say its project, its run or what it is about",
    "builtin.path": "a path with `..`, `//`, `~`, control characters or another spelling of what it means",
    "builtin.git": "`.git` in any spelling, at any depth",
    "builtin.git-shape": "a file by which git would take a folder for a repository, a hook or a config, anywhere",
    "builtin.stream": "a path with a colon: an NTFS stream, or a drive",
    "builtin.nexus": "files in `.nexus/`",
    "builtin.secret": "a file that holds secrets by its name or place",
    "builtin.link": "a symbolic link that leaves the repository, or leads to what is refused itself",
    "builtin.mode": "a kind of file that git does not have",
    "builtin.collision": "two paths that are the same on some file systems",
    "builtin.argv": "a command that is empty, too long, or holds a NUL or an unpaired surrogate",
    "builtin.program": "a program or a folder that is not resolved to an absolute path",
    "builtin.environment": "a variable that makes a loader, an interpreter or git do something else",
    "builtin.git-executes": "a git option that runs another program",
    "builtin.sandbox": "less confinement than the policy's minimum",
}


def builtin_refusal(request: Request, policy: CompiledPolicy) -> Refusal | None:
    """Return the built-in rule that refuses `request` and the reason, or None."""
    if not request.project or not request.run:
        return "builtin.request", "it does not say to which project and run it belongs"
    if isinstance(request, PatchRequest):
        return _patch_refusal(request)
    if isinstance(request, CommandRequest):
        return _argv_refusal(request) or _command_refusal(request, policy)
    if isinstance(request, DocumentRequest):
        odd = why_path_odd(request.path)
        return ("builtin.path", f"{one_line(request.path, 80)}: {odd}") if odd else None
    if isinstance(request, HandoffRequest) and not (request.sender and request.receiver):
        return "builtin.request", "a handoff needs a sender and a receiver"
    return None


def _patch_refusal(request: PatchRequest) -> Refusal | None:
    for change in request.changes:
        found = _change_refusal(change)
        if found is not None:
            return found[0], f"{one_line(change.path, 80)}: {found[1]}"
    if len(request.changes) > 1 and len({fold_path(row.path) for row in request.changes}) != len(request.changes):
        return "builtin.collision", "two of its paths are the same on a file system that ignores case or accents"
    return None


def _change_refusal(change: PatchRow) -> Refusal | None:
    found = None if is_usual_path(change.path) and builtin.is_plain(change.path) else _path_refusal(change.path)
    if found is not None:
        return found
    if change.new_mode not in _MODES or change.old_mode not in _MODES:
        return "builtin.mode", "git has no such kind of file"
    escape = link_escape(change)
    return ("builtin.link", escape) if escape else None


def _path_refusal(path: str) -> Refusal | None:
    odd = why_path_odd(path)
    if odd:
        return "builtin.path", odd
    if enters_git(path):
        return "builtin.git", "agents must not write into .git"
    if has_stream(path):
        return "builtin.stream", "it names a stream or a drive"
    if builtin.is_ours(path):
        return "builtin.nexus", "only commands of git nexus write there"
    secret = builtin.secret_pattern_for(path)
    return ("builtin.secret", f"{secret} holds secrets") if secret else None


def _argv_refusal(request: CommandRequest) -> Refusal | None:
    argv = request.argv
    if not argv or not argv[0]:
        return "builtin.argv", "it names no program"
    whole = "".join(argv)
    if len(argv) > MOST_WORDS or len(whole) > MOST_BYTES:
        return "builtin.argv", "it is too long to be examined"
    if programs.program_name(argv[0]) in programs.WRAPPERS and len(argv) > MOST_WRAPPED:
        return "builtin.argv", "it runs another program, and is too long to see which"
    if _BROKEN.search(whole):
        return "builtin.argv", "a word holds a NUL or an unpaired surrogate"
    try:
        parts_of_command(argv, request.cwd)
    except TooMuch:
        return "builtin.argv", "the text that it hands to a shell is too long or too deep to be examined"
    return None


def _command_refusal(request: CommandRequest, policy: CompiledPolicy) -> Refusal | None:
    if not request.program.startswith("/") or not request.cwd.startswith("/"):
        return "builtin.program", "program and folder should be absolute and resolved"
    if _UNRESOLVED.search(f"{request.program}\n{request.cwd}"):
        return "builtin.program", "program and folder should be resolved"
    for name, value in request.env.items():
        bad = builtin.why_bad_variable(name, value)
        if bad:
            return "builtin.environment", f"{one_line(name, 40)}: {bad}"
    if len({name.upper() for name in request.env}) != len(request.env):
        return "builtin.environment", "one name occurs twice, in different letter case"
    found = _parts_refusal(parts_of_command(request.argv, request.cwd))
    if found is not None:
        return found
    if LEVELS.index(request.sandbox) < LEVELS.index(policy.minimum):
        return "builtin.sandbox", f"the policy asks for at least {policy.minimum}, this would be {request.sandbox}"
    return None


def _parts_refusal(parts: Sequence[CommandPart]) -> Refusal | None:
    for part in parts:
        option = programs.executes_by_option(part.argv) if part.argv and part.argv[0] else None
        if option:
            return "builtin.git-executes", f"{one_line(option, 40)} makes git run another program"
        for word in (*part.argv[1:], *part.reads):
            secret = _secret_word(word)
            if secret:
                return "builtin.secret", f"{one_line(word, 80)} names a file that {secret} keeps secret"
    return None


@lru_cache(maxsize=4096)
def _secret_word(word: str) -> str | None:
    """Return the built-in pattern that makes a file named by `word` secret, or None.

    Those patterns match at any depth, so the command's folder does not matter.
    """
    return next((secret for path in _possible_paths(word) if (secret := builtin.secret_pattern_for(path))), None)


def paths_in_parts(parts: Sequence[CommandPart], worktree: str) -> Iterator[tuple[str, str]]:
    """Yield the words of commands that may name a file or folder, each with the paths that it may mean.

    Paths are given as written, and relative to the top of the worktree. A word that may name a folder stands for its
    content, and so does the folder in which a command runs.
    """
    for part in parts:
        folders = set(folder_words(part.argv)) if part.argv else set()
        for folder in part.folders:
            for word in (*part.argv[1:], *part.reads):
                for path in _possible_paths(word):
                    for one in paths_from_top(folder, worktree, path):
                        yield word, one
                        if word in folders:
                            yield word, f"{one}/{ANY_FILE}"
        for folder in part.folders:
            if worktree and folder.startswith(worktree.rstrip("/") + "/"):
                yield folder, f"{folder[len(worktree.rstrip('/')) + 1 :]}/{ANY_FILE}"


@lru_cache(maxsize=4096)
def _possible_paths(word: str) -> tuple[str, ...]:
    """Return the paths that a word may mean: itself, the value of an option, what follows a revision."""
    return (word,) if is_usual_path(word) and word[0] != "@" else paths_in_word(word)
