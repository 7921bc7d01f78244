"""What a node is given to read, within its budget: the skills it is to work by, then a pack at the run's last commit of
what it, its plan's step or its question names."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitnexus.app.nodeskill import skill_text_of
from gitnexus.app.packs import pack_of, text_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.base.canonical import document
from gitnexus.base.errors import Invalid
from gitnexus.catalog.routing import SKILL
from gitnexus.events.kinds import short
from gitnexus.packs import Budget
from gitnexus.packs.refs import KIND, MOST_REFS, parsed
from gitnexus.workflow.definition import WorkflowDefinition
from gitnexus.workflow.specialist import Order

PACK, KEPT_SKILL = "pack.json", "skill.md"


def with_pack(desk: RunDesk, definition: WorkflowDefinition, order: Order, base: str) -> Order:
    """Return the order with the texts of its skills and its pack, which are kept with the run. Raises: NexusError."""
    kib = order.node.budget.ctx_kib or definition.budgets.max_ctx_kib or Budget().kib
    inputs = order.node.inputs
    skills = [ref for ref in inputs.refs if ref.startswith(SKILL)]
    text, wrong = skill_text_of(desk, skills, order.node.adapter, kib * 1024)
    if text:
        _keep(desk, KEPT_SKILL, text.encode(), order)
    kib -= -(-len(text.encode()) // 1024)
    # What is left of the references is looked up in the repository, by rules too: to them a skill says nothing.
    rest = tuple(ref for ref in inputs.refs if not ref.startswith(SKILL))
    given = replace(order, node=order.node.changed(inputs=inputs.changed(refs=rest)), skill=text)
    refs = []
    for ref in dict.fromkeys(_named(given)):
        try:
            refs.append(str(parsed(ref)))
        except Invalid as exc:
            wrong.append(exc.message)
    if refs and kib < 1:
        wrong.append(f"{len(refs)} references, for which no room is left")
    _tell(desk, order, wrong)
    if not refs or kib < 1:
        return given
    pack = pack_of(desk.state, refs[:MOST_REFS], Budget(kib=kib), base)
    _keep(desk, PACK, document(pack.plain()), order)
    return replace(given, pack=text_of(pack))


def _tell(desk: RunDesk, order: Order, wrong: Sequence[str]) -> None:
    """Say what is missing. Who names it is often a model: that is told, and does no harm."""
    if wrong:
        text = short(f"left out of the pack: {'; '.join(wrong)}", 1000)
        desk.log.append("agent.progress", "nexus", {"text": text, "node": order.node.id})


def _keep(desk: RunDesk, name: str, raw: bytes, order: Order) -> None:
    kept = desk.artifacts.write(name, raw)
    body = {"name": name, "digest": kept.digest, "size": kept.size, "node": order.node.id}
    # A call that was killed, or whose answer was of no use, is given the same again: that is told once.
    if any(event.kind == "artifact.written" and event.body == body for event in desk.log.read()):
        return
    desk.log.append("artifact.written", "nexus", body)


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
