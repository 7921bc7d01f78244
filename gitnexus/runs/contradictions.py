"""Compares this clone's decisions on actions with another clone's log or branch, and logs each contradiction.

The stricter decision holds. Both logs go on, each from its own events; both record the contradiction, and how a
person settled it in one of the clones.
"""

import contextlib
from collections.abc import Collection, Sequence

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Conflict, Invalid, NexusError, NotFound, VerificationFailed
from gitnexus.base.files import make_private_folder
from gitnexus.base.text import one_line
from gitnexus.events.chain import walk_chain
from gitnexus.events.checkpoint import Checkpoint, checkpoint_at_commit, ref_of_run
from gitnexus.events.fold import POLICY, fold
from gitnexus.events.inforce import Claimed, in_force
from gitnexus.events.kinds import shorten_text
from gitnexus.events.model import Event
from gitnexus.events.view import RunView
from gitnexus.git.ancestry import is_ancestor
from gitnexus.git.branches import read_raw_commit
from gitnexus.policy.commit_message import parse_trailers as trailers_of
from gitnexus.policy.signed import SignedFiles
from gitnexus.policy.tokens import verify_token
from gitnexus.runs.claimed_decisions import known_view
from gitnexus.runs.log_signatures import Stretch, has_only_leading_claims, is_claimed_event, stretches_of
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.record import refresh_run_record
from gitnexus.runs.store import read_run
from gitnexus.state import State

_WHOLE_RUN = ""
_NOTE = ".contradicted"
_MOST_TOKENS = 50


def note_other_log(state: State, run_id: str, commit: str) -> str | None:
    """Log where the log at `commit` decided otherwise than ours, and how a person settled that there.

    A decision that is only claimed there contradicts nothing.
    Then the other log becomes a parent of our run ref, so that the remote accepts ours and each clone gets the other's.
    So it does if the run began here and all that it has beside ours is claimed, or no log at all.
    Returns a description, "" if nothing is open any more, None if the two never contradicted each other.
    """
    try:
        run = OpenRun(state, read_run(state.latest(), run_id))
        found = _readable_log(run, commit)
        if found is None:
            return _put_ours_over(run, commit, f"what is on the ref of {run_id} there is no log of it")
        raw, last = found.raw(), found.head.seq
        stretches = stretches_of(state, run_id, raw, found.authors(), on_ref=last, arrived=last, unsigned="claimed")
        if not has_only_leading_claims(stretches):
            if not _is_proved_here(run, raw, stretches):
                return None
            return _put_ours_over(run, commit, f"the end of the log of {run_id} there is only claimed")
        ours, theirs = list(run.log.read()), [link.event for link in walk_chain(raw, run_id)]
        common = next(
            (at for at, pair in enumerate(zip(ours, theirs, strict=False)) if pair[0] != pair[1]), len(theirs)
        )
        status = run.view().status
        decided = [event for event in theirs[common:] if not is_claimed_event(stretches, event)]
        said = _note(run, _decided(ours[common:]), _decided(decided))
        claimed = [Claimed(one.since, one.upto) for one in stretches if one.status == "claimed"]
        other = fold(in_force(theirs, claimed))
        said = said or _take_disputes(run, other)
        said = _take_settlements(run, other) or said
        if not any(event.kind == "decision.contradicted" for event in run.log.read()):
            return None
        _join_other_log(run, commit)
        if run.view().status != status:
            refresh_run_record(run)
        return said if run.view().disputed else ""
    except NexusError:
        return None


def _take_disputes(run: OpenRun, other: RunView) -> str:
    """Log what the other clone, which decided as we did, knows of a third that decided otherwise."""
    said = []
    for action in other.disputed:
        with run.deciding():
            view = run.view()
            here, there = view.actions.get(action), other.actions.get(action)
            if here is None or there is None or here.settled or action in view.disputed:
                continue
            words = f"decided otherwise in a third clone: there it is {other.disputed[action]}"
            body = {"action": action, "here": here.status, "elsewhere": there.status, "text": shorten_text(words)}
            _log_contradiction(run, body)
        said.append(_describe(run, action, words))
    return "; ".join(said)


