"""Renders plans and research as documents: JSON with an id and its origin for programs, Markdown for people. Pure.

Both are documents of the doc graph: `plans/` and `research/` on the state ref, linked by id. Quoted text is escaped, so
that nothing in it becomes a link, a heading or a row of the document.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gitnexus.base.canonical import json_document
from gitnexus.base.document import Document
from gitnexus.base.frontmatter import render_front_matter
from gitnexus.base.text import make_visible
from gitnexus.docgraph.store import NEXUS, PLANS, RESEARCH
from gitnexus.prompts.model import Form, Plan, PlanStep, ResearchBundle

LONGEST_ID = 80
_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")
# What means something to Markdown inside of a line; at its beginning a few more signs do.
_SIGNS = re.compile(r"([\\`*_\[\]<>{}|&~!#])")
_FIRST = re.compile(r"^([-+>=:]|\d+(?=[.)]))")


class PaperOrigin(Document):
    """The origin of a document: the run and node, its author, and the commits it is based on."""

    run: str
    node: str
    by: str = ""
    base: str = ""
    state: str = ""
    task: str = ""


def paper_id(kind: str, origin: PaperOrigin) -> str:
    """Return the id of a document: research.RUN.NODE or plan.RUN.NODE, shortened to the maximum length of ids."""
    plain = _PLAIN.sub("-", f"{kind}.{origin.run}.{origin.node}")
    if len(plain) <= LONGEST_ID:
        return plain
    return f"{plain[: LONGEST_ID - 9]}-{hashlib.sha256(plain.encode()).hexdigest()[:8]}"


def paper_files(
    output: Plan | ResearchBundle, origin: PaperOrigin, kind: str = "", sources: Mapping[str, Any] | None = None
) -> dict[str, bytes]:
    """Return the files of a document by their paths on the state ref. `kind`: plan, research or review.

    `sources` are what research rests on, to find out later whether it still holds.
    """
    kind = kind or ("plan" if isinstance(output, Plan) else "research")
    id_ = paper_id(kind, origin)
    folder = (PLANS if isinstance(output, Plan) else RESEARCH).removeprefix(NEXUS)
    path = f"{folder}/{id_}.json"
    text = render_plan(output) if isinstance(output, Plan) else render_research(output, kind)
    whole = "\n".join([*_front_matter_lines(id_, origin), text])
    return {
        path: json_document(paper_as_json(output, origin, id_, sources)),
        f"{folder}/{id_}.md": whole.encode("utf-8", "replace"),
    }


def paper_as_json(
    output: Form, origin: PaperOrigin, id_: str, sources: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the JSON of a document: the output's own fields, with id and origin, and what it rests on, added."""
    told = {key: value for key, value in origin.plain().items() if value}
    more = {"sources": dict(sources)} if sources else {}
    return {"id": id_, "origin": {**told, **more}, **output.plain()}


def parse_research_paper(value: dict[str, Any], where: str) -> ResearchBundle:
    """Return the research in the JSON of a document or of a specialist's output. Raises: Invalid."""
    return ResearchBundle.from_value({key: item for key, item in value.items() if key not in ("id", "origin")}, where)


def render_research(bundle: ResearchBundle, kind: str = "research") -> str:
    """Render research or a review as Markdown: summary, claims with sources, implications, open questions."""
    lines = [f"# {kind.capitalize()}: {_format_title(bundle.question)}", "", "SUMMARY:", ""]
    lines += [f"- {_escape_markdown(one)}" for one in _split_sentences(bundle.summary)] or ["- nothing was found"]
    lines += ["", "CLAIMS:"] if bundle.claims else []
    for claim in bundle.claims:
        lines.append(f"- {_escape_markdown(claim.text)} ({claim.confidence} %)")
        lines += [f"  - {_as_inline_code(ref)}" for ref in claim.citations]
    lines += _list_section("CONSTRAINTS", bundle.constraints)
    lines += _list_section("OPEN_QUESTIONS", bundle.unresolved)
    return "\n".join(lines) + "\n"


def render_plan(plan: Plan) -> str:
    """Render a plan as Markdown: each step with its files, acceptance criteria and dependencies."""
    lines = [f"# Plan: {_format_title(plan.goal)}", "", "STEPS:"]
    for step in plan.steps:
        lines.append(f"- {_escape_markdown(step.id)}: {_escape_markdown(step.title)}")
        lines += [f"  - {row}" for row in _details_of_step(step)]
    lines += _list_section("OPEN_QUESTIONS", plan.questions)
    return "\n".join(lines) + "\n"


def _details_of_step(step: PlanStep) -> Iterator[str]:
    if step.files:
        yield f"files: {', '.join(map(_as_inline_code, step.files))}"
    if step.baml is not None:
        diffs = sum(key.startswith("diff") for key in step.baml.inputs)
        if diffs:
            yield f"patches: {diffs}"
    yield from (f"run: {_as_inline_code(' '.join(argv))}" for argv in step.commands)
    yield from (f"must hold: {_escape_markdown(one)}" for one in step.accept)
    yield from (f"open: {_escape_markdown(one)}" for one in step.questions)
    if step.depends:
        yield f"after: {', '.join(map(_escape_markdown, step.depends))}"
    if step.risk:
        yield f"risk: {step.risk} of 3"


def _front_matter_lines(id_: str, origin: PaperOrigin) -> list[str]:
    rows = [f"ID: {id_}", "LINKS:", f"  - run: {json.dumps(origin.run)}"]
    rows += [f"  - task: {json.dumps(origin.task)}"] if origin.task else []
    told = [("BY", origin.by), ("BASE", origin.base), ("STATE", origin.state)]
    return render_front_matter([*rows, *(f"{name}: {json.dumps(value)}" for name, value in told if value)]).split("\n")


def _list_section(name: str, rows: Sequence[str]) -> list[str]:
    return ["", f"{name}:", *(f"- {_escape_markdown(row)}" for row in rows)] if rows else []


def _split_sentences(text: str) -> list[str]:
    """Return a text as rows, one per line or sentence; the doc graph wants rows, not prose."""
    parts = [part for line in text.split("\n") for part in re.split(r"(?<=[.!?])\s+(?=[A-Z“])", line)]
    return [part.strip() for part in parts if part.strip()]


def _format_title(text: str) -> str:
    plain = " ".join(text.split())
    return _escape_markdown(plain if len(plain) <= 200 else f"{plain[:199]}…")


def _escape_markdown(text: str) -> str:
    """Return a text on one line with all Markdown escaped."""
    plain = " ".join(make_visible(text).split())
    return _FIRST.sub(r"\\\1", _SIGNS.sub(r"\\\1", plain)) or "(nothing)"


def _as_inline_code(text: str) -> str:
    """Return a text as inline code, with as many backticks as it needs."""
    plain = " ".join(make_visible(text).split())
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    mark = "`" * (longest + 1)
    return f"{mark} {plain} {mark}" if "`" in plain else f"`{plain or ' '}`"
