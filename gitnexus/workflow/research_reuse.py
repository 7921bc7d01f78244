"""Decides whether research that was kept still answers a question, and what has to be asked again. Pure."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gitnexus.base.canonical import parse_json
from gitnexus.base.document import Document, Many
from gitnexus.base.errors import Invalid
from gitnexus.prompts.model import Claim, ResearchBundle
from gitnexus.workflow.papers import parse_research_paper

_MOST_NAMED = 40


class ResearchSources(Document):
    """What an answer rests on: the question, who was asked, what else they were given, and the digest of each source.

    `digests` are by reference. `cited` are the references of each claim, in the order of the claims; a claim that
    cites nothing that can be looked up has none. `earlier` is the id of the research that it was taken from,
    whole or in part.
    """

    question: str
    asked: str
    given: str
    base: str
    digests: dict[str, str]
    cited: Many[Many[str]] = ()
    earlier: str = ""


class KeptResearch(NamedTuple):
    """Research on the state ref, with what it rests on."""

    id: str
    bundle: ResearchBundle
    sources: ResearchSources


class ReusePlan(NamedTuple):
    """What of kept research still holds, and the references whose sources changed since."""

    kept: tuple[Claim, ...]
    changed: tuple[str, ...]


def parse_kept_research(raw: bytes) -> KeptResearch | None:
    """Return the research in a file of the state ref, None if it does not say what it rests on."""
    try:
        value: Any = parse_json(raw)
        origin = value.get("origin") if isinstance(value, dict) else None
        if not isinstance(origin, dict) or not isinstance(origin.get("sources"), dict):
            return None
        sources = ResearchSources.from_value(origin["sources"], "sources")
        return KeptResearch(str(value.get("id", "")), parse_research_paper(value, "research"), sources)
    except Invalid:
        return None


def is_same_question(kept: KeptResearch, question: str, asked: str, given: str) -> bool:
    """Return True for the same question to the same researcher with the same things besides the sources."""
    same = " ".join(kept.sources.question.split()).casefold() == " ".join(question.split()).casefold()
    return same and (kept.sources.asked, kept.sources.given) == (asked, given)


def plan_reuse(kept: KeptResearch, now: Mapping[str, str]) -> ReusePlan:
    """Return which claims still hold, given the present digests of the sources, and what changed.

    A source that is gone or new counts as changed. A claim holds if all that it cites is unchanged; one that cites
    nothing that can be looked up holds only if nothing at all changed.
    """
    before = kept.sources.digests
    changed = tuple(ref for ref in dict.fromkeys((*before, *now)) if before.get(ref) != now.get(ref))
    if not changed:
        return ReusePlan(kept.bundle.claims, ())
    rows = zip(kept.bundle.claims, kept.sources.cited, strict=False)
    return ReusePlan(tuple(claim for claim, refs in rows if refs and not set(refs) & set(changed)), changed)


def question_about_changes(question: str, plan: ReusePlan) -> str:
    """Return the question for the next call: what is still valid, and which sources changed."""
    lines = [question, "", "This was answered before. Its sources that changed since then:"]
    lines += [f"- {ref}" for ref in plan.changed[:_MOST_NAMED]]
    lines += [f"- and {len(plan.changed) - _MOST_NAMED} more"] if len(plan.changed) > _MOST_NAMED else []
    if plan.kept:
        lines += ["", "These findings still hold, because their sources did not change. Do not repeat them:"]
        lines += [f"- {' '.join(claim.text.split())}" for claim in plan.kept]
    return "\n".join([*lines, "", "Answer only for what changed."])


def merged_research(kept: KeptResearch, plan: ReusePlan, new: ResearchBundle, question: str) -> ResearchBundle:
    """Return the answer to the whole question: what is still valid, and what was found now."""
    summary = new.summary
    if plan.kept:
        summary = f"{new.summary}\nFrom earlier research, whose sources did not change: {kept.bundle.summary}"
    texts = {claim.text for claim in new.claims}
    return ResearchBundle(
        question=question,
        summary=summary,
        claims=(*(claim for claim in plan.kept if claim.text not in texts), *new.claims),
        constraints=tuple(dict.fromkeys((*(kept.bundle.constraints if plan.kept else ()), *new.constraints))),
        unresolved=tuple(dict.fromkeys((*(kept.bundle.unresolved if plan.kept else ()), *new.unresolved))),
    )