def _take_settlements(run: OpenRun, other: RunView) -> str:
    """Log what the other clone settled; where both settled it and differ, it is open again. Returns a description."""
    said = []
    for action, there in other.actions.items():
        with run.deciding():
            view = run.view()
            here = view.actions.get(action)
            if here is None or not there.settled or action in other.disputed:
                continue
            if action in view.disputed:
                body = {"action": action, "how": there.settled, "by": shorten_text(there.settler or "nexus", 200)}
                run.log.append("decision.settled", "nexus", body)
            elif here.settled and here.settled != there.settled:
                words = f"settled as {here.settled} here and as {there.settled} elsewhere"
                body = {"action": action, "here": here.settled, "elsewhere": there.settled, "text": words}
                _log_contradiction(run, body)
                said.append(_describe(run, action, words))
    return "; ".join(said)


def _readable_log(run: OpenRun, commit: str) -> Checkpoint | None:
    try:
        found = checkpoint_at_commit(run.state.objects, run.record.id, commit)
        list(walk_chain(found.raw(), run.record.id))
        return found
    except (Invalid, NotFound, VerificationFailed):
        return None


def _is_proved_here(run: OpenRun, raw: bytes, stretches: Sequence[Stretch]) -> bool:
    """True if our log begins with all of another one that is proved, and what follows there is only claimed."""
    at = next(at for at, one in enumerate(stretches) if one.status == "claimed" and one.since)
    proved = b"".join(raw.splitlines(keepends=True)[: stretches[at].since])
    return all(one.status == "claimed" for one in stretches[at:]) and run.log.raw().startswith(proved)


def _put_ours_over(run: OpenRun, commit: str, words: str) -> str | None:
    """Go on from what is on the remote with our log, so that whoever can push does not keep it from the others.

    Only where the run began: clones that do not know each other's keys do not replace each other's logs in turn.
    Returns a description, None if the run began elsewhere or there is nothing to put there.
    """
    if run.foreign or not _join_other_log(run, commit, over=True):
        return None
    return f"{words}: ours takes its place"


def _join_other_log(run: OpenRun, other: str, *, over: bool = False) -> bool:
    """Make another clone's checkpoint a parent of ours, unless ours holds nothing new or holds it already.

    With `over` also where the other one was put upon ours. True if the ref moved.
    """
    objects, ref = run.state.objects, ref_of_run(run.record.id)
    run.write_checkpoint()
    mine = objects.tip(ref)
    if mine is None or is_ancestor(run.repo, other, mine) or (not over and is_ancestor(run.repo, mine, other)):
        return False
    why = f"runs: {run.record.id} beside the log of another clone"
    commit, _ = objects.write_commit(parents=[mine, other], changes={}, message=f"{why}\n", author=run.state.author)
    return objects.swap(ref, mine, commit, why)


def note_other_branch(state: State, run_id: str, commit: str) -> str:
    """Log that the other clone's branch has the commit of an action denied or cancelled here; return a description.

    Only what an approver's token in that commit proves counts: anybody may write its trailers.
    """
    try:
        run = OpenRun(state, read_run(state.latest(), run_id))
        found = trailers_of(read_raw_commit(run.repo, commit).partition(b"\n\n")[2].decode("utf-8", "replace"))
        if found is None or found.run != run_id:
            return ""
        approvers = SignedFiles(state.latest(), state.repo.common_dir).approvers_with_consent()
        theirs = {}
        for token in found.approvals[:_MOST_TOKENS]:
            claims = verify_token(token, approvers, utc_now())
            if claims.run == run_id and claims.result == state.objects.tree_of(commit):
                theirs[claims.action] = ("approved", approvers.known[claims.approver].name)
        said = _note(run, _decided(list(run.log.read())), theirs)
        if said:
            run.write_checkpoint()
        return said
    except NexusError:
        return ""


