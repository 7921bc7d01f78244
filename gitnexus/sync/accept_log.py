"""Decides how much of a fetched run log is accepted: up to the first claimed event that follows a proved one.

A pusher can put any events on a run's ref. Claimed events are never accepted after events of this machine or a vouched
one: then the newest checkpoint before them is taken and the rest is left.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gitnexus.base.errors import Invalid, NexusError
from gitnexus.events.chain import walk_chain
from gitnexus.events.checkpoint import CHECKPOINT_HEAD, Checkpoint, checkpoint_at_commit, in_tree, load_checkpoint
from gitnexus.events.log import FILE
from gitnexus.gateway.recorder import run_folder
from gitnexus.git import Repo
from gitnexus.git.ancestry import reachable_size
from gitnexus.git.child import run_git as git_run
from gitnexus.git.child import run_git_or_raise
from gitnexus.runs.log_signatures import Stretch, has_only_leading_claims, stretches_of
from gitnexus.runs.logs import archived_log
from gitnexus.runs.open_run import notes_folder
from gitnexus.runs.origin import origin_clone_mark, signs_log
from gitnexus.state import State
from gitnexus.sync.remote import Remote

# Limit of checkpoints examined: beyond it a person has to decide.
_MOST = 200
_LARGEST_PIECE = 100 * 2**20


class AcceptedLog(NamedTuple):
    """The commit to which a run's ref may move, "" for none; and a description of what is left out."""

    commit: str
    why: str = ""


def accept_log(state: State, run: str, theirs: str, mine: str | None) -> AcceptedLog:
    """Return how much of the log at `theirs` is accepted, given ours at `mine`. Raises: NexusError."""
    before = checkpoint_at_commit(state.objects, run, mine) if mine is not None else None
    ours = before.raw() if before is not None else b""
    file = run_folder(state.repo.common_dir, run) / FILE
    here = file.read_bytes() if file.exists() else ours
    claimed = ""
    for commit in _commits_newest_first(state, theirs, mine):
        try:
            found = checkpoint_at_commit(state.objects, run, commit)
            raw = found.raw()
            list(walk_chain(raw, run))
        except NexusError as exc:
            claimed = claimed or f"the log of {run} there cannot be accepted: {exc.message}"
            continue
        if not raw.startswith(ours):
            claimed = claimed or f"the log of {run} there is another than ours; it is only claimed, and stays there"
        elif why := _why_claimed(state, found, count_common_lines(raw, here)):
            claimed = claimed or why
        else:
            return AcceptedLog(commit, claimed)
    return AcceptedLog("", claimed)


def accept_archived(state: State, run: str, commit: str, tree: str) -> str:
    """Return why a run's log in a fetched archive is not accepted, "" if it is.

    As for a run's own ref: no claimed event may follow a proved one, and a local log stays.
    """
    try:
        found = in_tree(state.objects, run, commit, tree)
        raw = found.raw()
        list(walk_chain(raw, run))
        kept = load_checkpoint(state.objects, run)
        if kept is not None and not raw.startswith(kept.raw()):
            return f"the log of {run} in the archive there is another than ours; it is only claimed, and stays there"
        file = run_folder(state.repo.common_dir, run) / FILE
        here = file.read_bytes() if file.exists() else kept.raw() if kept is not None else b""
        return _why_claimed(state, found, count_common_lines(raw, here))
    except NexusError as exc:
        return f"the log of {run} in the archive there cannot be accepted: {exc.message}"


def gives_way_to_ours(state: State, run: str, commit: str, tree: str) -> bool:
    """Return True if our log of a run belongs on the remote in place of the one in a fetched archive.

    That is so if theirs is no log of this run at all, which every clone sees alike, or if the run began here and part
    of theirs is only claimed. Two clones that do not know each other's keys do not replace each other's logs in turn.
    """
    try:
        found = in_tree(state.objects, run, commit, tree)
        raw = found.raw()
        list(walk_chain(raw, run))
        return bool(origin_clone_mark(notes_folder(state), run) and _why_claimed(state, found, 0))
    except NexusError:
        return True


def is_archived(state: State, run: str, commit: str) -> bool:
    """True if a local archive holds the complete log at a commit of a run's ref."""
    try:
        held = archived_log(state.objects, run)
        if held is None:
            return False
        if held.tree == state.objects.tree_of(commit):
            return True
        raw = held.raw()
        return raw.startswith(checkpoint_at_commit(state.objects, run, commit).raw()) and not _why_claimed(
            state, held, 0
        )
    except NexusError:
        return False


def _why_claimed(state: State, found: Checkpoint, known: int) -> str:
    """Return which part of a log is only claimed and not acceptable, "" if none is.

    `known` is the last event that was here before.
    """
    folder, run = notes_folder(state), found.run
    ours = bool(origin_clone_mark(folder, run))
    stretches = stretches_on_ref(state, found)
    if ours and not signs_log(folder, run) and known and stretches[0].status == "claimed":
        # The unsigned beginning of our own log, as far as it was here.
        first = stretches[0]
        rest = [first._replace(since=known)] if first.upto > known else []
        stretches = [first._replace(upto=min(known, first.upto), status="before"), *rest, *stretches[1:]]
    if has_only_leading_claims(stretches) and not (ours and stretches and stretches[0].status == "claimed"):
        return ""
    first = next(one for one in stretches if one.status == "claimed" and (one.since or ours))
    return (
        f"events {first.since + 1} to {found.head.seq} of {run} there are only claimed: nobody who is known here "
        "signed them, so they do not count and stay there"
    )


def stretches_on_ref(state: State, found: Checkpoint) -> list[Stretch]:
    """Return who signed each part of a log as it is on a ref: nothing of it is taken as written here."""
    last = found.head.seq
    return stretches_of(state, found.run, found.raw(), found.authors(), on_ref=last, arrived=last, unsigned="claimed")


def count_common_lines(raw: bytes, other: bytes) -> int:
    """Return the number of equal leading lines of two logs."""
    if raw.startswith(other) or other.startswith(raw):
        return min(raw, other, key=len).count(b"\n")
    pairs = zip(raw.split(b"\n"), other.split(b"\n"), strict=False)
    return next(at for at, (one, two) in enumerate(pairs) if one != two)


def _commits_newest_first(state: State, theirs: str, mine: str | None) -> Iterator[str]:
    """Yield the checkpoints of a run's ref: its own line first, then those that were put beside it."""
    beyond = [f"^{mine}"] if mine is not None else []
    seen: set[str] = set()
    for words in (("--first-parent", theirs, *beyond), ("--full-history", theirs, *beyond, "--", CHECKPOINT_HEAD)):
        listed = git_run("rev-list", f"--max-count={_MOST}", *words, git_dir=state.repo.common_dir)
        found = listed.stdout.decode("ascii", "replace").split() if listed.returncode == 0 else [theirs]
        yield from (commit for commit in found if commit not in seen)
        seen.update(found)


def refuse_large_logs(repo: Repo, remote: Remote, logs: Sequence[str], ours: Mapping[str, str]) -> None:
    """Raise Invalid if the commits of some logs or archives hold a larger piece than a log may."""
    if not logs:
        return
    # The commits that runs worked on come with their logs.
    code = run_git_or_raise(
        "for-each-ref", "--format=%(objectname)", "refs/heads", "refs/remotes", git_dir=repo.common_dir
    )
    known = [*ours.values(), *code.decode("ascii").split()]
    if reachable_size(repo, logs, known).largest > _LARGEST_PIECE:
        raise Invalid(
            f"a log on {remote.shown} holds a piece of more than {_LARGEST_PIECE // 2**20} MiB: none was taken"
        )
