"""The queue of signed run orders on a remote: adds, lists and removes entries."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.base.errors import Busy, Failed, Invalid, NexusError, NotFound
from gitnexus.base.text import one_line
from gitnexus.git import Objects
from gitnexus.git.branches import current_branch as branch_here
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.child import run_git as git_run
from gitnexus.git.commits import write_own_commit
from gitnexus.git.exchange import RefUpdate as Push
from gitnexus.git.locks import change_refs
from gitnexus.policy.in_force import read_policy_in_force
from gitnexus.policy.signed import SignedFiles
from gitnexus.policy.trust import signer_for_repo
from gitnexus.runs.ids import is_run_id, match_run_id, new_run_id
from gitnexus.runs.open_run import notes_folder
from gitnexus.runs.order import CLAIM_FILE, CLAIMS, LASTS, ORDER_FILE, QUEUE, RunClaim, RunOrder
from gitnexus.runs.origin import write_agreement
from gitnexus.runs.start import RunRequest, main_agent_name, resolve_revision
from gitnexus.runs.store import run_ids
from gitnexus.state import Snapshot, State
from gitnexus.state.format import project_id_of
from gitnexus.sync.remote import USUAL_STATE_BRANCH, Remote
from gitnexus.sync.remote_refs import fetch_to_tracking, find_remote_refs, push_to_remote


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """One queue entry: `order` is None if unreadable, `worker` "" if unclaimed.

    `counts` if an approver signed it and it has not expired; otherwise `why` is the reason.
    """

    run: str
    order: RunOrder | None
    worker: str
    why: str = ""
    counts: bool = False


def enqueue_run(state: State, remote: Remote, request: RunRequest, labels: tuple[str, ...], network: str) -> RunOrder:
    """Sign an order with the local key and add it to a remote's queue. Raises: NexusError."""
    snapshot = state.required()
    signer = signer_for_repo(state.repo)
    SignedFiles(snapshot, state.repo.common_dir).approvers_with_consent().public_of(signer.key_id)
    definition = request.definition.changed(mode=request.mode or read_policy_in_force(state).compiled.mode)
    order = RunOrder(
        id=new_run_id(utc_now(), run_ids(snapshot)),
        project=project_id_of(snapshot) or "",
        title=one_line(request.title, 200),
        agent=main_agent_name(definition),
        base=resolve_revision(state, request.base),
        workflow=definition.plain(),
        created=format_timestamp(utc_now()),
        key=signer.key_id,
        onto=branch_here(state.repo),
        task=request.task,
        network=network,
        labels=tuple(sorted(set(labels))),
        expires=format_timestamp(utc_now() + LASTS),
        after=0,
    ).signed(signer)
    write_agreement(notes_folder(state), order.id, order.run().definition, "own")
    push_order(state, remote, order)
    return order


def push_order(state: State, remote: Remote, order: RunOrder, along: Sequence[Push] = ()) -> None:
    """Push a signed order with the refs that belong to it, atomically. Raises: Unreachable, Failed."""
    _, tree = state.objects.write_commit(
        parents=[], changes={ORDER_FILE: order.to_bytes()}, message="order\n", author=state.author
    )
    # Includes the base commit, so that a worker needs only this ref.
    commit = write_own_commit(
        state.repo, tree, [order.base], f"queue: {order.id} {one_line(order.title, 60)}\n", state.author
    )
    pushes = [*along, Push(f"{QUEUE}{order.id}", commit, "")]
    for ref, outcome in push_to_remote(state.repo, remote, pushes, atomic=len(pushes) > 1).items():
        if outcome.kind not in ("done", "same") and "atomic" not in outcome.why:
            refused = outcome.kind == "refused" and not remote.state_branch
            raise Failed(
                f"{remote.shown} does not accept {remote.there(ref)}: {outcome.why}",
                hint="this host may accept only branches: git nexus sync --probe finds out" if refused else None,
                fix=f"git config remote.{remote.remote}.nexusWireRef {USUAL_STATE_BRANCH}"
                if refused
                else "git nexus sync",
            )


