"""Changes a plan by rule: splits steps that are too big, applies the user's changes, adds answers to blocked steps."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import count

from gitnexus.base.text import one_line
from gitnexus.prompts.model import Blocked, Plan, PlanChanges, PlanStep, ResearchBundle, StepChange, StepContext
from gitnexus.workflow.embedded.executing import find_work
from gitnexus.workflow.embedded.extract_actions import EXEC, FoundWork, call_with_diffs, changed_paths, diffs_of_step
from gitnexus.workflow.embedded.lists import TodoLists, checklist_in_text, plain_list_in_text
from gitnexus.workflow.embedded.outline import ListRow, parse_outline
from gitnexus.workflow.embedded.planning import plan_by_rule, with_research
from gitnexus.workflow.embedded.steps import StepBuilder, StepSource
from gitnexus.workflow.packing import SplitRequest
from gitnexus.workflow.specialist import WorkOrder

_SAID = re.compile(
    r"^[ \t]*(?:please\s+|then\s+|and\s+)?(?P<op>add|insert|append|replace|change|remove|drop|delete|skip|split)\s+"
    r"(?:(?:a\s+|new\s+|the\s+)*steps?\s+)*(?:(?P<where>after|before)\s+)?(?:the\s+)?(?:step\s+)?(?P<step>[\w.-]+)"
    r"[ \t]*(?:(?:with|by|into)\b)?[ \t]*:?(?P<rest>.*)$",
    re.IGNORECASE | re.MULTILINE,
)
# Where a patch of several files comes apart: each section says all that git needs to know about its file.
_SECTIONS = re.compile(r"^(?=diff --git )", re.MULTILINE)
_OPS = {"add": "add", "insert": "add", "append": "add", "replace": "replace", "change": "replace", "remove": "remove",
        "drop": "remove", "delete": "remove", "skip": "remove", "split": "split"}  # fmt: skip


def replan_by_rule(order: WorkOrder) -> PlanChanges | Blocked:
    """Return the changes to the plan in force; Blocked if no input says what to change."""
    plan = order.plan or next((one for one in order.inputs.values() if isinstance(one, Plan)), None)
    if plan is None:
        return _changes_from_nothing(order)
    known = TodoLists(order.view.library).known if order.view is not None else frozenset()
    if order.split is not None:
        return _split_large_step(plan, order.split)
    text = "\n\n".join([*(one.answer for one in order.answers), order.prompt])
    changes = list(_changes_said_outright(plan, text, known))
    if not changes and order.blocked is not None:
        changes = list(_changes_that_unblock(plan, order))
    if changes:
        return PlanChanges(summary=one_line("; ".join(one.why for one in changes), 400), changes=tuple(changes))
    return _blocked_without_change(plan, order)


def _changes_from_nothing(order: WorkOrder) -> PlanChanges | Blocked:
    """Return a whole plan as the first change, if there was no plan."""
    plan = plan_by_rule(order)
    if isinstance(plan, Blocked):
        return plan
    why = "there was no plan yet"
    return PlanChanges(
        summary=f"{len(plan.steps)} steps, since {why}",
        changes=(StepChange(op="add", step="", why=why, steps=plan.steps),),
    )


def _split_large_step(plan: Plan, split: SplitRequest) -> PlanChanges | Blocked:
    step = next((one for one in plan.steps if one.id == split.step), None)
    if step is None:
        return Blocked(
            kind="needs_user_input", question=f"Which step should be split? The plan has no {split.step[:40]!r}."
        )
    parts = _smaller_steps(step, split, {one.id for one in plan.steps})
    if len(parts) < 2:
        over = ", ".join(f"{one.limit} {one.has} of {one.may}" for one in split.over)
        question = (
            f"How is {step.id} to be made smaller? It breaks a limit ({over}), and neither its files nor its commands "
            "nor what it is shown can be cut so that each part fits. Raise the limit, or rewrite the step."
        )
        return Blocked(kind="needs_user_input", question=question, suggested_ctx=step.ctx.docs)
    change = StepChange(op="split", step=step.id, why=one_line(split.why, 400), steps=tuple(parts))
    return PlanChanges(summary=f"{step.id} becomes {len(parts)} steps", changes=(change,))


def _smaller_steps(step: PlanStep, split: SplitRequest, taken: Collection[str]) -> list[PlanStep]:
    """Return smaller steps: split by files as the packing proposes, else by context, else by commands.

    Each part has the patches for its files; the last one has the commands and criteria that verify the whole.
    """
    if split.parts:
        groups = [step.changed(files=files, ctx=_narrowed_context(step.ctx, files)) for files in split.parts]
    elif any(one.limit == "ctxKib" for one in split.over) and len(step.ctx.paths) > 1:
        groups = [step.changed(ctx=step.ctx.changed(paths=(path,))) for path in step.ctx.paths]
    elif len(step.commands) > 1:
        groups = [step.changed(commands=(argv,)) for argv in step.commands]
    else:
        return []
    diffs = diffs_of_step(step)
    shares = _diffs_by_group(diffs, split.parts) if split.parts else [diffs, *([] for _ in groups[1:])]
    ids = _free_ids(step.id, taken)
    parts: list[PlanStep] = []
    for at, group in enumerate(groups, 1):
        last = at == len(groups)
        parts.append(
            group.changed(
                id=next(ids),
                title=one_line(f"{step.title} ({at} of {len(groups)})", 200),
                depends=(parts[-1].id,) if parts else step.depends,
                accept=step.accept if last else (),
                # Half a change proves nothing; a part without any is carried out by its commands alone.
                commands=() if split.parts and shares[at - 1] and not last else group.commands,
                questions=step.questions if at == 1 else (),
                baml=call_with_diffs(shares[at - 1]) if step.baml is not None and step.baml.fn == EXEC else step.baml,
            )
        )
    return parts


def _diffs_by_group(diffs: Sequence[str], groups: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return each group's own part of each patch; a part for several groups goes to the first."""
    found: list[list[str]] = [[] for _ in groups]
    for diff in diffs:
        parts = [""] * len(groups)
        for part in _SECTIONS.split(diff):
            paths = changed_paths([part])
            owner = next((at for at, files in enumerate(groups) if paths and all(path in files for path in paths)), 0)
            parts[owner] += part
        for mine, part in zip(found, parts, strict=True):
            mine.extend([part] if part.strip() else [])
    return found


