"""Makes a draft for each decided issue of a plan, and lists the issues that already have tasks. Pure."""

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from gitnexus.cycle.bundle import is_documentation
from gitnexus.cycle.drafts import CHECK, DO, TaskDraft, parse_drafts
from gitnexus.cycle.jobs import without_repeats
from gitnexus.cycle.model import CycleTask, PlanFile, PlanIssue, TaskFile
from gitnexus.cycle.prompt import parse_context_trailers

# A decision may say in lines of their own what its draft should hold; everything else in it is context.
_LINE = re.compile(r"^[ \t]*(owner|files?|acceptance)[ \t]*:[ \t]*(\S.*)$", re.IGNORECASE | re.MULTILINE)
_LONGEST_TITLE = 100

Numbered = dict[int, TaskDraft]


def drafts_from_plan(plan: PlanFile, without: Collection[int]) -> Numbered:
    """Return a draft for each decided issue that is not left out, by the issue's number. Raises: Invalid."""
    found = [issue for issue in plan.issues if issue.status == "decided" and issue.id not in without]
    drafts = parse_drafts([_draft_value(plan, issue) for issue in found], [f"issue {issue.id}" for issue in found])
    return dict(zip((issue.id for issue in found), drafts, strict=True))


def drafts_without_tasks(drafts: Sequence[TaskDraft], issues: Mapping[int, Sequence[int]]) -> Numbered:
    """Return the drafts whose issue has no task yet, by their place in the list.

    Who waits for a draft that is left out waits for the tasks of its issue instead, and for what it waited for.
    """
    numbered = dict(enumerate(drafts, 1))
    kept = [place for place, draft in numbered.items() if draft.plan_issue not in issues]
    found = {}
    for place in kept:
        draft = numbered[place]
        ends = _transitive_deps(numbered, kept, draft.deps)
        there = {task for end in ends if end not in kept for task in issues[numbered[end].plan_issue or 0]}
        deps = tuple(kept.index(end) + 1 for end in ends if end in kept)
        found[place] = draft.changed(deps=deps, after=without_repeats((*draft.after, *sorted(there))))
    return found


def format_decision(issue: PlanIssue) -> str:
    """Return a decision as one text that says what it is about."""
    return f"{issue.title}{'' if issue.title.endswith('?') else ':'} {issue.decision or ''}".rstrip()


def issues_with_tasks(plan: PlanFile | None, file: TaskFile | None) -> dict[int, tuple[int, ...]]:
    """Return the plan's issues that have tasks, with the tasks; those of an earlier plan do not count."""
    found: dict[int, list[CycleTask]] = {}
    for task in file.tasks if plan and file else ():
        if plan and _is_task_of_plan(plan, task):
            own = () if task.plan_issue is None else (task.plan_issue,)
            for number in without_repeats((*own, *parse_context_trailers(task.context).issues)):
                found.setdefault(number, []).append(task)
    return {number: _doing_task_ids(tasks) for number, tasks in sorted(found.items())}


def _transitive_deps(drafts: Numbered, kept: Sequence[int], deps: Sequence[int]) -> list[int]:
    """Return what `deps` come down to: what is kept, and on the way there what is left out."""
    found: set[int] = set()
    todo = list(deps)
    while todo:
        place = todo.pop()
        if place not in found:
            found.add(place)
            todo += [] if place in kept else drafts[place].deps
    return sorted(found)


def _doing_task_ids(tasks: Sequence[CycleTask]) -> tuple[int, ...]:
    do = tuple(task.id for task in tasks if task.owner not in CHECK)
    return do or tuple(task.id for task in tasks)


def _draft_value(plan: PlanFile, issue: PlanIssue) -> Mapping[str, Any]:
    said: dict[str, list[str]] = {}
    for name, text in _LINE.findall(issue.decision or ""):
        said.setdefault(name.lower().removesuffix("s"), []).append(text.strip())
    named = [file.strip(" `\t") for line in said.get("file", ()) for file in line.split(",")]
    files = [file for file in named if file]
    title = format_decision(issue).split("\n", maxsplit=1)[0]
    return {
        "title": title if len(title) <= _LONGEST_TITLE else title[: _LONGEST_TITLE - 1] + "…",
        "context": _draft_context(plan, issue),
        "owner": _choose_owner(issue, said.get("owner", []), files),
        "plan_issue": issue.id,
        "files": files,
        **({"acceptance": "\n".join(said["acceptance"])} if "acceptance" in said else {}),
    }


def _choose_owner(issue: PlanIssue, named: list[str], files: list[str]) -> str:
    """Return who does it: as the decision says, else who was asked and can do it, else whom the files suggest."""
    asked = [*(name.lower().rstrip(".") for name in named), *(issue.how_agents or ())]
    found = next((name for name in asked if name in DO), None)
    return found or ("writer" if is_documentation(files) else "engineer")


def _draft_context(plan: PlanFile, issue: PlanIssue) -> str:
    said = [f"Decided in the plan “{plan.topic}”, issue {issue.id}. {format_decision(issue)}"]
    said += [f"{agent} said: {words}" for agent, words in (issue.how_summary or {}).items()]
    if plan.research_summary:
        said.append(f"What was found out before: {plan.research_summary}")
    return "\n\n".join(said)


def _is_task_of_plan(plan: PlanFile, task: CycleTask) -> bool:
    """Return False for a task older than the plan: it belongs to a replaced plan with other numbers."""
    began, made = _parse_moment(plan.created_at), _parse_moment(task.created_at)
    return began is None or made is None or made >= began


def _parse_moment(text: str | None) -> datetime | None:
    try:
        found = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
