"""How much of a log that arrives is taken in: up to where nobody only claims to have gone on with it.

A pusher can put any events on a run's ref. What this machine or a vouched one wrote is never followed by what is only
claimed: then the newest checkpoint before that is taken, and the rest stays where it is.
"""

from typing import NamedTuple

from gitnexus.app.authorship import is_whole, stretches_of
from gitnexus.app.origin import begun_in, signs
from gitnexus.app.recorder import folder_of
from gitnexus.app.rundesk import notes_folder
from gitnexus.base.errors import NexusError
from gitnexus.events.chain import walk
from gitnexus.events.checkpoint import Checkpoint, at_commit
from gitnexus.events.log import FILE
from gitnexus.git.child import run as git_run
from gitnexus.state import State

# Further back nobody looks: whoever pushed as much has to be dealt with by a person.
_MOST = 200


class Accepted(NamedTuple):
    """The commit that a run's ref may go to, empty if to none; and what stays, in words."""

    commit: str
    why: str = ""


def accept_log(state: State, run: str, theirs: str, mine: str | None) -> Accepted:
    """Return how far the log on the commit `theirs` is taken in, where ours is at `mine`. Raises: NexusError."""
    before = at_commit(state.objects, run, mine) if mine is not None else None
    ours = before.raw() if before is not None else b""
    file = folder_of(state.repo.common_dir, run) / FILE
    here = file.read_bytes() if file.exists() else ours
    claimed = ""
    for commit in _newest_first(state, theirs, mine):
        try:
            found = at_commit(state.objects, run, commit)
            raw = found.raw()
            list(walk(raw, run))
        except NexusError as exc:
            claimed = claimed or f"the log of {run} there cannot be taken in: {exc.message}"
            continue
        if not raw.startswith(ours):
            claimed = claimed or f"the log of {run} there is another than ours; it is only claimed, and stays there"
        elif why := _why_claimed(state, found, raw, _lines_in_common(raw, here)):
            claimed = claimed or why
        else:
            return Accepted(commit, claimed)
    return Accepted("", claimed)


def _why_claimed(state: State, found: Checkpoint, raw: bytes, known: int) -> str:
    """Return what of a log is only claimed and must not count, nothing if all of it may be taken in.

    `known` is the last event that was here before.
    """
    folder, run = notes_folder(state), found.run
    ours = bool(begun_in(folder, run))
    last = found.head.seq
    stretches = stretches_of(state, run, raw, found.authors(), on_ref=last, arrived=last, unsigned="claimed")
    if ours and not signs(folder, run) and known and stretches[0].standing == "claimed":
        # The beginning of a log of ours that was never signed, as far as it was here.
        first = stretches[0]
        rest = [first._replace(since=known)] if first.upto > known else []
        stretches = [first._replace(upto=min(known, first.upto), standing="before"), *rest, *stretches[1:]]
    if is_whole(stretches) and not (ours and stretches and stretches[0].standing == "claimed"):
        return ""
    first = next(one for one in stretches if one.standing == "claimed" and (one.since or ours))
    return (
        f"events {first.since + 1} to {found.head.seq} of {run} there are only claimed: nobody who is known here "
        "signed them, so they do not count and stay there"
    )


def _lines_in_common(raw: bytes, other: bytes) -> int:
    """Return with how many equal lines two logs begin."""
    if raw.startswith(other) or other.startswith(raw):
        return min(raw, other, key=len).count(b"\n")
    pairs = zip(raw.split(b"\n"), other.split(b"\n"), strict=False)
    return next(at for at, (one, two) in enumerate(pairs) if one != two)


def _newest_first(state: State, theirs: str, mine: str | None) -> list[str]:
    beyond = [f"^{mine}"] if mine is not None else []
    listed = git_run("rev-list", "--first-parent", f"--max-count={_MOST}", theirs, *beyond,
                     git_dir=state.repo.common_dir)  # fmt: skip
    return listed.stdout.decode("ascii", "replace").split() if listed.returncode == 0 else [theirs]
