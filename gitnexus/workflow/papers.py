"""Plans and research as papers for people: Markdown beside the JSON, with an id and where it comes from.

Both are documents of the doc graph: `plans/` and `research/` on the state ref, named by their id. What a specialist
quotes is written so that nothing in it becomes a link, a heading or a row of the paper. Pure.
"""

import json
import re
from collections.abc import Iterator, Sequence

from gitnexus.base.record import Record
from gitnexus.base.text import visible
from gitnexus.prompts.model import Plan, PlanStep, ResearchBundle

# What means something to Markdown inside of a line; at its beginning a few more signs do.
_SIGNS = re.compile(r"([\\`*_\[\]<>{}|&~!#])")
_FIRST = re.compile(r"^([-+>=:]|\d+(?=[.)]))")


class Origin(Record):
    """Where a paper comes from: the run, who wrote it, and the task that the run was for."""

    run: str
    by: str = ""
    task: str = ""


def plan_path(run: str) -> str:
    """Return where the plan of a run lies on the state ref; its id is its name without the ending."""
    return f"plans/plan-{run}.json"


def research_path(run: str, node: str, kind: str = "research") -> str:
    """Return where the research, or the review, of a node lies on the state ref."""
    return f"research/{kind}-{run}-{node}.json"


def id_of(path: str) -> str:
    """Return the id of a paper."""
    return path.rpartition("/")[2].rpartition(".")[0]


def with_origin(text: str, path: str, origin: Origin) -> str:
    """Return a paper's Markdown with its front matter: the id, and links to what it comes from."""
    rows = [f"ID: {id_of(path)}", "LINKS:", f"  - run: {json.dumps(origin.run)}"]
    rows += [f"  - task: {json.dumps(origin.task)}"] if origin.task else []
    rows += [f"BY: {json.dumps(origin.by)}"] if origin.by else []
    return "\n".join(["---", *rows, "---", "", text])


def research_text(bundle: ResearchBundle, kind: str = "research") -> str:
    """Return research or a review for people: the summary, claims with their sources, what follows, what is open."""
    lines = [f"# {kind.capitalize()}: {_title(bundle.question)}", "", "SUMMARY:"]
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
