"""Adds skills and a context pack to a node's work order, within its budget, from the references it names."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from gitnexus.base.canonical import json_document
from gitnexus.base.errors import Invalid
from gitnexus.catalog.routing import SKILL
from gitnexus.events.kinds import shorten_text
from gitnexus.packs import PackBudget
from gitnexus.packs.refs import KIND, MOST_REFS, parse_reference
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.packs import build_pack, pack_text
from gitnexus.runs.workflow.skills import render_skills
from gitnexus.workflow.definition import WorkflowDefinition
from gitnexus.workflow.specialist import WorkOrder

PACK, KEPT_SKILL = "pack.json", "skill.md"


def with_context_pack(run: OpenRun, definition: WorkflowDefinition, order: WorkOrder, base: str) -> WorkOrder:
    """Return the order with its skills and its pack, which are stored with the run. Raises: NexusError."""
    kib = order.node.budget.ctx_kib or definition.budgets.max_ctx_kib or PackBudget().kib
    inputs = order.node.inputs
    skills = [ref for ref in inputs.refs if ref.startswith(SKILL)]
    text, wrong = render_skills(run, skills, order.node.adapter, kib * 1024)
    if text:
        _save_artifact(run, KEPT_SKILL, text.encode(), order)
    kib -= -(-len(text.encode()) // 1024)
    # The remaining references are looked up in the repository, also for rules, to which skills mean nothing.
    rest = tuple(ref for ref in inputs.refs if not ref.startswith(SKILL))
    given = replace(order, node=order.node.changed(inputs=inputs.changed(refs=rest)), skill=text)
    refs = []
    for ref in dict.fromkeys(_named_references(given)):
        try:
            refs.append(str(parse_reference(ref)))
        except Invalid as exc:
            wrong.append(exc.message)
    if refs and kib < 1:
        wrong.append(f"{len(refs)} references, for which no room is left")
    _log_left_out(run, order, wrong)
    if not refs or kib < 1:
        return given
    pack = build_pack(run.state, refs[:MOST_REFS], PackBudget(kib=kib), base)
    _save_artifact(run, PACK, json_document(pack.plain()), order)
    return replace(given, pack=pack_text(pack))


def _log_left_out(run: OpenRun, order: WorkOrder, wrong: Sequence[str]) -> None:
    """Log the missing references. Often a model named them, so this is not an error."""
    if wrong:
        text = shorten_text(f"left out of the pack: {'; '.join(wrong)}", 1000)
        run.log.append("agent.progress", "nexus", {"text": text, "node": order.node.id})


def _save_artifact(run: OpenRun, name: str, raw: bytes, order: WorkOrder) -> None:
    kept = run.artifacts.write(name, raw)
    body = {"name": name, "digest": kept.digest, "size": kept.size, "node": order.node.id}
    # A repeated call gets the same order: log it once.
    if any(event.kind == "artifact.written" and event.body == body for event in run.log.read()):
        return
    run.log.append("artifact.written", "nexus", body)


def _named_references(order: WorkOrder) -> Iterator[str]:
    yield from order.node.inputs.refs
    if order.blocked is not None:
        yield from order.blocked.suggested_ctx
    step = next((one for one in order.plan.steps if one.id == order.step), None) if order.plan and order.step else None
    if step is not None:
        # Without a kind it is a document; a planner may also name a task or lines of a file.
        yield from (ref if KIND.match(ref) else f"doc:{ref}" for ref in step.ctx.docs)
        yield from (f"file:{path}" for path in step.ctx.paths)
        yield from (f"grep:{words}" for words in step.ctx.grep)
