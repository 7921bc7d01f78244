"""The queue of runs on a server: put there signed, listed with who has them, taken away again."""

from collections.abc import Sequence
from dataclasses import dataclass

from gitnexus.app.across import brought, given, known
from gitnexus.app.origin import keep_agreement
from gitnexus.app.policy import policy_here
from gitnexus.app.rundesk import notes_folder
from gitnexus.app.running import Wish, agent_in, commit_of
from gitnexus.app.trust import signer_of
from gitnexus.app.wire import USUAL_WIRE, Wire
from gitnexus.base.clock import now, stamp
from gitnexus.base.errors import Busy, Failed, Invalid, NexusError, NotFound
from gitnexus.base.text import one_line
from gitnexus.git import Objects
from gitnexus.git.branches import current as branch_here
from gitnexus.git.branches import tip
from gitnexus.git.child import run as git_run
from gitnexus.git.commits import rooted
from gitnexus.git.exchange import Order as Push
from gitnexus.policy.signed import Signed
from gitnexus.runs.ids import is_id, meant, mint
from gitnexus.runs.order import CLAIM_FILE, CLAIMS, LASTS, ORDER_FILE, QUEUE, Order, Taken
from gitnexus.runs.store import ids_in
from gitnexus.state import Snapshot, State
from gitnexus.state.format import id_of


@dataclass(frozen=True, slots=True)
class Waiting:
    """One entry of a queue as it is now: `order` None where it cannot be read, `worker` empty where nobody has it."""

    run: str
    order: Order | None
    worker: str
    why: str = ""


def queued(state: State, wire: Wire, wish: Wish, labels: tuple[str, ...], network: str) -> Order:
    """Put a run into the queue of a remote, signed by the key at hand. Raises: NexusError."""
    snapshot = state.required()
    signer = signer_of(state.repo)
    Signed(snapshot, state.repo.common_dir).consented().public_of(signer.key_id)
    definition = wish.definition.changed(mode=wish.mode or policy_here(state).law.mode)
    order = Order(
        id=mint(now(), ids_in(snapshot)),
        project=id_of(snapshot) or "",
        title=one_line(wish.title, 200),
        agent=agent_in(definition),
        base=commit_of(state, wish.base),
        workflow=definition.plain(),
        created=stamp(now()),
        key=signer.key_id,
        onto=branch_here(state.repo),
        task=wish.task,
        network=network,
        labels=tuple(sorted(set(labels))),
        expires=stamp(now() + LASTS),
        after=0,
    ).signed(signer)
    keep_agreement(notes_folder(state), order.id, order.run().definition, "own")
    posted(state, wire, order)
    return order


def posted(state: State, wire: Wire, order: Order, along: Sequence[Push] = ()) -> None:
    """Put a signed order on the server, with what belongs to it in the same step. Raises: Unreachable, Failed."""
    _, tree = state.objects.write_commit(
        parents=[], changes={ORDER_FILE: order.to_bytes()}, message="order\n", author=state.author
    )
    # The base comes along: a worker needs nothing but this ref.
    commit = rooted(state.repo, tree, [order.base], f"queue: {order.id} {one_line(order.title, 60)}\n", state.author)
    pushes = [*along, Push(f"{QUEUE}{order.id}", commit, "")]
    for ref, outcome in given(state.repo, wire, pushes, atomic=len(pushes) > 1).items():
        if outcome.kind not in ("done", "same") and "atomic" not in outcome.why:
            refused = outcome.kind == "refused" and not wire.wire
            raise Failed(
                f"{wire.shown} does not take {wire.there(ref)}: {outcome.why}",
                hint="this host may take nothing but branches: git nexus sync --probe finds out" if refused else None,
                fix=f"git config remote.{wire.remote}.nexusWireRef {USUAL_WIRE}" if refused else "git nexus sync",
            )


def waiting(state: State, wire: Wire) -> list[Waiting]:
    """Return the queue of a remote, the oldest first. Raises: Unreachable."""
    there = known(state.repo, wire, [QUEUE, CLAIMS])
    brought(state.repo, wire, there)
    _forget_gone(state, wire, there)
    found = []
    for ref in sorted(one for one in there if one.startswith(QUEUE)):
        run = ref.removeprefix(QUEUE)
        claim = _read(state.objects, tip(state.repo, wire.tracking(f"{CLAIMS}{run}")), CLAIM_FILE)
        try:
            worker = Taken.from_bytes(claim, CLAIM_FILE).worker if claim else ""
            found.append(Waiting(run, order_at(state, wire.tracking(ref)), worker))
        except NexusError as exc:
            found.append(Waiting(run, None, "", exc.message))
    return found


def dropped(state: State, wire: Wire, word: str) -> str:
    """Take a run out of the queue that nobody has claimed, and return its id. Raises: NotFound, Busy."""
    there = known(state.repo, wire, [QUEUE, CLAIMS])
    runs = [ref.removeprefix(QUEUE) for ref in there if ref.startswith(QUEUE)]
    run = meant(word, runs)
    if f"{CLAIMS}{run}" in there:
        raise Busy(f"a worker has {run}", hint="git nexus queue shows who")
    ref = f"{QUEUE}{run}"
    if given(state.repo, wire, [Push(ref, None, there[ref])])[ref].kind != "done":
        raise NotFound(f"{run} is not in the queue any more")
    return run


def order_at(state: State, ref: str) -> Order:
    """Return the order that a ref holds, not believed yet. Raises: NotFound, Invalid."""
    raw = _read(state.objects, tip(state.repo, ref), ORDER_FILE)
    if raw is None:
        raise NotFound(f"{ref} holds no order")
    order = Order.from_bytes(raw, ORDER_FILE)
    if not is_id(order.id) or not ref.endswith(f"/{order.id}"):
        raise Invalid(f"{ref} holds the order of {one_line(order.id, 40)}")
    return order


def _read(objects: Objects, commit: str | None, path: str) -> bytes | None:
    return Snapshot(objects, commit).read(path) if commit else None


def _forget_gone(state: State, wire: Wire, there: dict[str, str]) -> None:
    kept = {wire.tracking(ref) for ref in there}
    above = [wire.tracking(QUEUE), wire.tracking(CLAIMS)]
    shown = git_run("for-each-ref", "--format=%(refname)", *above, git_dir=state.repo.common_dir)
    gone = [ref for ref in shown.stdout.decode("utf-8", "replace").split() if ref not in kept]
    orders = "".join(f"delete {ref}\n" for ref in gone)
    git_run("update-ref", "--no-deref", "--stdin", git_dir=state.repo.common_dir, stdin=orders.encode())
