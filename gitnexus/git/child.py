"""Git as a child process: a list of arguments, a clean environment, bytes in and out."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from gitnexus.base.errors import Failed, NexusError

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
    """Git refused; its own words are in the message."""

    name = "E_GIT"


def clean_environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return this process's environment without any inherited GIT_* variable."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **_FIXED, **(extra or {})}


def spawn(argv: list[str], cwd: Path | None, env: dict[str, str]) -> "subprocess.Popen[bytes]":
    """Start git with pipes on all three sides."""
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
        raise _not_startable(cwd) from exc


def run(
    *argv: str,
    git_dir: Path | None = None,
    cwd: Path | None = None,
    stdin: bytes = b"",
    env: Mapping[str, str] | None = None,
    quiet: bool = True,
) -> "subprocess.CompletedProcess[bytes]":
    """Run git to its end and return status and output; the caller judges the status.

    Not `quiet` only to ask which hooks the user's own git would run.
    """
    where = [f"--git-dir={git_dir}"] if git_dir else []
    try:
        return subprocess.run(
            ["git", *(QUIET if quiet else ()), *where, *argv],
            input=stdin,
            capture_output=True,
            check=False,
            cwd=cwd,
            env=clean_environment(env),
        )
    except FileNotFoundError as exc:
        raise _not_startable(cwd) from exc


def must(*argv: str, git_dir: Path | None = None, cwd: Path | None = None, stdin: bytes = b"") -> bytes:
    """Run quiet git and return its output. Raises: GitFailed."""
    done = run(*argv, git_dir=git_dir, cwd=cwd, stdin=stdin)
    if done.returncode != 0:
        raise GitFailed(f"git {argv[0]} failed: {reason(done.stderr)}")
    return done.stdout


def reason(stderr: bytes) -> str:
    """Return git's complaint as one plain line."""
    from gitnexus.base.text import one_line

    text = stderr.decode("utf-8", "replace").strip()
    first = text.splitlines()[0] if text else "no reason given"
    return one_line(first.removeprefix("fatal: ").removeprefix("error: "), 300)


def _not_startable(cwd: Path | None) -> Failed:
    if cwd is not None and not cwd.is_dir():
        return Failed(f"there is no folder {cwd}")
    return Failed("git is not to be found on PATH", hint="install git 2.34 or newer")
