"""Lists, fetches and pushes refs of a remote with the user's own git: their transport, config and credentials."""

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from gitnexus.base.errors import Failed
from gitnexus.base.text import one_line
from gitnexus.git.checkout import mend_worktree_heads
from gitnexus.git.child import GitFailed, clean_environment, git_error_line, is_lock_held
from gitnexus.git.discovery import Repo
from gitnexus.git.disk_errors import disk_error, with_disk_error
from gitnexus.git.lock_notes import UNREMOVED, note_left_locks, noted_ref_change
from gitnexus.git.locks import break_server_locks

# How people choose their transport and their config; a hook's GIT_DIR and GIT_INDEX_FILE are not among them.
_TRANSPORT = (
    "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM", "GIT_PROXY_COMMAND", "GIT_SSH",
    "GIT_SSH_COMMAND", "GIT_SSH_VARIANT", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_SSL_NO_VERIFY",
)  # fmt: skip
_ASK_SECONDS = 60
# A command line holds 2 MiB on Linux and 1 MiB on a Mac; a ref with its lease takes at most some 300 bytes.
_MOST_AT_ONCE = 2500
_PASSWORD = re.compile(r"://[^/@]*@")
_LONGEST = 1800
# A server may try to fill the machine: data is written to one file whose size is watched, and not held in memory.
_BOUNDED = ("-c", "core.bigFileThreshold=16m", "-c", "fetch.unpackLimit=1")
# No hooks of the user's for our own refs: a pre-push that runs the tests is about their branches, and ours syncs.
_PUSH = ("push", "--porcelain", "--no-verify", "--no-follow-tags", "--recurse-submodules=no")
_FETCH = ("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap=", "--no-filter", "--stdin",
          "--no-recurse-submodules", "--no-auto-maintenance", "--force")  # fmt: skip
_BEHIND = ("fetch first", "non-fast-forward", "stale info", "already exists", "failed to update ref",
           "cannot lock ref", "incorrect old value", "failed to lock", "remote ref updated since checkout",
           "reference already exists", "atomic push fail", "transaction failed")  # fmt: skip


class RemoteUnreachable(GitFailed):
    """The remote did not answer, or its answer was not that of a git server."""


class RefUpdate(NamedTuple):
    """An update of a ref on the remote; `new` None deletes it. With `expected`, only if that is its current value.

    An empty `expected` means that the ref must not exist; None leaves the check to git, which only fast-forwards.
    """

    ref: str
    new: str | None
    expected: str | None = None


class PushOutcome(NamedTuple):
    """The result of one ref update. Only `behind` is worth a retry: the remote has something newer.

    `disk` is the error of the server's disk, if that kept it from storing what was pushed.
    """

    kind: Literal["done", "same", "behind", "refused"]
    why: str = ""
    disk: str = ""


def list_remote_refs(repo: Repo, remote: str, patterns: Sequence[str]) -> dict[str, str]:
    """Return the refs of a remote that begin with one of `patterns`, with their ids. Raises: RemoteUnreachable."""
    asked = [one if not one.endswith("/") else f"{one}*" for one in patterns]
    done = _run_transfer(repo, ["ls-remote", "--quiet", "--refs", "--", remote, *asked], seconds=_ASK_SECONDS)
    if done.returncode != 0:
        raise RemoteUnreachable(
            f"{remote_without_password(remote)} cannot be asked: {git_error_line(done.stderr)}",
            hint="git remote -v shows where it is; git ls-remote asks it the same",
        )
    found = {}
    for line in done.stdout.decode("utf-8", "replace").splitlines():
        oid, _, ref = line.partition("\t")
        if any(ref == one or (one.endswith("/") and ref.startswith(one)) for one in patterns):
            found[ref] = oid
    return found


def fetch_remote_refs(repo: Repo, remote: str, refs: Mapping[str, str], *, most: int, whole: bool = False) -> None:
    """Fetch refs of a remote into local refs: source → target. Refuses more than `most` bytes.

    `whole` also fetches the history that a shallow clone lacks. Raises: RemoteUnreachable, Failed.
    """
    if not refs:
        return
    mend_worktree_heads(repo)  # a HEAD that names no object makes every fetch fail
    argv = [*_BOUNDED, *_FETCH, *(["--depth=2147483647"] if whole else []), "--", remote]
    text = "".join(f"+{source}:{target}\n" for source, target in refs.items())
    with noted_ref_change(repo.common_dir) as note:
        done = _run_transfer(repo, argv, stdin=text.encode(), most=most)
        note.note_end(done)
    if done.returncode != 0 and is_lock_held(done.stderr):
        from gitnexus.git.locks import break_named_locks  # only where a lock is in the way

        if break_named_locks(repo.common_dir, done.stderr):
            done = _run_transfer(repo, argv, stdin=text.encode(), most=most)
    if done.returncode != 0:
        words = f"fetching from {remote_without_password(remote)} failed: {git_error_line(done.stderr)}"
        raise RemoteUnreachable(with_disk_error(words, done.stderr, repo.common_dir))


