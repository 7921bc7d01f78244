"""Plans and research as papers: JSON for programs with an id and where it comes from, Markdown for people.

Both are documents of the doc graph: `plans/` and `research/` on the state ref, linked by id. What a specialist quotes
is written so that nothing in it becomes a link, a heading or a row of the paper. Pure.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from gitnexus.base.canonical import document
from gitnexus.base.record import Record
from gitnexus.base.text import visible
from gitnexus.docgraph.store import NEXUS, PLANS, RESEARCH
from gitnexus.prompts.model import Form, Plan, PlanStep, ResearchBundle

LONGEST_ID = 80
_PLAIN = re.compile(r"[^A-Za-z0-9_.-]")
# What means something to Markdown inside of a line; at its beginning a few more signs do.
_SIGNS = re.compile(r"([\\`*_\[\]<>{}|&~!#])")
_FIRST = re.compile(r"^([-+>=:]|\d+(?=[.)]))")


class Origin(Record):
    """Where a paper comes from: the run and its node, who wrote it, and the commits that were looked at."""

    run: str
    node: str
    by: str = ""
    base: str = ""
    state: str = ""
    task: str = ""


def paper_id(kind: str, origin: Origin) -> str:
    """Return the id of a paper: research.RUN.NODE, plan.RUN.NODE, as short as ids have to be."""
    plain = _PLAIN.sub("-", f"{kind}.{origin.run}.{origin.node}")
    if len(plain) <= LONGEST_ID:
        return plain
    return f"{plain[: LONGEST_ID - 9]}-{hashlib.sha256(plain.encode()).hexdigest()[:8]}"


def papers_of(output: Plan | ResearchBundle, origin: Origin, kind: str = "") -> dict[str, bytes]:
    """Return the files of a paper by their paths on the state ref. `kind`: plan, research or review."""
    kind = kind or ("plan" if isinstance(output, Plan) else "research")
    id_ = paper_id(kind, origin)
    folder = (PLANS if isinstance(output, Plan) else RESEARCH).removeprefix(NEXUS)
    path = f"{folder}/{id_}.json"
    text = plan_text(output) if isinstance(output, Plan) else research_text(output, kind)
    whole = "\n".join([*_front(id_, origin), text])
    return {path: document(paper(output, origin, id_)), f"{folder}/{id_}.md": whole.encode("utf-8", "replace")}


def paper(output: Form, origin: Origin, id_: str) -> dict[str, Any]:
    """Return the JSON of a paper: the output's own fields, with the id and where it comes from beside them."""
    told = {key: value for key, value in origin.plain().items() if value}
    return {"id": id_, "origin": told, **output.plain()}


def plan_in(value: dict[str, Any], where: str) -> Plan:
    """Return the plan in the JSON of a paper, or in a plan as a specialist gives it. Raises: Invalid."""
    return Plan.from_value({key: item for key, item in value.items() if key not in ("id", "origin")}, where)


def research_in(value: dict[str, Any], where: str) -> ResearchBundle:
    """Return the research in the JSON of a paper, or as a specialist gives it. Raises: Invalid."""
    return ResearchBundle.from_value({key: item for key, item in value.items() if key not in ("id", "origin")}, where)


def research_text(bundle: ResearchBundle, kind: str = "research") -> str:
    """Return research or a review for people: the summary, claims with their sources, what follows, what is open."""
    lines = [f"# {kind.capitalize()}: {_title(bundle.question)}", "", "SUMMARY:", ""]
    lines += [f"- {_line(one)}" for one in _sentences(bundle.summary)] or ["- nothing was found"]
    lines += ["", "CLAIMS:"] if bundle.claims else []
    for claim in bundle.claims:
        lines.append(f"- {_line(claim.text)} ({claim.confidence} %)")
        lines += [f"  - {_code(ref)}" for ref in claim.citations]
    lines += _listed("CONSTRAINTS", bundle.constraints)
    lines += _listed("OPEN_QUESTIONS", bundle.unresolved)
    return "\n".join(lines) + "\n"


def plan_text(plan: Plan) -> str:
    """Return a plan for people: each step with what it touches, what proves it, and what it waits for."""
    lines = [f"# Plan: {_title(plan.goal)}", "", "STEPS:"]
    for step in plan.steps:
        lines.append(f"- {_line(step.id)}: {_line(step.title)}")
        lines += [f"  - {row}" for row in _told(step)]
    lines += _listed("OPEN_QUESTIONS", plan.questions)
    return "\n".join(lines) + "\n"


def _told(step: PlanStep) -> Iterator[str]:
    if step.files:
        yield f"files: {', '.join(map(_code, step.files))}"
    if step.baml is not None:
        diffs = sum(key.startswith("diff") for key in step.baml.inputs)
        if diffs:
            yield f"patches: {diffs}"
    yield from (f"run: {_code(' '.join(argv))}" for argv in step.commands)
    yield from (f"must hold: {_line(one)}" for one in step.accept)
    yield from (f"open: {_line(one)}" for one in step.questions)
    if step.depends:
        yield f"after: {', '.join(map(_line, step.depends))}"
    if step.risk:
        yield f"risk: {step.risk} of 3"


def _front(id_: str, origin: Origin) -> list[str]:
    rows = [f"ID: {id_}", "LINKS:", f"  - run: {json.dumps(origin.run)}"]
    rows += [f"  - task: {json.dumps(origin.task)}"] if origin.task else []
    told = [("BY", origin.by), ("BASE", origin.base), ("STATE", origin.state)]
    return ["---", *rows, *(f"{name}: {json.dumps(value)}" for name, value in told if value), "---", ""]


def _listed(name: str, rows: Sequence[str]) -> list[str]:
    return ["", f"{name}:", *(f"- {_line(row)}" for row in rows)] if rows else []


def _sentences(text: str) -> list[str]:
    """Return a text as rows: its lines, and long ones sentence by sentence; the doc graph wants rows, not prose."""
    parts = [part for line in text.split("\n") for part in re.split(r"(?<=[.!?])\s+(?=[A-Z“])", line)]
    return [part.strip() for part in parts if part.strip()]


def _title(text: str) -> str:
    plain = " ".join(text.split())
    return _line(plain if len(plain) <= 200 else f"{plain[:199]}…")


def _line(text: str) -> str:
    """Return a text on one line in which Markdown finds nothing."""
    plain = " ".join(visible(text).split())
    return _FIRST.sub(r"\\\1", _SIGNS.sub(r"\\\1", plain)) or "(nothing)"


def _code(text: str) -> str:
    """Return a text as code, in as many marks as it takes."""
    plain = " ".join(visible(text).split())
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    mark = "`" * (longest + 1)
    return f"{mark} {plain} {mark}" if "`" in plain else f"`{plain or ' '}`"
