"""Puts a run that was answered here back into a remote's queue: pushes its log, its branch and a new order."""

from gitnexus.base.clock import format_timestamp, utc_now
from gitnexus.base.errors import Failed
from gitnexus.events.checkpoint import load_checkpoint
from gitnexus.git.branches import tip_of_ref
from gitnexus.git.exchange import RefUpdate as Push
from gitnexus.policy.signed import SignedFiles
from gitnexus.policy.trust import signer_for_repo
from gitnexus.runs.archive import LOGS
from gitnexus.runs.foreign_consent import require_agreement
from gitnexus.runs.model import ENDED
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.order import LASTS, RunOrder
from gitnexus.state.format import project_id_of
from gitnexus.sync.remote import Remote
from gitnexus.workers.queue import push_order


def requeue_run(open_run: OpenRun, remote: Remote, labels: tuple[str, ...], network: str) -> RunOrder:
    """Put a run back into the queue of a remote. Raises: NexusError; then nothing was pushed."""
    state, run = open_run.state, open_run.record
    require_agreement(open_run)  # the order is signed with the local approver's key
    with open_run.undriven():
        _refuse_unready_run(open_run)
        open_run.write_checkpoint()
        kept = load_checkpoint(state.objects, run.id)
    signer = signer_for_repo(state.repo)
    snapshot = state.required()
    SignedFiles(snapshot, state.repo.common_dir).approvers_with_consent().public_of(signer.key_id)
    order = RunOrder(
        id=run.id,
        project=project_id_of(snapshot) or "",
        title=run.title,
        agent=run.agent,
        base=run.base,
        workflow=(open_run.workflow() or open_run.definition()).plain(),
        created=run.created,
        key=signer.key_id,
        onto=run.onto,
        task=run.task,
        network=network,
        labels=tuple(sorted(set(labels))),
        expires=format_timestamp(utc_now() + LASTS),
        after=kept.head.seq if kept else 0,
    ).signed(signer)
    along = [Push(f"{LOGS}{run.id}", kept.commit)] if kept else []
    push_order(
        state, remote, order, [*along, Push(open_run.branch, tip_of_ref(state.repo, open_run.branch) or run.base)]
    )
    return order


def _refuse_unready_run(run: OpenRun) -> None:
    view = run.view()
    if view.status in ENDED:
        raise Failed(
            f"{run.record.id} is {view.status}: there is nothing left to do", fix=f"git nexus replay {run.record.id}"
        )
    waits = [*(name for name, one in view.actions.items() if one.status == "waiting"), *view.questions]
    if waits:
        raise Failed(
            f"{run.record.id} still waits for an answer: {', '.join(waits)}", fix=f"git nexus review {run.record.id}"
        )
