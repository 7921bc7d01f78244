"""Makes a plan by rule: a list that somebody wrote becomes steps. Nothing is invented."""

import re
from collections.abc import Collection, Iterator, Sequence

from gitnexus.base.text import one_line
from gitnexus.prompts.model import Blocked, Plan, PlanStep, ResearchBundle
from gitnexus.workflow.embedded.extract_actions import is_work
from gitnexus.workflow.embedded.lists import TodoLists, checklist_in_text, plain_list_in_text
from gitnexus.workflow.embedded.outline import ListRow, parse_outline
from gitnexus.workflow.embedded.simple_requests import parse_simple_requests
from gitnexus.workflow.embedded.steps import StepBuilder, StepSource
from gitnexus.workflow.specialist import WorkOrder
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


def plan_by_rule(order: WorkOrder) -> Plan | Blocked:
    """Return the steps listed in a task, a phase, a checklist or the prompt itself; Blocked if there are none."""
    text = (order.prompt or order.goal).strip()
    lists = TodoLists(order.view.library) if order.view is not None else None
    sources = lists_to_plan(order, text, lists)
    if not sources:
        return _blocked_without_steps(text, lists)
    made = StepBuilder(lists.known if lists else ())
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
    steps = [with_research(step, bundles) for step in made.steps]
    return Plan(
        goal=_goal_of_plan(order.goal or text, sources),
        steps=tuple(steps),
        questions=tuple(_open_questions(made, steps, bundles, lists))[:MOST_QUESTIONS],
    )


def lists_to_plan(order: WorkOrder, text: str, lists: TodoLists | None) -> list[StepSource]:
    """Return the lists to plan from: one given explicitly, else those that are named, else the prompt's own."""
    for answer in reversed(order.answers):
        if found := checklist_in_text(answer.answer, "the answer") or plain_list_in_text(answer.answer, "the answer"):
            return [found]
    if found := checklist_in_text(text, "the checklist in the prompt"):
        return [found]
    if lists is not None and (named := lists.named(text, order.node.inputs.refs, order.task)):
        return named
    if found := plain_list_in_text(text, "the list in the prompt"):
        return [found]
    if lists is not None and (found := lists.active(text)):
        return [found]
    if lists is not None and lists.absent:
        return []  # the prompt says where the steps are: it is none of them itself
    rows = list(rows_from_prompt(text))
    return [StepSource("the prompt", "", tuple(rows))] if rows else []


def rows_from_prompt(text: str) -> Iterator[ListRow]:
    """Yield the requests of a prompt, clause by clause; its code belongs to the last one. Empty for a question."""
    code = [block for block in parse_outline(text).code if is_work(block)]
    told = [part.strip(" ,;\n") for part in _BOUNDS.split(_FENCED.sub("\n", text)) if part and part.strip(" ,;\n")]
    asks = [part for part in told if _is_request(part)]
    if not asks and code:
        asks = told[:1] or ["Do what the prompt carries"]
    if not asks and told and not any(_is_question(part) for part in told):
        asks = told[:1]
    for at, part in enumerate(asks):
        last = at == len(asks) - 1
        yield ListRow(part.rstrip(".:"), ordered=True, code=code if last else [])


def with_research(step: PlanStep, bundles: Sequence[ResearchBundle]) -> PlanStep:
    """Return a step with the research on it as context: passages of its files, and constraints."""
    cited = [
        ref
        for bundle in bundles
        for claim in bundle.claims
        if claim.confidence >= _SURE
        for ref in claim.citations
        if ref.startswith(("file:", "doc:", "memory:", "rule:", "context:")) and _concerns_step(step, ref)
    ]
    ruled = [ref for bundle in bundles for rule in bundle.constraints for ref in _CITED.findall(rule)]
    docs = list(dict.fromkeys([*step.ctx.docs, *ruled, *cited]))[: _MOST_REFS + len(step.ctx.docs)]
    return step.changed(ctx=step.ctx.changed(docs=tuple(docs)))


def has_work(step: PlanStep, known: Collection[str]) -> bool:
    """Return True if a step carries commands or a patch, or asks for something that rules can do."""
    return bool(step.commands or (step.baml and step.baml.inputs) or parse_simple_requests(step.title, known))


def _goal_of_plan(text: str, sources: Sequence[StepSource]) -> str:
    """Return the goal: the words above the list, else the names of the lists."""
    above = text[: found.start()] if (found := _LISTED.search(text)) else text
    said = " ".join(_FENCED.sub(" ", above).split()).rstrip(":")
    return one_line(said or "; ".join(one.what for one in sources), LONGEST_GOAL)


def _concerns_step(step: PlanStep, ref: str) -> bool:
    """Return True if a step names no files, or the cited one."""
    path = ref.partition(":")[2].partition("#")[0]
    return not step.files or path in step.files or any(path.startswith(f"{one.rstrip('/')}/") for one in step.files)


def _open_questions(
    made: StepBuilder, steps: Sequence[PlanStep], bundles: Sequence[ResearchBundle], lists: TodoLists | None
) -> Iterator[str]:
    yield from made.questions
    if lists is not None:
        yield from (f"Note: {one_line(one, 300)}." for one in dict.fromkeys(lists.missing))
    known = lists.known if lists is not None else frozenset()
    bare = [step.id for step in steps if not has_work(step, known)]
    if bare:
        verb = "says" if len(bare) == 1 else "say"
        named = ", ".join(bare[:20])
        yield f"{named} {verb} what to reach and not how: without a command or a patch only an agent can do it."
    yield from dict.fromkeys(one for bundle in bundles for one in bundle.unresolved)


def _blocked_without_steps(text: str, lists: TodoLists | None) -> Blocked:
    missing = f" ({one_line('; '.join(lists.missing), 300)})" if lists and lists.missing else ""
    words = f"“{one_line(text, 200)}” lists no steps" if text else "the prompt is empty"
    ready = [f"task:{task.id}" for task in lists.tasks if task.is_open and task.acceptance][:3] if lists else []
    agenda = ["doc:AGENDA.md"] if lists and lists.graph.agenda else []
    return Blocked(
        kind="needs_user_input",
        question=f"Which steps should be done? {words}{missing}. Give {_HINT}.",
        suggested_ctx=(*agenda, *ready),
    )


def _is_request(part: str) -> bool:
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", part)]
    first = next((word for word in words if word not in FILLERS), "")
    return VERBS.get(first) == "exec" and not part.endswith("?")


def _is_question(part: str) -> bool:
    words = [word.lower() for word in re.findall(r"[^\W\d_]+", part)]
    return part.endswith("?") or (bool(words) and words[0] in QUESTIONS | ASKING)
