"""Executes a step by rule: each patch and command in its text becomes an action. Nothing is run here.

It writes no code of its own. A request that rules understand (rename a file, replace a text, run the tests) becomes a
patch or a command; a goal without a way to reach it is blocked, with a question that a patch or a command can answer.
"""

import re
from collections.abc import Sequence

from gitnexus.base.text import one_line
from gitnexus.packs.tree import BaseTree
from gitnexus.prompts.model import Action, Blocked, ExecResult, Plan, PlanStep
from gitnexus.workflow.embedded.argv import commands_in_sentence
from gitnexus.workflow.embedded.carry_out import SimpleWork, work_of_requests, work_of_simple_requests
from gitnexus.workflow.embedded.extract_actions import (
    FoundWork,
    bare_patch,
    blocks_below,
    changed_paths,
    diffs_of_step,
    why_no_patch,
    work_in_stages,
)
from gitnexus.workflow.embedded.lists import checklist_in_text
from gitnexus.workflow.embedded.outline import CodeBlock, parse_outline
from gitnexus.workflow.embedded.planning import plan_by_rule
from gitnexus.workflow.embedded.simple_requests import parse_simple_requests
from gitnexus.workflow.specialist import AnsweredQuestion, WorkOrder
from gitnexus.workflow.words import FILLERS, VERBS

_CLAUSE = re.compile(r"\n+|[,;:]\s+|(?<=[.!?])\s+|\s+(?:and|then|und|dann|danach)\s+", re.IGNORECASE)
_LEADING_WORD = re.compile(r"[^\W\d_]+")
# These only introduce a command; what they run is said by it.
_RUNS = frozenset("run execute call start test do carry use type invoke führe starte".split())
SET_UP = "git nexus model add sets up a model"


def execute_by_rule(order: WorkOrder) -> ExecResult:
    """Return the actions of an order's step; without a plan, those in the prompt itself."""
    if order.plan is None:
        return _execute_prompt(order)
    step = next((one for one in order.plan.steps if one.id == order.step), None)
    if step is None:
        known = ", ".join(one.id for one in order.plan.steps[:20])
        return _blocked_result(
            "needs_plan_patch", f"Which step is meant? The plan has no step {order.step[:40]!r}; it has {known}."
        )
    return _execute_step(step, order)


def find_work(text: str) -> list[FoundWork]:
    """Return the patches and commands outside and inside the lists of a text, in stages."""
    if bare := bare_patch(text):
        return work_in_stages([CodeBlock("diff", bare)])
    outline = parse_outline(text)
    blocks = [*outline.code, *(code for row in outline.rows for code in blocks_below(row))]
    works = work_in_stages(blocks, text)
    if len(works) == 1 and works[0].refused and not works[0] and not why_no_patch(text):
        return [FoundWork((text,))]  # the file is named above the block
    return works


def _execute_step(step: PlanStep, order: WorkOrder) -> ExecResult:
    open_ = [one for one in step.questions if not _is_answered(one, order.answers)]
    refs = _suggested_references(step)
    if open_:
        return _blocked_result(
            "needs_research", f"{step.id} cannot begin before this is answered: {' '.join(open_)}", refs
        )
    diffs = diffs_of_step(step)
    bad = [why for diff in diffs if (why := why_no_patch(diff))]
    if bad:
        return _blocked_result(
            "needs_plan_patch", f"What is the right patch for {step.id}? The plan's cannot be used: {bad[0]}.", refs
        )
    simple = _simple_work_of_step(step, order) if not diffs else SimpleWork()
    if simple.why_not:
        return _blocked_result("needs_user_input", f"How is {step.id} to be done? {simple.why_not}.", refs)
    if simple.works:
        edits = tuple(diff for work in simple.works for diff in work.diffs)
        commands = tuple(argv for work in simple.works for argv in work.commands)
        actions = _actions_from_work(FoundWork(edits, tuple(dict.fromkeys((*commands, *step.commands)))), step.title)
    else:
        actions = _actions_from_work(FoundWork(tuple(diffs), step.commands), step.title)
    if not actions:
        works = [work for one in order.answers for work in _work_of_text(one.answer, order).works]
        actions = [action for work in works for action in _actions_from_work(work, step.title)]
    if not actions:
        return _blocked_result("needs_user_input", _question_about_step(step), refs)
    return ExecResult(
        status="done", summary=_summarize_actions(f"{step.id}, {step.title}", actions), actions=tuple(actions)
    )


def _execute_prompt(order: WorkOrder) -> ExecResult:
    # Of a checklist every row counts: what one of them carries is not the whole of it.
    asked = [] if checklist_in_text(order.prompt or order.goal, "") else [order.prompt, order.goal]
    texts = [*(one.answer for one in reversed(order.answers)), *asked]
    found = next((found for text in texts if any(found := _work_of_text(text, order))), SimpleWork())
    refused = [found.why_not] if found.why_not else [why for work in found.works for why in work.refused]
    if refused:
        return _blocked_result(
            "needs_user_input", f"How is this to be done? {one_line(refused[0], 300)}.", order.node.inputs.refs
        )
    actions = [action for work in found.works for action in _actions_from_work(work, "")]
    if not actions and not any(_asks_for_more(text) for text in asked):
        actions = _actions_from_list(order)
    if not actions:
        words = one_line(order.prompt or order.goal, 200)
        question = (
            f"How is “{words}” to be done? Rules alone cannot do it: {SET_UP}, or answer with a ```diff or ```sh block."
        )
        return _blocked_result("needs_user_input", question, order.node.inputs.refs)
    return ExecResult(status="done", summary=_summarize_actions("As the prompt says", actions), actions=tuple(actions))


