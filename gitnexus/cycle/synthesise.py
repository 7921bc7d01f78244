"""Turns decided issues into tasks by applying the rules in order, and writes the tasks at once."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

from gitnexus.base.clock import format_precise_timestamp
from gitnexus.base.errors import Conflict, Invalid, NotFound
from gitnexus.cycle import prompt
from gitnexus.cycle.bundle import with_docs_exceptions, with_shared_files_merged, without_generated_files
from gitnexus.cycle.decisions import drafts_from_plan, drafts_without_tasks, format_decision, issues_with_tasks
from gitnexus.cycle.drafts import CHECK, TaskDraft, parse_drafts
from gitnexus.cycle.jobs import Jobs, TaskJob, in_dependency_order, jobs_from_drafts, without_repeats
from gitnexus.cycle.model import SCHEMA_VERSION, CycleTask, PlanFile, TaskFile
from gitnexus.cycle.pair import required_check, with_check_jobs
from gitnexus.cycle.session import TASKS, Session

Drafts = tuple[TaskDraft, ...]


@dataclass(frozen=True, slots=True)
class SynthesisOutcome:
    """What would be written, and how it came about; `skipped` are issues with the tasks that they have already."""

    file: TaskFile | None
    jobs: Jobs
    tasks: tuple[CycleTask, ...]
    skipped: dict[int, tuple[int, ...]]


def make_tasks(session: Session, params: Mapping[str, Any]) -> dict[str, Any]:
    """Make tasks from drafts, or from the plan's decisions, and add them in one write; or only preview them."""
    given = params.get("drafts")
    if given == []:
        raise Invalid("drafts should not be empty; without drafts there is one for each decided issue")
    drafts = None if given is None else parse_drafts(given)
    preview, partial = params.get("preview", False), params.get("partial", False)
    with nullcontext() if preview else session.exclusive():
        found = compute_outcome(
            session.plan(), session.tasks(), drafts, partial, format_precise_timestamp(session.clock())
        )
        if found.file and found.tasks and not preview:
            session.put(TASKS, found.file)
    return {**_outcome_as_json(found), **({"preview": True} if preview else {})}


def synthesise_jobs(drafts: Sequence[TaskDraft], origins: Sequence[int] | None = None) -> Jobs:
    """Return the jobs for drafts after these rules, in order: generated files, same files, documentation, checks."""
    return in_dependency_order(
        with_check_jobs(
            with_docs_exceptions(with_shared_files_merged(without_generated_files(jobs_from_drafts(drafts, origins))))
        )
    )


def compute_outcome(
    plan: PlanFile | None, file: TaskFile | None, drafts: Drafts | None, partial: bool, created: str
) -> SynthesisOutcome:
    """Return the tasks that come of drafts, or of a plan, and the file with them.

    Raises: NotFound, Conflict, Invalid.
    """
    _refuse_unusable_input(plan, file, drafts, partial)
    issues = issues_with_tasks(plan, file)
    kept = (
        drafts_without_tasks(drafts, issues) if drafts is not None else drafts_from_plan(plan, issues) if plan else {}
    )
    jobs = synthesise_jobs(tuple(kept.values()), tuple(kept))
    tasks = _tasks_from_jobs(jobs, file.tasks if file else (), created)
    asked = {draft.plan_issue for draft in drafts} if drafts is not None else set(_decided_issues(plan))
    skipped = {number: ids for number, ids in issues.items() if number in asked}
    return SynthesisOutcome(_with_tasks(file, plan, tasks), jobs, tasks, skipped)


