"""The pack of a node: what it, its plan's step or its question names, within its budget, at the run's last commit."""

from collections.abc import Iterator

from gitnexus.app.packs import pack_of, text_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.canonical import document
from gitnexus.base.errors import Invalid
from gitnexus.events.kinds import short
from gitnexus.packs import Budget
from gitnexus.packs.refs import KIND, MOST_REFS, parsed
from gitnexus.workflow.definition import WorkflowDefinition
from gitnexus.workflow.specialist import Order

PACK = "pack.json"


def pack_for(desk: RunDesk, definition: WorkflowDefinition, order: Order, base: str) -> str:
    """Return the text of the pack, which is kept with the run; nothing where nobody names anything."""
    refs, wrong = [], []
    for ref in dict.fromkeys(_named(order)):
        try:
            refs.append(str(parsed(ref)))
        except Invalid as exc:
            wrong.append(exc.message)
    if wrong:
        # Who names it is often a model: that is told, and does no harm.
        text = short(f"left out of the pack: {'; '.join(wrong)}", 1000)
        desk.log.append("agent.progress", "nexus", {"text": text, "node": order.node.id})
    if not refs:
        return ""
    kib = order.node.budget.ctx_kib or definition.budgets.max_ctx_kib
    pack = pack_of(desk.state, refs[:MOST_REFS], Budget(kib=kib) if kib else None, base)
    kept = desk.artifacts.write(PACK, document(pack.plain()))
    body = {"name": PACK, "digest": kept.digest, "size": kept.size, "node": order.node.id}
    desk.log.append("artifact.written", "nexus", body)
    return text_of(pack)


def _named(order: Order) -> Iterator[str]:
    yield from order.node.inputs.refs
    if order.blocked is not None:
        yield from order.blocked.suggested_ctx
    step = next((one for one in order.plan.steps if one.id == order.step), None) if order.plan and order.step else None
    if step is not None:
        # Without a kind it is a document; a planner may name a task or lines of a file as well.
        yield from (ref if KIND.match(ref) else f"doc:{ref}" for ref in step.ctx.docs)
        yield from (f"file:{path}" for path in step.ctx.paths)
        yield from (f"grep:{words}" for words in step.ctx.grep)
