"""Writes state, logs and archives to a git bundle file, and applies such a file, for clones without a network."""

import contextlib
from pathlib import Path

from gitnexus.base.errors import Failed, Invalid, NotFound
from gitnexus.base.randomness import random_hex
from gitnexus.git.child import run_git, run_git_or_raise
from gitnexus.git.locks import change_refs
from gitnexus.runs.archive import ARCHIVE, LOGS
from gitnexus.runs.ids import BRANCHES
from gitnexus.state import STATE_REF, State
from gitnexus.sync.remote import KINDS, Remote, resolve_remote
from gitnexus.sync.sync import SyncOptions, SyncResult, sync_with_remote


def create_bundle(state: State, file: Path, *, branches: bool, basis: str | None) -> list[str]:
    """Write state, logs and archives into a bundle; return its refs. `basis` leaves out what a remote has.

    Raises: Failed, NotFound.
    """
    state.required()
    if file.is_dir():
        raise Invalid(f"{file} is a folder", hint="name a file")
    prefixes = [STATE_REF, LOGS, ARCHIVE, *([BRANCHES] if branches else [])]
    listed = run_git_or_raise("for-each-ref", "--format=%(refname)", *prefixes, git_dir=state.repo.common_dir)
    refs = listed.decode("utf-8", "replace").split()
    without = _basis_commits(state, basis) if basis else []
    aside = file.with_name(f".{file.name}.{random_hex(8)}")
    done = run_git(
        "bundle",
        "create",
        "--quiet",
        str(aside.absolute()),
        "--stdin",
        git_dir=state.repo.common_dir,
        stdin="\n".join([*refs, *(f"^{one}" for one in without), ""]).encode(),
    )
    if done.returncode != 0:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        if b"empty bundle" in done.stderr:
            raise Failed(f"{basis} has all of it already", hint="leave --basis out to write everything")
        raise Failed(f"the bundle cannot be written: {done.stderr.decode('utf-8', 'replace').strip()[:300]}")
    aside.replace(file)
    return refs


def _basis_commits(state: State, remote: str) -> list[str]:
    tracked = resolve_remote(state, remote).tracking_ref(STATE_REF)
    asked = run_git("rev-parse", "--verify", "--quiet", tracked, git_dir=state.repo.common_dir)
    if asked.returncode != 0:
        raise NotFound(f"nothing is known of the state of {remote}", hint=f"git nexus sync {remote} asks it")
    return [asked.stdout.decode("ascii").strip()]


def apply_bundle(state: State, file: Path, *, dry_run: bool, adopt: bool) -> SyncResult:
    """Apply the content of a bundle, checked like a remote's. Raises: NexusError; then nothing changed."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}", hint="git nexus bundle create FILE writes one")
    checked = run_git("bundle", "verify", "--quiet", str(file.absolute()), git_dir=state.repo.common_dir)
    if checked.returncode != 0:
        said = checked.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Invalid(
            f"{file.name} cannot be used here: {said[0][:200] if said else 'it is no bundle'}",
            hint="a bundle made with --basis needs a clone that has what it was based on",
        )
    resolved = Remote(str(file.absolute()), f"bundle-{random_hex(8)}", frozenset(KINDS))
    try:
        # A bundle is a snapshot: an older one is not rewritten history.
        return sync_with_remote(state, resolved, SyncOptions(push=False, dry_run=dry_run, adopt=adopt, rewritten=True))
    finally:
        _delete_tracking_refs(state, resolved)


def _delete_tracking_refs(state: State, remote: Remote) -> None:
    """Delete the tracking refs of a bundle, which is not fetched from again."""
    listed = run_git_or_raise(
        "for-each-ref",
        "--format=delete %(refname)",
        f"{remote.incoming.rpartition('/')[0]}/",
        git_dir=state.repo.common_dir,
    )
    if listed:
        change_refs("update-ref", "--no-deref", "--stdin", git_dir=state.repo.common_dir, stdin=listed)
