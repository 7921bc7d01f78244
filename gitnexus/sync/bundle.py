"""State in a file, for clones that no network joins: git's own bundle, made here and taken in there."""

import contextlib
from pathlib import Path

from gitnexus.app.sync import Asked, Synced, synced
from gitnexus.app.wire import KINDS, Wire, wire_to
from gitnexus.base.chance import token
from gitnexus.base.errors import Failed, Invalid, NotFound
from gitnexus.git.child import must, run
from gitnexus.runs.archive import ARCHIVE, LOGS
from gitnexus.runs.ids import BRANCHES
from gitnexus.state import STATE_REF, State


def created(state: State, file: Path, *, branches: bool, basis: str | None) -> list[str]:
    """Write state, logs and archives into a bundle, and return the refs in it; `basis` leaves out what a remote has.

    Raises: Failed, NotFound.
    """
    state.required()
    if file.is_dir():
        raise Invalid(f"{file} is a folder", hint="name a file")
    prefixes = [STATE_REF, LOGS, ARCHIVE, *([BRANCHES] if branches else [])]
    listed = must("for-each-ref", "--format=%(refname)", *prefixes, git_dir=state.repo.common_dir)
    refs = listed.decode("utf-8", "replace").split()
    without = _known(state, basis) if basis else []
    aside = file.with_name(f".{file.name}.{token(8)}")
    done = run("bundle", "create", "--quiet", str(aside.absolute()), "--stdin", git_dir=state.repo.common_dir,
               stdin="\n".join([*refs, *(f"^{one}" for one in without), ""]).encode())  # fmt: skip
    if done.returncode != 0:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
        if b"empty bundle" in done.stderr:
            raise Failed(f"{basis} has all of it already", hint="leave --basis out to write everything")
        raise Failed(f"the bundle cannot be written: {done.stderr.decode('utf-8', 'replace').strip()[:300]}")
    aside.replace(file)
    return refs


def _known(state: State, remote: str) -> list[str]:
    tracked = wire_to(state, remote).tracking(STATE_REF)
    asked = run("rev-parse", "--verify", "--quiet", tracked, git_dir=state.repo.common_dir)
    if asked.returncode != 0:
        raise NotFound(f"nothing is known of the state of {remote}", hint=f"git nexus sync {remote} asks it")
    return [asked.stdout.decode("ascii").strip()]


def applied(state: State, file: Path, *, dry_run: bool, adopt: bool) -> Synced:
    """Take in what a bundle holds, judged like any remote. Raises: NexusError; then nothing changed."""
    if not file.is_file():
        raise NotFound(f"there is no file {file}", hint="git nexus bundle create FILE writes one")
    checked = run("bundle", "verify", "--quiet", str(file.absolute()), git_dir=state.repo.common_dir)
    if checked.returncode != 0:
        said = checked.stderr.decode("utf-8", "replace").strip().splitlines()
        raise Invalid(f"{file.name} cannot be used here: {said[0][:200] if said else 'it is no bundle'}",
                      hint="a bundle made with --basis needs a clone that has what it was based on")  # fmt: skip
    wire = Wire(str(file.absolute()), f"bundle-{token(8)}", frozenset(KINDS))
    try:
        # A file is what it was when it was made: an older one is no rewritten history.
        return synced(state, wire, Asked(push=False, dry_run=dry_run, adopt=adopt, rewritten=True))
    finally:
        _forget(state, wire)


def _forget(state: State, wire: Wire) -> None:
    """A file is not asked again: nothing is remembered of it."""
    listed = must("for-each-ref", "--format=delete %(refname)", f"{wire.incoming.rpartition('/')[0]}/",
                  git_dir=state.repo.common_dir)  # fmt: skip
    run("update-ref", "--no-deref", "--stdin", git_dir=state.repo.common_dir, stdin=listed)
