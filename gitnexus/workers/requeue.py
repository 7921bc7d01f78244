"""A run that was answered here and goes on at a worker: its log and its branch, and an order for the rest of it."""

from gitnexus.app.agreeing import require_agreement
from gitnexus.app.queue import posted
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.trust import signer_of
from gitnexus.app.wire import Wire
from gitnexus.base.clock import now, stamp
from gitnexus.base.errors import Failed
from gitnexus.events.checkpoint import load
from gitnexus.git.branches import tip
from gitnexus.git.exchange import Order as Push
from gitnexus.policy.signed import Signed
from gitnexus.runs.archive import LOGS
from gitnexus.runs.model import ENDED
from gitnexus.runs.order import LASTS, Order
from gitnexus.state.format import id_of


def handed_back(desk: RunDesk, wire: Wire, labels: tuple[str, ...], network: str) -> Order:
    """Put a run back into the queue of a remote, as far as it is here. Raises: NexusError; then nothing went there."""
    state, run = desk.state, desk.run
    require_agreement(desk)  # the order is signed with the key of who hands it on
    with desk.driving():
        _refuse_unready(desk)
        desk.checkpointed()
        kept = load(state.objects, run.id)
    signer = signer_of(state.repo)
    snapshot = state.required()
    Signed(snapshot, state.repo.common_dir).consented().public_of(signer.key_id)
    order = Order(
        id=run.id, project=id_of(snapshot) or "", title=run.title, agent=run.agent, base=run.base,
        workflow=(desk.workflow() or desk.definition()).plain(), created=run.created, key=signer.key_id, onto=run.onto,
        task=run.task, network=network, labels=tuple(sorted(set(labels))),
        expires=stamp(now() + LASTS), after=kept.head.seq if kept else 0,
    ).signed(signer)  # fmt: skip
    along = [Push(f"{LOGS}{run.id}", kept.commit)] if kept else []
    posted(state, wire, order, [*along, Push(desk.branch, tip(state.repo, desk.branch) or run.base)])
    return order


def _refuse_unready(desk: RunDesk) -> None:
    view = desk.view()
    if view.status in ENDED:
        raise Failed(
            f"{desk.run.id} is {view.status}: there is nothing left to do", fix=f"git nexus replay {desk.run.id}"
        )
    waits = [*(name for name, one in view.actions.items() if one.status == "waiting"), *view.questions]
    if waits:
        raise Failed(
            f"{desk.run.id} still waits for an answer: {', '.join(waits)}", fix=f"git nexus review {desk.run.id}"
        )