def _refuse_unusable_input(plan: PlanFile | None, file: TaskFile | None, drafts: Drafts | None, partial: bool) -> None:
    if plan is None and drafts is None:
        raise NotFound("No active plan session, and no drafts", hint="git nexus plan start TOPIC QUESTION… begins one")
    there = {task.id for task in file.tasks} if file else set()
    for place, draft in enumerate(drafts or (), 1):
        if draft.plan_issue is not None:
            _refuse_undecided_issue(plan, draft.plan_issue, f"draft {place}")
        missing = [task for task in draft.after if task not in there]
        if missing:
            raise Invalid(f"draft {place}: after names tasks that do not exist: {', '.join(map(str, missing))}")
    pending = [issue.id for issue in plan.issues if issue.status == "pending"] if plan else []
    if pending and not partial:
        raise Conflict(
            f"issues are not decided: {', '.join(map(str, pending))}; with partial the others become tasks",
            hint="git nexus plan decide NUMBER DECISION, or git nexus plan tasks --partial",
        )


def _refuse_undecided_issue(plan: PlanFile | None, number: int, name: str) -> None:
    if plan is None:
        raise NotFound(f"{name} names issue {number}: No active plan session")
    if number not in {issue.id for issue in plan.issues}:
        raise NotFound(f"{name}: Issue {number} not found")
    if number not in _decided_issues(plan):
        raise Conflict(f"{name}: issue {number} is not decided", hint="git nexus plan decide NUMBER DECISION")


def _decided_issues(plan: PlanFile | None) -> list[int]:
    return [issue.id for issue in plan.issues if issue.status == "decided"] if plan else []


def _tasks_from_jobs(jobs: Jobs, there: Sequence[CycleTask], created: str) -> tuple[CycleTask, ...]:
    last = max((task.id for task in there), default=0)
    made = []
    for place, job in enumerate(jobs, 1):
        waits = _tasks_sharing_files(job, there)
        told = [f"It waits for task {task}, which is open and changes {', '.join(files)} too." for task, files in waits]
        made.append(
            CycleTask(
                id=last + place,
                title=prompt.job_title(job),
                context=prompt.job_context(job, "\n".join(told)),
                deps=tuple(sorted({*job.after, *dict(waits), *(last + dep for dep in job.deps)})),
                approach=prompt.job_field(job, "approach"),
                acceptance=prompt.job_field(job, "acceptance"),
                risk=prompt.job_field(job, "risk"),
                plan_issue=job.issues[0] if job.issues else None,
                owner=job.owner,
                created_at=created,
            )
        )
    return tuple(made)


def _tasks_sharing_files(job: TaskJob, there: Sequence[CycleTask]) -> list[tuple[int, list[str]]]:
    """Return the open tasks that change a file of this job, with the files: existing tasks cannot be merged."""
    found = []
    for task in there:
        if not job.is_check and task.status != "completed" and task.owner not in CHECK:
            files = [file for file in prompt.parse_context_trailers(task.context).files if file in job.files]
            found += [(task.id, files)] if files else []
    return found


def _with_tasks(file: TaskFile | None, plan: PlanFile | None, tasks: tuple[CycleTask, ...]) -> TaskFile | None:
    if not tasks:
        return file
    goal = plan.topic if plan else file.goal if file else tasks[0].title
    before = file or TaskFile(goal=goal, schema_version=SCHEMA_VERSION)
    decided = [format_decision(issue) for issue in plan.issues if issue.status == "decided"] if plan else []
    return before.changed(
        goal=goal, decisions=without_repeats((*before.decisions, *decided)), tasks=(*before.tasks, *tasks)
    )


def _outcome_as_json(found: SynthesisOutcome) -> dict[str, Any]:
    rows = list(zip(found.jobs, found.tasks, strict=True))
    made = [(job, task) for job, task in rows if job.checks is None]
    checks = [(*rows[job.checks - 1], task) for job, task in rows if job.checks is not None]
    return {
        "added": [task.plain() for task in found.tasks],
        "merged": [
            {"task": task.id, "of": list(job.origins), "why": prompt.why_one_task(job)}
            for job, task in made
            if len(job.origins) > 1
        ],
        "exceptions": [{"task": task.id, "id": name} for job, task in made for name in job.exceptions],
        "paired": [
            {"task": task.id, "by": by.id, "why": (required_check(job) or ("", ""))[1]} for job, task, by in checks
        ],
        "skipped": [{"issue": number, "tasks": list(ids)} for number, ids in found.skipped.items()],
    }