def list_queue(state: State, remote: Remote) -> list[QueueEntry]:
    """Return the queue of a remote, oldest first. Raises: Unreachable."""
    there = find_remote_refs(state.repo, remote, [QUEUE, CLAIMS])
    fetch_to_tracking(state.repo, remote, there)
    _delete_stale_tracking(state, remote, there)
    found = []
    why_not = _why_not(state)
    for ref in sorted(one for one in there if one.startswith(QUEUE)):
        run = ref.removeprefix(QUEUE)
        claim = _read_at_commit(
            state.objects, tip_of_ref(state.repo, remote.tracking_ref(f"{CLAIMS}{run}")), CLAIM_FILE
        )
        try:
            worker = RunClaim.from_bytes(claim, CLAIM_FILE).worker if claim else ""
            order = read_order(state, remote.tracking_ref(ref))
            why = why_not(order)
            found.append(QueueEntry(run, order, worker, why, not why))
        except NexusError as exc:
            found.append(QueueEntry(run, None, "", exc.message))
    return found


def _why_not(state: State) -> Callable[[RunOrder], str]:
    """Return a function that tells why a worker would skip an order, "" if it would not."""
    snapshot = state.latest()
    try:
        approvers = SignedFiles(snapshot, state.repo.common_dir).approvers_with_consent()
    except NexusError as exc:
        words = exc.message
        return lambda order: words

    def why(order: RunOrder) -> str:
        try:
            order.check(project_id_of(snapshot) or "", approvers, utc_now())
        except NexusError as exc:
            return exc.message
        return ""

    return why


def remove_from_queue(state: State, remote: Remote, word: str) -> str:
    """Remove an unclaimed run from the queue; return its id. Raises: NotFound, Busy."""
    there = find_remote_refs(state.repo, remote, [QUEUE, CLAIMS])
    runs = [ref.removeprefix(QUEUE) for ref in there if ref.startswith(QUEUE)]
    run = match_run_id(word, runs)
    if f"{CLAIMS}{run}" in there:
        raise Busy(f"a worker has {run}", hint="git nexus queue shows who")
    ref = f"{QUEUE}{run}"
    if push_to_remote(state.repo, remote, [Push(ref, None, there[ref])])[ref].kind != "done":
        raise NotFound(f"{run} is no longer in the queue")
    return run


def read_order(state: State, ref: str) -> RunOrder:
    """Return the order at a ref, not verified yet. Raises: NotFound, Invalid."""
    raw = _read_at_commit(state.objects, tip_of_ref(state.repo, ref), ORDER_FILE)
    if raw is None:
        raise NotFound(f"{ref} holds no order")
    order = RunOrder.from_bytes(raw, ORDER_FILE)
    if not is_run_id(order.id) or not ref.endswith(f"/{order.id}"):
        raise Invalid(f"{ref} holds the order of {one_line(order.id, 40)}")
    return order


def _read_at_commit(objects: Objects, commit: str | None, path: str) -> bytes | None:
    return Snapshot(objects, commit).read(path) if commit else None


def _delete_stale_tracking(state: State, remote: Remote, there: dict[str, str]) -> None:
    kept = {remote.tracking_ref(ref) for ref in there}
    above = [remote.tracking_ref(QUEUE), remote.tracking_ref(CLAIMS)]
    shown = git_run("for-each-ref", "--format=%(refname)", *above, git_dir=state.repo.common_dir)
    gone = [ref for ref in shown.stdout.decode("utf-8", "replace").split() if ref not in kept]
    orders = "".join(f"delete {ref}\n" for ref in gone)
    if orders:
        change_refs("update-ref", "--no-deref", "--stdin", git_dir=state.repo.common_dir, stdin=orders.encode())