def push_ref_updates(
    repo: Repo, remote: str, orders: Sequence[RefUpdate], *, atomic: bool = False
) -> dict[str, PushOutcome]:
    """Push refs, never by force: the remote's own check of the old value decides. Raises: RemoteUnreachable.

    More than one command line holds goes in several pushes, unless it is `atomic`.
    """
    if not atomic and len(orders) > _MOST_AT_ONCE:
        first = push_ref_updates(repo, remote, orders[:_MOST_AT_ONCE])
        return first | push_ref_updates(repo, remote, orders[_MOST_AT_ONCE:])
    if not orders:
        return {}
    leases = [f"--force-with-lease={one.ref}:{one.expected}" for one in orders if one.expected is not None]
    specs = [f"{one.new or ''}:{one.ref}" for one in orders]
    argv = [*_PUSH, *(["--atomic"] if atomic else []), *leases, "--", remote, *specs]

    with noted_ref_change(repo.common_dir) as note:  # a push also moves the remote's branches as they are known here
        done = _run_transfer(repo, argv)
        note.note_end(done)
    found = _parse_push_output(done.stdout.decode("utf-8", "replace"))
    if is_lock_held(done.stderr):
        words = break_server_locks(done.stderr)
        found = {ref: PushOutcome(one.kind, words if one.kind == "behind" else one.why) for ref, one in found.items()}
    missing = [one.ref for one in orders if one.ref not in found]
    if missing:
        words = f"pushing to {remote_without_password(remote)} failed: {git_error_line(done.stderr)}"
        raise RemoteUnreachable(with_disk_error(words, done.stderr, repo.common_dir))
    refused = any(one.kind == "refused" for one in found.values())
    # Where the server does not say why it could not write, and is on this machine, its disk may be ours.
    reason = disk_error(done.stderr + done.stdout, repo.common_dir) if refused else ""
    return {ref: one._replace(disk=reason) if one.kind == "refused" else one for ref, one in found.items()}


def remote_without_password(remote: str) -> str:
    """Return a remote's name or URL without the password, for display."""
    return one_line(_PASSWORD.sub("://", remote), 120)


def _parse_push_output(text: str) -> dict[str, PushOutcome]:
    found = {}
    for line in text.splitlines():
        fields = line.split("\t")
        if len(fields) != 3:
            continue
        flag, spec, summary = fields
        ref = spec.rpartition(":")[2]
        if flag == "=":
            found[ref] = PushOutcome("same")
        elif flag != "!":
            found[ref] = PushOutcome("done")
        else:
            behind = any(word in summary for word in _BEHIND)
            found[ref] = PushOutcome("behind" if behind else "refused", summary.strip())
    return found


def _run_transfer(
    repo: Repo, argv: list[str], *, stdin: bytes = b"", seconds: float = _LONGEST, most: int = 0
) -> "subprocess.CompletedProcess[bytes]":
    env = {**clean_environment(), **{name: os.environ[name] for name in _TRANSPORT if name in os.environ}}
    env["GIT_TERMINAL_PROMPT"] = "1" if sys.stdin is not None and sys.stdin.isatty() else "0"
    env.pop("GIT_NO_LAZY_FETCH", None)
    try:
        child = subprocess.Popen(
            ["git", *argv],
            cwd=repo.folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
    except FileNotFoundError as exc:
        raise Failed("git is not on PATH", hint="install git 2.34 or newer") from exc
    deadline = time.monotonic() + seconds
    objects = repo.common_dir / "objects"
    before = _incoming_bytes(objects) if most else 0
    given: bytes | None = stdin
    while True:
        try:
            out, said = child.communicate(given, timeout=0.25 if most else max(0.01, deadline - time.monotonic()))
            if UNREMOVED in said:
                note_left_locks(repo.folder, said)
            return subprocess.CompletedProcess(argv, child.returncode, out, said)
        except subprocess.TimeoutExpired:
            given = None
            too_much = most and _incoming_bytes(objects) - before > most
            if too_much or time.monotonic() >= deadline:
                _end_transfer(child, objects)
                if too_much:
                    raise Failed(
                        f"the remote sends more than {most // 2**20} MiB; the fetch was ended, and nothing was changed",
                        hint="git config nexus.syncMaxBytes allows more, if you know what it is",
                    ) from None
                raise RemoteUnreachable(f"git took longer than {int(seconds)} seconds") from None
        except BaseException:
            _end_transfer(child, objects)
            raise


def _end_transfer(child: "subprocess.Popen[bytes]", objects: Path) -> None:
    """Stop git, and remove its partly received files, which git leaves behind."""
    half = _half_received_files(child.pid, objects.resolve())
    child.terminate()
    try:
        child.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
    for file in half:
        file.unlink(missing_ok=True)


def _half_received_files(pid: int, objects: Path) -> list[Path]:
    """Return the files that git is receiving into; git leaves them behind when it is stopped. Needs /proc."""
    found: list[Path] = []
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                file = Path(entry.path).readlink()
                if file.is_relative_to(objects) and file.name.startswith("tmp_"):
                    found.append(file)
        for below in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            found += _half_received_files(int(below), objects)
    return found


def _incoming_bytes(objects: Path) -> int:
    total = 0
    with contextlib.suppress(OSError):
        for entry in os.scandir(objects / "pack"):
            with contextlib.suppress(OSError):
                if entry.name.startswith("tmp_pack_"):
                    total += entry.stat().st_size
    return total
