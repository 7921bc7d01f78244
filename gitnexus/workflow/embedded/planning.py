"""A plan by rule: a list that somebody wrote becomes steps. What nobody wrote down is not made up."""

import re
from collections.abc import Iterator, Sequence

from gitnexus.base.text import one_line
from gitnexus.prompts.model import Blocked, Plan, PlanStep, ResearchBundle
from gitnexus.workflow.embedded.carried import is_work
from gitnexus.workflow.embedded.lists import Lists, in_text, plain_in
from gitnexus.workflow.embedded.outline import Row, outline_of
from gitnexus.workflow.embedded.steps import Made, Source
from gitnexus.workflow.specialist import Order
from gitnexus.workflow.words import ASKING, FILLERS, QUESTIONS, VERBS

LONGEST_GOAL = 2000
MOST_QUESTIONS = 40
_CITED = re.compile(r"\((?:see )?((?:doc|rule|file|memory|context):[^)\s]+)\)")
_SURE = 60
_MOST_REFS = 8
_FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_LISTED = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]", re.MULTILINE)
_BOUNDS = re.compile(
    r"\n+|(?<=[.!?;])\s+|\s*,?\s+(?:and then|then|afterwards|und dann|danach|anschließend)\s+", re.IGNORECASE
)
_HINT = "a list such as - [ ] write the test, a task with an acceptance list, or a phase of the agenda"


def planned(order: Order) -> Plan | Blocked:
    """Return the steps that a task, a phase, a checklist or the prompt itself lists; Blocked where nothing does."""
    text = (order.prompt or order.goal).strip()
    lists = Lists(order.view.library) if order.view is not None else None
    sources = sources_of(order, text, lists)
    if not sources:
        return _nothing(text, lists)
    made = Made(lists.known if lists else ())
    for source in sources:
        made.add(source)
    if not made.steps:
        done = ", ".join(one.what for one in sources)
        return Blocked(
            kind="needs_user_input",
            question=f"What is left to do? Every row of {done} is ticked.",
            suggested_ctx=tuple(one.ref for one in sources if one.ref),
        )
    bundles = [one for one in order.inputs.values() if isinstance(one, ResearchBundle)]
    steps = [informed(step, bundles) for step in made.steps]
    return Plan(
        goal=_goal(order.goal or text, sources),
        steps=tuple(steps),
        questions=tuple(_questions(made, steps, bundles, lists))[:MOST_QUESTIONS],
    )


def sources_of(order: Order, text: str, lists: Lists | None) -> list[Source]:
    """Return the lists to plan from: one that was given outright, else those that are named, else the prompt's own."""
    for answer in reversed(order.answers):
        if found := in_text(answer.answer, "the answer") or plain_in(answer.answer, "the answer"):
            return [found]
    if found := in_text(text, "the checklist in the prompt"):
        return [found]
    if lists is not None and (named := lists.named(text, order.node.inputs.refs, order.task)):
        return named
    if found := plain_in(text, "the list in the prompt"):
        return [found]
    if lists is not None and (found := lists.active(text)):
        return [found]
    rows = list(clauses(text))
    return [Source("the prompt", "", tuple(rows))] if rows else []


def clauses(text: str) -> Iterator[Row]:
    """Yield what a prompt asks for, clause by clause; its code belongs to the last one. Nothing for a question."""
    code = [block for block in outline_of(text).code if is_work(block)]
    told = [part.strip(" ,;\n") for part in _BOUNDS.split(_FENCED.sub("\n", text)) if part and part.strip(" ,;\n")]
    asks = [part for part in told if _is_request(part)]
    if not asks and code:
        asks = told[:1] or ["Do what the prompt carries"]
    if not asks and told and not any(_is_question(part) for part in told):
        asks = told[:1]
    for at, part in enumerate(asks):
        last = at == len(asks) - 1
        yield Row(part.rstrip(".:"), ordered=True, code=code if last else [])


def informed(step: PlanStep, bundles: Sequence[ResearchBundle]) -> PlanStep:
    """Return a step that is shown what research found about it: passages of its files, and what constrains it."""
    cited = [
        ref
        for bundle in bundles
        for claim in bundle.claims
        if claim.confidence >= _SURE
        for ref in claim.citations
        if ref.startswith(("file:", "doc:", "memory:", "rule:", "context:")) and _concerns(step, ref)
    ]
    ruled = [ref for bundle in bundles for rule in bundle.constraints for ref in _CITED.findall(rule)]
    docs = list(dict.fromkeys([*step.ctx.docs, *ruled, *cited]))[: _MOST_REFS + len(step.ctx.docs)]
    return step.changed(ctx=step.ctx.changed(docs=tuple(docs)))


def _goal(text: str, sources: Sequence[Source]) -> str:
    """Return what is to be reached: the words above the list, else the lists that steps were made of."""
    above = text[: found.start()] if (found := _LISTED.search(text)) else text
    said = " ".join(_FENCED.sub(" ", above).split()).rstrip(":")
    return one_line(said or "; ".join(one.what for one in sources), LONGEST_GOAL)


def _concerns(step: PlanStep, ref: str) -> bool:
    """True if a step names no files, or the one that is cited."""
    path = ref.partition(":")[2].partition("#")[0]
    return not step.files or path in step.files or any(path.startswith(f"{one.rstrip('/')}/") for one in step.files)


def _questions(
    made: Made, steps: Sequence[PlanStep], bundles: Sequence[ResearchBundle], lists: Lists | None
) -> Iterator[str]:
    yield from made.questions
    if lists is not None:
        yield from (f"Note: {one_line(one, 300)}." for one in dict.fromkeys(lists.missing))
    bare = [step.id for step in steps if not step.commands and not (step.baml and step.baml.inputs)]
    if bare:
        verb = "says" if len(bare) == 1 else "say"
        named = ", ".join(bare[:20])
        yield f"{named} {verb} what to reach and not how: without a command or a patch only an agent can do it."
    yield from dict.fromkeys(one for bundle in bundles for one in bundle.unresolved)


def _nothing(text: str, lists: Lists | None) -> Blocked:
    missing = f" ({one_line('; '.join(lists.missing), 300)})" if lists and lists.missing else ""
    words = f"“{one_line(text, 200)}” lists no steps" if text else "the prompt is empty"
    ready = [f"task:{task.id}" for task in lists.tasks if task.is_open and task.acceptance][:3] if lists else []
    agenda = ["doc:AGENDA.md"] if lists and lists.graph.agenda else []
    return Blocked(
        kind="needs_user_input",
        question=f"Which steps are to be done? {words}{missing}. Give {_HINT}.",
        suggested_ctx=(*agenda, *ready),
    )


def _is_request(part: str) -> bool:
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", part)]
    first = next((word for word in words if word not in FILLERS), "")
    return VERBS.get(first) == "exec" and not part.endswith("?")


def _is_question(part: str) -> bool:
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", part)]
    return part.endswith("?") or (bool(words) and words[0] in QUESTIONS | ASKING)