def _actions_from_list(order: WorkOrder) -> list[Action]:
    """Return the actions of a task or list that the prompt names, if each of its rows has one."""
    plan = plan_by_rule(order)
    if not isinstance(plan, Plan):
        return []
    base = _base_of(order)
    known = frozenset(base.paths()) if base is not None else frozenset()
    asked = [() if diffs_of_step(step) else parse_simple_requests(step.title, known) for step in plan.steps]
    if base is not None and all(asked):
        # Rows that edit one after the other count on each other: they become one patch.
        works = list(work_of_requests([one for requests in asked for one in requests], base).works)
    else:
        works = [_work_of_row(step, order) for step in plan.steps]
    return [action for work in works for action in _actions_from_work(work, "")] if works and all(works) else []


def _work_of_row(step: PlanStep, order: WorkOrder) -> FoundWork:
    simple = SimpleWork() if diffs_of_step(step) else _simple_work_of_step(step, order)
    edits = tuple(diff for work in simple.works for diff in work.diffs)
    commands = tuple(argv for work in simple.works for argv in work.commands)
    return FoundWork((*diffs_of_step(step), *edits), tuple(dict.fromkeys((*commands, *step.commands))))


def _simple_work_of_step(step: PlanStep, order: WorkOrder) -> SimpleWork:
    # A title that was cut may say something else than the row did.
    return SimpleWork() if step.title.endswith("…") else work_of_simple_requests(step.title, _base_of(order))


def _work_of_text(text: str, order: WorkOrder) -> SimpleWork:
    """Return the work of a prompt or an answer: what rules understand as a whole, else what it carries."""
    simple = work_of_simple_requests(text, _base_of(order))
    if simple.works or simple.why_not:
        return simple
    return SimpleWork() if _asks_for_more(text) else SimpleWork(tuple(find_work(text)))


def _asks_for_more(text: str) -> bool:
    """Return True if only sentences carry commands, and another clause asks for something else."""
    if "```" in text or "~~~" in text or not commands_in_sentence(text).commands:
        return False
    for clause in _CLAUSE.split(text):
        words = [word.lower() for word in _LEADING_WORD.findall(clause)]
        first = next((word for word in words if word not in FILLERS), "")
        if VERBS.get(first) == "exec" and first not in _RUNS and "`" not in clause:
            return True
    return False


def _base_of(order: WorkOrder) -> BaseTree | None:
    return order.view.library.base if order.view is not None else None


def _actions_from_work(work: FoundWork, title: str) -> list[Action]:
    about = one_line(title, 120)
    found = []
    for diff in work.diffs:
        paths = changed_paths([diff])
        named = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
        summary = f"Change {named or 'files'}" + (f": {about}" if about else "")
        found.append(Action(kind="patch", summary=one_line(summary, 300), diff=diff))
    for argv in work.commands:
        found.append(Action(kind="command", summary=one_line(f"Run {' '.join(argv)}", 300), argv=argv))
    return found


def _question_about_step(step: PlanStep) -> str:
    accept = f" It is done when: {one_line('; '.join(step.accept), 300)}." if step.accept else ""
    files = f" in {', '.join(step.files[:5])}" if step.files else ""
    return (
        f"How is {step.id} to be done: {one_line(step.title, 200)}{files}? The plan carries neither a command nor a "
        f"patch for it, and rules alone write no code.{accept} Answer with a ```diff or ```sh block, or set up a "
        "model: git nexus model add."
    )


def _suggested_references(step: PlanStep) -> tuple[str, ...]:
    files = [f"file:{path}" for path in step.ctx.paths]
    return tuple(dict.fromkeys([*step.ctx.docs, *files, *(f"grep:{word}" for word in step.ctx.grep)]))[:20]


def _is_answered(question: str, answers: Sequence[AnsweredQuestion]) -> bool:
    return any(question.strip() in one.question and one.answer.strip() for one in answers)


def _summarize_actions(what: str, actions: Sequence[Action]) -> str:
    patches = sum(one.kind == "patch" for one in actions)
    commands = len(actions) - patches
    rows = [f"{patches} {'patch' if patches == 1 else 'patches'}"] if patches else []
    rows += [f"{commands} {'command' if commands == 1 else 'commands'}"] if commands else []
    return f"{one_line(what, 200)}: {' and '.join(rows)} proposed."


def _blocked_result(kind: str, question: str, refs: Sequence[str] = ()) -> ExecResult:
    blocked = Blocked.from_value({"kind": kind, "question": question, "suggested_ctx": list(refs)}, "blocked")
    return ExecResult(status="blocked", summary=one_line(question, 300), blocked=blocked)
