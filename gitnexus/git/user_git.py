"""Runs the user's own git in the user's own checkout, with their config, hooks and editor, for what they asked for."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.git.child import GitFailed, git_error_line
from gitnexus.git.discovery import Repo
from gitnexus.git.lock_notes import UNREMOVED, remove_left_locks

# Where a hook or an outer git put us must not become where we work.
_PLACES = frozenset((
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_PREFIX", "GIT_QUARANTINE_PATH", "GIT_LITERAL_PATHSPECS",
))  # fmt: skip
_UNDER_WAY = {
    "MERGE_HEAD": "a merge", "CHERRY_PICK_HEAD": "a cherry-pick", "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase", "rebase-apply": "a rebase",
}  # fmt: skip


def run_user_git(
    place: Path, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[bytes]":
    """Run the user's git to its end without opening an editor. The caller checks the status."""
    fixed = {"LC_ALL": "C.UTF-8", "LANGUAGE": "C", "GIT_EDITOR": "true", "GIT_MERGE_AUTOEDIT": "no"}
    since = time.time()
    try:
        done = subprocess.run(
            ["git", *argv],
            cwd=place,
            input=stdin,
            capture_output=True,
            check=False,
            env={**_user_environment(), **fixed, **(env or {})},
        )
    except FileNotFoundError as exc:
        raise Failed("git is not on PATH", hint="install git 2.34 or newer") from exc
    if UNREMOVED in done.stderr:
        remove_left_locks(place, done.stderr, since)
    return done


def editor_command(place: Path) -> str:
    """Return the editor that git would open here: GIT_EDITOR, core.editor, VISUAL, EDITOR, in that order.

    Raises: Failed if none is set.
    """
    asked = subprocess.run(
        ["git", "var", "GIT_EDITOR"], cwd=place, env=_user_environment(), capture_output=True, check=False
    )
    found = asked.stdout.decode("utf-8", "surrogateescape").rstrip("\n")
    if asked.returncode != 0 or not found:
        raise Failed(
            f"git knows no editor: {git_error_line(asked.stderr)}", hint="git config --global core.editor NAME"
        )
    return found


def open_in_editor(place: Path, file: Path) -> None:
    """Open a file in the user's editor on the terminal and wait until it is closed. Raises: Failed."""
    words = editor_command(place)
    # As git starts it: a shell reads the words, the file comes after them. Output may be a pipe; the terminal is not.
    argv = ["sh", "-c", f'{words} "$@"', words, str(file)]
    with subprocess.Popen(argv, cwd=place, env=_user_environment(), stdout=sys.stderr.fileno()) as going:
        while True:
            try:
                status = going.wait()
                break
            except KeyboardInterrupt:
                continue  # the editor has it too, and knows what it means there
    if status != 0:
        raise Failed(f"the editor {one_line(words, 80)} failed with {status}")


def _user_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _PLACES}


def run_user_git_or_raise(place: Path, *argv: str, stdin: bytes = b"", env: Mapping[str, str] | None = None) -> bytes:
    """Run the user's git and return its output. Raises: GitFailed."""
    done = run_user_git(place, *argv, stdin=stdin, env=env)
    if done.returncode != 0:
        raise GitFailed(f"git {argv[0]} failed: {git_error_line(done.stderr or done.stdout)}")
    return done.stdout


def operation_under_way(repo: Repo) -> str | None:
    """Return the operation (merge, rebase, …) that the checkout is in the middle of, or None."""
    for name, words in _UNDER_WAY.items():
        if (repo.git_dir / name).exists():
            return words
    return None


def uncommitted_paths(place: Path) -> tuple[set[str], set[str]]:
    """Return the tracked paths that differ from HEAD, and those of them that are staged."""
    argv = ("status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames")
    # Killed while it writes down which files are unchanged, it would leave the lock of the index.
    fields = run_user_git_or_raise(place, *argv, env={"GIT_OPTIONAL_LOCKS": "0"}).split(b"\0")[:-1]
    changed = {os.fsdecode(row[3:]) for row in fields}
    return changed, {os.fsdecode(row[3:]) for row in fields if row[:1] not in (b" ", b"?")}


def create_user_commit(place: Path, tree: str, parent: str, message: str, author: Mapping[str, str]) -> str:
    """Return a commit made by the user's git, signed if they sign commits; no ref moves. Raises: GitFailed."""
    asked = run_user_git(place, "config", "--type=bool", "--get", "commit.gpgSign")
    sign = ["-S"] if asked.stdout.strip() == b"true" else []
    made = run_user_git_or_raise(
        place,
        "-c",
        "i18n.commitEncoding=UTF-8",
        "commit-tree",
        *sign,
        "-p",
        parent,
        "-F",
        "-",
        tree,
        stdin=message.encode(),
        env=author,
    )
    return made.decode("ascii").strip()
