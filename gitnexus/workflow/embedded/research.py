"""Researches by rule: searches the project's knowledge, quotes and cites passages, and lists open questions.

No model reads anything. A claim states that a passage says something, never what follows from it; its confidence is the
share of the question's terms in the passage. The same question at the same commits gives the same bytes.
"""

import itertools
from collections.abc import Iterator, Sequence

from gitnexus.base.text import one_line
from gitnexus.docgraph import DocumentFiles, read_doc_graph
from gitnexus.docgraph.model import Doc
from gitnexus.packs import Library
from gitnexus.prompts.model import Blocked, Claim, ResearchBundle
from gitnexus.workflow.embedded.knowledge_sources import (
    SourceText,
    passages_in_log,
    passages_in_references,
    passages_in_texts,
    state_texts,
)
from gitnexus.workflow.embedded.passages import Kind, Passage, TermWeights, passages_in_files
from gitnexus.workflow.embedded.question import OUTSIDE, parse_question
from gitnexus.workflow.specialist import ProjectView, WorkOrder

MOST_CLAIMS = 14
MOST_CONSTRAINTS = 30
# Of each kind at most so many, so that one loud file does not drown a note.
_SHARE: dict[Kind, int] = {
    "code": 6, "doc": 4, "memory": 3, "rule": 3, "context": 2, "research": 2, "task": 2, "cycle": 2, "commit": 2,
}  # fmt: skip
_LEAST_COVERAGE = 20
_CONSTRAINTS = ("GLOBAL_CONSTRAINTS", "CONSTRAINTS", "INVARIANTS")
_KINDS = {"memory": "note", "rule": "rule", "context": "page of context", "research": "piece of research",
          "task": "task", "cycle": "closed cycle"}  # fmt: skip


def research_by_rule(order: WorkOrder) -> ResearchBundle | Blocked:
    """Return what the project contains about a question; Blocked if there is nothing to search in or for."""
    if order.view is None:
        return Blocked(kind="needs_user_input", question="Where should be looked? No repository was given.")
    question = order.blocked.question if order.blocked else order.prompt or order.goal
    if not question.strip():
        return Blocked(kind="needs_user_input", question="What should be found out? The prompt is empty.")
    refs = [*(order.blocked.suggested_ctx if order.blocked else ()), *order.node.inputs.refs]
    return _build_bundle(question, refs, order, order.view)


def _build_bundle(question: str, refs: Sequence[str], order: WorkOrder, view: ProjectView) -> ResearchBundle:
    library = view.library
    weighed = TermWeights(parse_question(question, frozenset(library.base.paths())))
    files = passages_in_files(library.base, weighed, 40)
    texts = list(state_texts(library.state))
    noted = passages_in_texts(texts, weighed)
    commits, looked = passages_in_log(view, weighed)
    named, missing = passages_in_references(library, refs, weighed)
    found = frozenset[str]().union(*(one.held for one in (*files, *noted, *commits, *named)))
    chosen = _choose_passages(named, [*files, *noted, *commits], weighed, found)
    claims = [_claim_from_passage(one, weighed, one in named) for one in chosen]
    claims += _last_change(view, chosen)
    searched = _describe_search(library, weighed, texts, looked)
    return ResearchBundle(
        question=question,
        summary=_summarize_research(searched, chosen, weighed),
        claims=tuple(claims),
        constraints=tuple(_constraints_for_plan(library, chosen, order)),
        unresolved=tuple(_unresolved_questions(question, weighed, found, chosen, missing)),
    )


def _choose_passages(
    named: Sequence[Passage], others: Sequence[Passage], weighed: TermWeights, found_at_all: frozenset[str]
) -> list[Passage]:
    """Return the passages to cite: explicitly named ones first, then the best, not too many of one kind."""
    left = dict(_SHARE)
    found = list(named)
    seen = {one.ref for one in named}
    for one in sorted(others, key=lambda one: (-one.score, one.ref)):
        enough = weighed.coverage(one.held, found_at_all) >= _LEAST_COVERAGE or one.held & set(weighed.asked.literals)
        asked_for = any(one.ref.startswith(f"file:{path}#") for path in weighed.asked.paths)
        if one.ref in seen or not (enough or asked_for) or left[one.kind] < 1:
            continue
        left[one.kind] -= 1
        seen.add(one.ref)
        found.append(one)
    return found[:MOST_CLAIMS]


def _claim_from_passage(one: Passage, weighed: TermWeights, named: bool) -> Claim:
    return Claim(
        text=f"{_place_of_passage(one)}: “{one.quote}”",
        citations=(one.ref,),
        confidence=passage_confidence(one, weighed, named),
    )


