"""Runs git as a child process with an argument list, a clean environment, and bytes for input and output."""

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from gitnexus.base.errors import Failed, NexusError
from gitnexus.base.text import one_line
from gitnexus.git.lock_notes import UNREMOVED, remove_left_locks

# Nothing that an agent can write into a repository may make our own git run a program or see other objects:
# no hooks, no fsmonitor, no check of signatures, no replace refs, no lazy fetch, no prompts.
QUIET = (
    "-c", "core.hooksPath=/dev/null",
    "-c", "hook.reference-transaction.enabled=false",  # config hooks of git 2.54 do not heed hooksPath
    "-c", "core.fsmonitor=false",
    "-c", "log.showSignature=false",  # gpg.program is anybody's who can write the config
    "-c", "gc.auto=0",
)  # fmt: skip
_FIXED = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "C",
}


class GitFailed(NexusError):
    """Git failed; the message contains git's own error."""

    name = "E_GIT"


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without any inherited GIT_* variable."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **_FIXED, **(extra or {})}


def spawn_git(argv: list[str], cwd: Path | None, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start git with pipes for stdin, stdout and stderr."""
    try:
        return subprocess.Popen(
            ["git", *argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env=env,
        )
    except FileNotFoundError as exc:
        raise _git_start_error(cwd) from exc


def run_git(
    *argv: str,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    quiet: bool = True,
    seconds: float | None = None,
) -> "subprocess.CompletedProcess[bytes]":
    """Run git to its end and return its status and output; the caller checks the status.

    `quiet` is off only to find out which hooks the user's own git would run. After `seconds` git is stopped with status
    124.
    """
    where = [f"--git-dir={git_dir}"] if git_dir else []
    since = time.time()
    try:
        done = subprocess.run(
            ["git", *(QUIET if quiet else ()), *where, *argv],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=clean_environment(env),
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as exc:
        return subprocess.CompletedProcess(exc.cmd, 124, b"", b"it took too long")
    except FileNotFoundError as exc:
        raise _git_start_error(cwd) from exc
    if UNREMOVED in done.stderr:
        remove_left_locks(cwd or Path.cwd(), done.stderr, since)
    return done


def run_git_or_raise(*argv: str, git_dir: Path | None = None, cwd: Path | None = None, stdin: bytes = b"") -> bytes:
    """Run quiet git and return its output. Raises: GitFailed."""
    done = run_git(*argv, git_dir=git_dir, cwd=cwd, stdin=stdin)
    if done.returncode != 0:
        raise GitFailed(f"git {argv[0]} failed: {git_error_line(done.stderr)}")
    return done.stdout


def git_error_line(stderr: bytes) -> str:
    """Return git's error message as one plain line."""
    text = stderr.decode("utf-8", "replace").strip()
    first = text.splitlines()[0] if text else "no reason given"
    return one_line(first.removeprefix("fatal: ").removeprefix("error: "), 300)


def is_lock_held(stderr: bytes) -> bool:
    """Return True if git failed because a lock file exists; False if it could not create one."""
    words = (b".lock': File exists", b"/packed-refs.new: File exists", b"data is locked")
    return any(word in line for line in stderr.splitlines() for word in words)


def _git_start_error(cwd: Path | None) -> Failed:
    if cwd is not None and not cwd.is_dir():
        return Failed(f"there is no folder {cwd}")
    return Failed("git is not on PATH", hint="install git 2.34 or newer")
