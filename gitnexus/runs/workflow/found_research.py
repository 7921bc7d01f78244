"""Answers a research node from stored research if its sources are unchanged; asks again only about what changed."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import replace

from gitnexus.base.canonical import canonical_json, json_document
from gitnexus.base.errors import Invalid, NexusError
from gitnexus.docgraph.store import NEXUS, RESEARCH
from gitnexus.events.kinds import shorten_text
from gitnexus.packs import PackBudget, pack_references, render_pack
from gitnexus.packs.model import LARGEST_KIB
from gitnexus.packs.refs import KIND, MOST_REFS, parse_reference
from gitnexus.prompts.in_project import read_prompt_settings
from gitnexus.prompts.model import ResearchBundle
from gitnexus.redaction.hide import mask
from gitnexus.redaction.stored import known_secret_values
from gitnexus.runs.open_run import OpenRun
from gitnexus.runs.workflow.routing import workflow_settings
from gitnexus.workflow.embedded.research import research_by_rule
from gitnexus.workflow.research_reuse import (
    KeptResearch,
    ResearchSources,
    is_same_question,
    merged_research,
    parse_kept_research,
    plan_reuse,
    question_about_changes,
)
from gitnexus.workflow.run_definition import EMBEDDED, MODEL
from gitnexus.workflow.specialist import FUNCTIONS, ProjectView, WorkOrder, WorkResult

SOURCES = "sources.json"
_DEFAULT_KIB = 64


def research_or_reuse(
    run: OpenRun, order: WorkOrder, view: ProjectView, ask: Callable[[WorkOrder], WorkResult]
) -> WorkResult:
    """Return the result of a node, for research from what was kept, as far as that still holds.

    Rules are always asked: they cost nothing, and give the same bytes for the same sources. Raises: as `ask`.
    """
    if order.node.type != "research" or order.node.adapter in ("", EMBEDDED) or order.feedback:
        return ask(order)
    if not workflow_settings(run.state).reuse_research:
        return ask(order)
    question = order.blocked.question if order.blocked else order.prompt or order.goal
    asked, given = _describe_researcher(run, order), _digest_of_inputs(order)
    refs = [*order.node.inputs.refs, *_refs_by_rule(order)]
    kept = _find_kept_research(run, question, asked, given)
    if kept is None:
        result = ask(order)
        begun = ResearchSources(question=question, asked=asked, given=given, base="", digests={})
        _keep_sources(run, order, view, result, begun, refs)
        return result
    plan = plan_reuse(kept, _digest_sources(view, [*refs, *kept.sources.digests]))
    begun = kept.sources.changed(earlier=kept.id)
    if not plan.changed:
        _say(run, order, f"answered from {kept.id}: the same question, and the same sources as at {begun.base[:12]}")
        result = WorkResult(output=kept.bundle.changed(question=question))
        _keep_sources(run, order, view, result, begun, [*refs, *kept.sources.digests])
        return result
    holds = f"{len(plan.kept)} of {len(kept.bundle.claims)} findings of {kept.id} still hold"
    _say(run, order, f"{holds}; {len(plan.changed)} of its sources changed, and only those are looked up again")
    result = ask(_order_about_changes(order, view, question_about_changes(question, plan), plan.changed))
    if isinstance(result.output, ResearchBundle):
        result = replace(result, output=merged_research(kept, plan, result.output, question))
    _keep_sources(run, order, view, result, begun, refs)
    return result


def _find_kept_research(run: OpenRun, question: str, asked: str, given: str) -> KeptResearch | None:
    """Return the newest research that answered the same question."""
    snapshot = run.state.latest()
    folder = RESEARCH.removeprefix(NEXUS)
    for name in sorted((name for name in snapshot.names(folder) if name.endswith(".json")), reverse=True):
        kept = parse_kept_research(snapshot.read(f"{folder}/{name}") or b"")
        if kept is not None and is_same_question(kept, question, asked, given):
            return kept
    return None


def _describe_researcher(run: OpenRun, order: WorkOrder) -> str:
    """Return who is asked: another model may know better."""
    model = order.node.model
    if order.node.adapter == MODEL and not model:
        try:
            model = read_prompt_settings(run.state).endpoint_of(FUNCTIONS["research"]).model
        except NexusError:
            model = ""  # the call itself says what is wrong
    return f"{order.node.adapter} {model}".strip()


def _digest_of_inputs(order: WorkOrder) -> str:
    """Return a digest of what the researcher is given besides the question and the sources."""
    inputs = {id_: output.plain() for id_, output in order.inputs.items()}
    rest = [order.skill, order.node.role, [[one.question, one.answer] for one in order.answers]]
    return f"sha256:{hashlib.sha256(canonical_json([inputs, *rest])).hexdigest()}"


def _refs_by_rule(order: WorkOrder) -> list[str]:
    """Return the passages that a search by rule finds for the question: what a model is given to read."""
    found = research_by_rule(order)
    if not isinstance(found, ResearchBundle):
        return []
    refs = [ref for claim in found.claims for ref in claim.citations]
    # What was found out before is no source: with each answer there is more of it.
    return [ref for ref in refs if not ref.startswith(f"file:{RESEARCH}/")]


def _digest_sources(view: ProjectView, refs: Iterable[str]) -> dict[str, str]:
    """Return the digest of what each reference gives now; one that gives nothing is left out."""
    names = [name for ref in dict.fromkeys(refs) if (name := _reference_for(view, ref))]
    pack = pack_references(view.library, list(dict.fromkeys(names))[:MOST_REFS], PackBudget(kib=LARGEST_KIB))
    return {one.ref: f"sha256:{hashlib.sha256(one.text.encode('utf-8', 'replace')).hexdigest()}" for one in pack.pieces}


def _reference_for(view: ProjectView, cited: str) -> str:
    """Return the reference that a citation means, "" if it cannot be looked up: a model may cite a plain path."""
    path = cited.partition("#")[0].partition(":")[0]
    try:
        return str(parse_reference(cited if KIND.match(cited) else f"file:{path}"))
    except Invalid:
        return ""


def _keep_sources(
    run: OpenRun, order: WorkOrder, view: ProjectView, result: WorkResult, begun: ResearchSources, refs: list[str]
) -> None:
    """Keep with the run what an answer rests on, so that it goes to the state ref with the answer."""
    if not isinstance(result.output, ResearchBundle):
        return
    claims = result.output.claims
    cited_refs = (ref for claim in claims for ref in claim.citations)
    digests = _digest_sources(view, [*refs, *cited_refs, *result.sources])
    names = [[_reference_for(view, ref) for ref in claim.citations] for claim in claims]
    cited = tuple(tuple(row) if all(name in digests for name in row) else () for row in names)
    found = begun.changed(base=view.library.base.commit, digests=digests, cited=cited)
    kept = run.artifacts.write(SOURCES, json_document(found.plain()))
    body = {"name": SOURCES, "digest": kept.digest, "size": kept.size, "node": order.node.id}
    run.log.append("artifact.written", "nexus", body)


def _order_about_changes(order: WorkOrder, view: ProjectView, question: str, changed: tuple[str, ...]) -> WorkOrder:
    """Return the order that asks about changed sources, with nothing else to read."""
    budget = PackBudget(kib=min(order.node.budget.ctx_kib or _DEFAULT_KIB, LARGEST_KIB))
    pack = mask(render_pack(pack_references(view.library, list(changed)[:MOST_REFS], budget)), known_secret_values())
    blocked = order.blocked.changed(question=question) if order.blocked else None
    return replace(order, prompt=question, blocked=blocked, pack=pack)


def _say(run: OpenRun, order: WorkOrder, text: str) -> None:
    run.log.append("agent.progress", "nexus", {"text": shorten_text(text), "node": order.node.id})
    order.say(text)