def is_settled_commit(state: State, run_id: str, commit: str) -> bool:
    """True if people settled as approved, in another clone, every action that a commit carries out."""
    try:
        view = OpenRun(state, read_run(state.latest(), run_id)).view()
        found = trailers_of(read_raw_commit(state.repo, commit).partition(b"\n\n")[2].decode("utf-8", "replace"))
    except NexusError:
        return False
    known = [view.actions.get(action) for action in found.actions] if found is not None else []
    return bool(known) and all(one is not None and one.settled == "approved" for one in known)


def refuse_contradicted(open_run: OpenRun) -> None:
    """Raise an error if two clones decided differently about the run and nobody has settled it. Raises: Conflict."""
    view = known_view(open_run)
    for action, words in view.disputed.items() if view is not None else ():
        raise Conflict(
            f"{action} of {open_run.record.id} is {words}: the stricter decision holds until somebody settles it",
            hint=settling_commands(open_run.record.id, action, view),
            context={"disputed": dict(view.disputed) if view is not None else {}},
        )


def settling_commands(run: str, action: str, view: RunView | None) -> str:
    """Return how a person settles a contradiction: an action that is denied here is approved only where it was done."""
    no = f"git nexus deny {run} {action}"
    if view is not None and view.actions[action].status == "executed":
        return f"git nexus approve {run} {action} or {no} settles it"
    return f"{no} settles it; so does git nexus approve {run} {action} in the clone that approved it"


def describe_contradictions(run: str, view: RunView) -> list[str]:
    """Return a line for each action on which two clones decided differently, with the commands that settle it."""
    return [
        f"{action} is {words}; the stricter holds: {settling_commands(run, action, view)}"
        for action, words in view.disputed.items()
    ]


def _decided(events: Sequence[Event]) -> dict[str, tuple[str, str]]:
    """Return people's decisions by action, or for the whole run: the decision and who made it."""
    found = {}
    for event in events:
        body = event.body
        if event.kind == "permission.granted" and body["by"] != POLICY:
            found[body["action"]] = ("approved", body["by"])
        elif event.kind == "permission.denied" and body.get("by"):
            found[body["action"]] = ("denied", body["by"])
        elif event.kind == "run.cancelled":
            found[_WHOLE_RUN] = ("cancelled", body["by"])
    return found


def _note(run: OpenRun, ours: dict[str, tuple[str, str]], theirs: dict[str, tuple[str, str]]) -> str:
    said = []
    for action in sorted({*ours, *theirs} - {_WHOLE_RUN}):
        here, there = (side.get(action) or side.get(_WHOLE_RUN) for side in (ours, theirs))
        if here is None or there is None or here[0] == there[0] or "approved" not in (here[0], there[0]):
            continue
        words = f"{here[0]} here by {one_line(here[1], 80)} and {there[0]} elsewhere by {one_line(there[1], 80)}"
        with run.deciding():
            view = run.view()
            if action in view.actions and not view.actions[action].settled and action not in view.disputed:
                body = {
                    "action": action,
                    "here": here[0],
                    "elsewhere": there[0],
                    "by": shorten_text(there[1], 200),
                    "text": shorten_text(words),
                }
                _log_contradiction(run, body)
        if action in run.view().disputed:
            said.append(_describe(run, action, words))
    return "; ".join(said)


def _log_contradiction(run: OpenRun, body: dict[str, str]) -> None:
    """Log that another clone decided otherwise, and note it: lists show such a run even if it is over."""
    run.log.append("decision.contradicted", "nexus", body)
    with contextlib.suppress(OSError):
        make_private_folder(run.noted)
        (run.noted / f"{run.record.id}{_NOTE}").touch()


def is_noted_contradicted(names: Collection[str], run: str) -> bool:
    """Return True if the names of this machine's notes say that a run was contradicted at some time."""
    return f"{run}{_NOTE}" in names


def _describe(run: OpenRun, action: str, words: str) -> str:
    return f"{action} of {run.record.id} is {words}; the stricter decision holds until somebody settles it"