def _narrowed_context(ctx: StepContext, files: Sequence[str]) -> StepContext:
    return ctx.changed(paths=tuple(path for path in ctx.paths if path in files))


def _free_ids(base: str, taken: Collection[str]) -> Iterator[str]:
    return (id_ for number in count(1) if (id_ := f"{base}.{number}") not in taken)


def _changes_said_outright(plan: Plan, text: str, known: Collection[str]) -> Iterator[StepChange]:
    """Yield explicit changes: `remove S3`, `add after S2: …`, `replace S2: …`, with or without a list."""
    found = [one for one in _SAID.finditer(text) if any(step.id == one["step"] for step in plan.steps)]
    taken = {step.id for step in plan.steps}
    for at, match in enumerate(found):
        op = _OPS[match["op"].lower()]
        end = found[at + 1].start() if at + 1 < len(found) else len(text)
        step = next(one for one in plan.steps if one.id == match["step"])
        why = one_line(match[0].strip(), 200)
        if op == "remove":
            yield StepChange(op="remove", step=step.id, why=why)
            continue
        rows = _rows_of_change(match["rest"], text[match.end() : end])
        steps = _steps_from_rows(rows, step, taken, known, keep_id=op == "replace" and len(rows) == 1)
        if not steps:
            continue
        name = step.id
        if op == "add" and (match["where"] or "").lower() == "before":
            name = _id_before(plan, step.id)
        yield StepChange.from_value(
            {"op": op, "step": name, "why": why, "steps": [one.plain() for one in steps]}, "a change"
        )


def _rows_of_change(rest: str, below: str) -> list[ListRow]:
    listed = (
        checklist_in_text(below, "") or plain_list_in_text(f"{below}\n", "") or plain_list_in_text(f"-\n{below}", "")
    )
    if listed is not None:
        return list(listed.rows)
    body = "\n".join([f"- {rest.strip()}" if rest.strip() else "", *(f"  {line}" for line in below.split("\n"))])
    return [row for row in parse_outline(body if rest.strip() else below).rows if row.text]


def _steps_from_rows(
    rows: Sequence[ListRow], step: PlanStep, taken: set[str], known: Collection[str], *, keep_id: bool
) -> list[PlanStep]:
    ids = _free_ids(step.id, taken)
    for row in rows:
        row.id = step.id if keep_id else row.id if row.id and row.id not in taken else next(ids)
    made = StepBuilder(known, taken=set(taken) - ({step.id} if keep_id else set()))
    made.add(StepSource("what was said", "", tuple(rows)))
    taken.update(one.id for one in made.steps)
    return made.steps


def _id_before(plan: Plan, id_: str) -> str:
    ids = ["", *(step.id for step in plan.steps)]
    return ids[ids.index(id_) - 1]


def _changes_that_unblock(plan: Plan, order: WorkOrder) -> Iterator[StepChange]:
    """Yield the blocked step with what was answered or found since: a patch, commands, passages, resolved questions."""
    step = next((one for one in plan.steps if one.id == order.step), None)
    if step is None:
        return
    works = [work for one in order.answers for work in find_work(one.answer)]
    bundles = [one for one in order.inputs.values() if isinstance(one, ResearchBundle)]
    new = _with_work(step, works)
    found = [bundle for bundle in bundles if bundle.claims]
    if found:
        new = with_research(new, found)
        new = new.changed(questions=tuple(one for one in new.questions if not _is_settled(one, found)))
    if order.answers:
        told = [f"{one_line(one.question, 160)} {one_line(one.answer, 240)}" for one in order.answers]
        new = new.changed(questions=(), accept=tuple(dict.fromkeys([*new.accept, *(told if not works else [])])))
    if new != step:
        why = "what blocked it was answered" if order.answers else "research found passages about it"
        yield StepChange(op="replace", step=step.id, why=why, steps=(new,))


def _with_work(step: PlanStep, works: Sequence[FoundWork]) -> PlanStep:
    diffs = [diff for work in works for diff in work.diffs]
    commands = [argv for work in works for argv in work.commands]
    if not diffs and not commands:
        return step
    files = dict.fromkeys([*step.files, *changed_paths(diffs)])
    return step.changed(
        files=tuple(files),
        commands=tuple(commands) or step.commands,
        baml=call_with_diffs(diffs) if diffs else step.baml,
    )


def _is_settled(question: str, bundles: Sequence[ResearchBundle]) -> bool:
    """Return True if research covered this question and left nothing open."""
    return any(question.strip() in one.question and not one.unresolved for one in bundles)


def _blocked_without_change(plan: Plan, order: WorkOrder) -> Blocked:
    if order.blocked is not None:
        return Blocked(
            kind="needs_user_input", question=order.blocked.question, suggested_ctx=order.blocked.suggested_ctx
        )
    known = ", ".join(step.id for step in plan.steps[:20])
    question = (
        f"What should change in the plan? “{one_line(order.prompt or order.goal, 200)}” names no step of it ({known}). "
        "Say for instance: remove S3; add after S2: run `make test`; replace S2: with a list below."
    )
    return Blocked(kind="needs_user_input", question=question)
