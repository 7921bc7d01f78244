"""A step carried out by rule: the patches and commands that it carries become actions, one each. Nothing is run here.

It writes no code of its own. A step that says what to reach and not how is blocked, with a question that can be
answered by a patch or a command.
"""

from collections.abc import Sequence

from gitnexus.base.text import one_line
from gitnexus.prompts.model import Action, Blocked, ExecResult, Plan, PlanStep
from gitnexus.workflow.embedded.carried import Work, blocks_below, changed_paths, diffs_of, stages, why_no_patch
from gitnexus.workflow.embedded.lists import in_text
from gitnexus.workflow.embedded.outline import outline_of
from gitnexus.workflow.embedded.planning import planned
from gitnexus.workflow.specialist import Answered, Order


def executed(order: Order) -> ExecResult:
    """Return the actions of an order's step; without a plan, those that the prompt itself carries."""
    if order.plan is None:
        return _from_prompt(order)
    step = next((one for one in order.plan.steps if one.id == order.step), None)
    if step is None:
        known = ", ".join(one.id for one in order.plan.steps[:20])
        return _blocked(
            "needs_plan_patch", f"Which step is meant? The plan has no step {order.step[:40]!r}; it has {known}."
        )
    return _of_step(step, order)


def work_in(text: str) -> list[Work]:
    """Return what a text carries outside and inside of its lists, in stages."""
    outline = outline_of(text)
    blocks = [*outline.code, *(code for row in outline.rows for code in blocks_below(row))]
    return stages(blocks, text)


def _of_step(step: PlanStep, order: Order) -> ExecResult:
    open_ = [one for one in step.questions if not _is_answered(one, order.answers)]
    refs = _suggested(step)
    if open_:
        return _blocked("needs_research", f"{step.id} cannot begin before this is answered: {' '.join(open_)}", refs)
    bad = [why for diff in diffs_of(step) if (why := why_no_patch(diff))]
    if bad:
        return _blocked(
            "needs_plan_patch", f"What is the right patch for {step.id}? The plan's cannot be used: {bad[0]}.", refs
        )
    actions = _actions(Work(tuple(diffs_of(step)), step.commands), step.title)
    if not actions:
        works = [work for one in order.answers for work in work_in(one.answer)]
        actions = [action for work in works for action in _actions(work, step.title)]
    if not actions:
        return _blocked("needs_user_input", _question(step), refs)
    return ExecResult(status="done", summary=_told(f"{step.id}, {step.title}", actions), actions=tuple(actions))


def _from_prompt(order: Order) -> ExecResult:
    # Of a checklist every row counts: what one of them carries is not the whole of it.
    asked = [] if in_text(order.prompt or order.goal, "") else [order.prompt, order.goal]
    texts = [*(one.answer for one in reversed(order.answers)), *asked]
    works = next((found for text in texts if any(found := work_in(text))), [])
    refused = [why for work in works for why in work.refused]
    if refused:
        return _blocked(
            "needs_user_input", f"How is this to be done? {one_line(refused[0], 300)}.", order.node.inputs.refs
        )
    actions = [action for work in works for action in _actions(work, "")] or _listed(order)
    if not actions:
        words = one_line(order.prompt or order.goal, 200)
        question = (
            f"How is “{words}” to be done? No plan says it, and the prompt carries no patch and no command for all of "
            "it. "
            "Give a ```diff or ```sh block, or set an agent for the executor."
        )
        return _blocked("needs_user_input", question, order.node.inputs.refs)
    return ExecResult(status="done", summary=_told("As the prompt says", actions), actions=tuple(actions))


def _listed(order: Order) -> list[Action]:
    """Return what a task or list that the prompt names carries, if each of its rows carries something."""
    plan = planned(order)
    works = [Work(tuple(diffs_of(step)), step.commands) for step in plan.steps] if isinstance(plan, Plan) else []
    return [action for work in works for action in _actions(work, "")] if works and all(works) else []


def _actions(work: Work, title: str) -> list[Action]:
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


def _question(step: PlanStep) -> str:
    accept = f" It is done when: {one_line('; '.join(step.accept), 300)}." if step.accept else ""
    files = f" in {', '.join(step.files[:5])}" if step.files else ""
    return (
        f"How is {step.id} to be done: {one_line(step.title, 200)}{files}? The plan carries neither a command nor a "
        f"patch for it, and the embedded executor writes no code.{accept} Answer with a ```diff or ```sh block, or set "
        "an agent."
    )


def _suggested(step: PlanStep) -> tuple[str, ...]:
    files = [f"file:{path}" for path in step.ctx.paths]
    return tuple(dict.fromkeys([*step.ctx.docs, *files, *(f"grep:{word}" for word in step.ctx.grep)]))[:20]


def _is_answered(question: str, answers: Sequence[Answered]) -> bool:
    return any(question.strip() in one.question and one.answer.strip() for one in answers)


def _told(what: str, actions: Sequence[Action]) -> str:
    patches = sum(one.kind == "patch" for one in actions)
    commands = len(actions) - patches
    rows = [f"{patches} {'patch' if patches == 1 else 'patches'}"] if patches else []
    rows += [f"{commands} {'command' if commands == 1 else 'commands'}"] if commands else []
    return f"{one_line(what, 200)}: {' and '.join(rows)} proposed."


def _blocked(kind: str, question: str, refs: Sequence[str] = ()) -> ExecResult:
    blocked = Blocked.from_value({"kind": kind, "question": question, "suggested_ctx": list(refs)}, "blocked")
    return ExecResult(status="blocked", summary=one_line(question, 300), blocked=blocked)