def passage_confidence(one: Passage, weighed: TermWeights, named: bool = False) -> int:
    """Return the confidence that a passage answers the question: 20, plus up to 60 for its share of the question.

    Plus five for an exact match and for a defining line each, ten for an explicit reference. A file that the question
    names has 90.
    """
    literal = bool(one.held & set(weighed.asked.literals))
    if any(one.ref.startswith(f"file:{path}#") for path in weighed.asked.paths):
        return 90
    return min(95, 20 + round(0.6 * weighed.coverage(one.held)) + 5 * literal + 5 * one.defines + 10 * named)


def _last_change(view: ProjectView, chosen: Sequence[Passage]) -> Iterator[Claim]:
    """Yield the last commit of the best file, which often explains why something is as it is."""
    path = next((one.ref[5:].partition("#")[0] for one in chosen if one.ref.startswith("file:")), "")
    commits = view.touched(path, 5) if path and not path.startswith(".nexus/") else ()
    # A merge says who brought it in, not why.
    for commit in [one for one in commits if not one.subject.startswith("Merge ")][:1]:
        text = (
            f"{one_line(path, 200)} was last changed by the commit {commit.id[:12]}: “{one_line(commit.subject, 200)}”"
        )
        yield Claim(text=text, citations=(f"commit:{commit.id}",), confidence=90)


def _constraints_for_plan(library: Library, chosen: Sequence[Passage], order: WorkOrder) -> list[str]:
    """Return the constraints for a plan: from the agenda, the active phase, rules and answers."""
    graph = read_doc_graph(DocumentFiles(library.base, library.state))
    found: list[str] = []
    for doc in [*([graph.agenda] if graph.agenda else []), *graph.active]:
        found += _listed_constraints(doc)
    found += [f"{one.quote} ({one.ref})" for one in chosen if one.kind == "rule"]
    found += [f"{one_line(one.question, 200)} Answered: {one_line(one.answer, 400)}" for one in order.answers]
    return list(dict.fromkeys(found))[:MOST_CONSTRAINTS]


def _listed_constraints(doc: Doc) -> Iterator[str]:
    for name in _CONSTRAINTS:
        section = next((one for one in doc.sections if one.name == name), None)
        if section is not None and doc.sound:
            rows = [one for one in doc.items if section.first <= one.first <= section.last and one.depth == 1]
            yield from (f"{one_line(row.text, 300)} (doc:{doc.path}#{name})" for row in rows)


def _unresolved_questions(
    question: str, weighed: TermWeights, found: frozenset[str], chosen: Sequence[Passage], missing: Sequence[str]
) -> Iterator[str]:
    asked = weighed.asked
    known = {path for path in asked.paths if any(f"file:{path}" in one.ref for one in chosen)}
    if not chosen:
        yield f"Nothing that may be read here contains what is asked for: {one_line(question, 300)}"
    else:
        for term in (
            *(one for one in asked.terms if one not in found),
            *(one for one in asked.paths if one not in known),
        ):
            yield f"Nothing that may be read here contains “{one_line(asked.shown(term), 80)}”. Where is it?"
    for one in missing:
        yield f"A reference leads nowhere: {one_line(one, 300)}"
    if outside := OUTSIDE.search(question):
        yield f"“{outside[0]}” asks about what lies outside of the repository, and nothing outside was looked at."


def _describe_search(library: Library, weighed: TermWeights, texts: Sequence[SourceText], commits: int) -> str:
    rows = [f"{_format_count(weighed.files, 'file')} of {library.base.commit[:12]}"]
    for kind, group in itertools.groupby(texts, key=lambda one: one.kind):
        rows.append(_format_count(len(list(group)), _KINDS[kind]))
    rows.append(_format_count(commits, "commit"))
    sought = ", ".join(
        f"“{one_line(weighed.asked.shown(term), 60)}”" for term in (*weighed.asked.terms, *weighed.asked.paths)
    )
    return f"Searched {', '.join(rows)} for {sought or 'nothing in particular'}."


def _summarize_research(searched: str, chosen: Sequence[Passage], weighed: TermWeights) -> str:
    if not chosen:
        return f"Nothing was found that contains enough of the question. {searched}"
    parts = [f"{_place_of_passage(chosen[0])}: “{chosen[0].quote}” ({chosen[0].ref})."]
    parts += [f"Also {_place_of_passage(one)}: “{one.quote}”." for one in chosen[1:3]]
    whole = weighed.coverage(frozenset[str]().union(*(one.held for one in chosen)))
    count = f"{_format_count(len(chosen), 'passage')} contain" if len(chosen) > 1 else "One passage contains"
    share = f" {count} {whole} percent of the terms of the question." if weighed.asked.terms else ""
    parts.append(f"{searched}{share} No model read them.")
    return " ".join(parts)


def _place_of_passage(one: Passage) -> str:
    return one_line(one.where, 240)


def _format_count(number: int, word: str) -> str:
    plural = {"piece of research": "pieces of research", "page of context": "pages of context"}.get(word, f"{word}s")
    return f"{number} {word if number == 1 else plural}"
