"""Decides which drafts become one task: drafts for generated files, shared files, and documentation. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from gitnexus.base.globs import matching_pattern
from gitnexus.cycle.drafts import DO, EDITS, TaskDraft
from gitnexus.cycle.jobs import Jobs, TaskJob, join_fitting_jobs, renumber_jobs, without_repeats

GENERATED = "generated_artifacts"
SAME_FILE = "same_file_bundle"
COHERENT = "docs_only.coherent"
INDEPENDENT = "docs_only.independent"
LEAD = "lead"


def without_generated_files(jobs: Jobs) -> Jobs:
    """Return the jobs with what a build writes set aside; it counts for no rule and is committed with the job."""
    patterns = without_repeats(pattern for job in jobs for draft in job.drafts for pattern in draft.generated)
    return tuple(_without_built_files(job, patterns) for job in jobs) if patterns else jobs


def with_shared_files_merged(jobs: Jobs) -> Jobs:
    """Return the jobs with those that would change the same file made one, unless one waits for the other."""
    return join_fitting_jobs(jobs, _share_a_file, lambda one, other: _join_jobs(one, other, SAME_FILE))


def with_docs_exceptions(jobs: Jobs) -> Jobs:
    """Return the jobs with the two exceptions for documentation: one change together, else file by file."""
    bundled = join_fitting_jobs(jobs, _are_one_change, lambda one, other: _join_jobs(one, other, COHERENT))
    return renumber_jobs([((place,), _as_documentation(job)) for place, job in enumerate(bundled, 1)])


def is_documentation(files: Sequence[str]) -> bool:
    """Return True if there are files and all of them are Markdown."""
    return bool(files) and all(file.lower().endswith(".md") for file in files)


def owner_of_bundle(owners: Sequence[str | None]) -> str | None:
    """Return the role for a job with several drafts: the first that may edit, or the lead if roles do not mix."""
    said = without_repeats(owner for owner in owners if owner is not None)
    if len(said) < 2:
        return said[0] if said else None
    if not set(said) <= set(DO):
        return LEAD
    return next(owner for owner in said if owner in EDITS)


def _without_built_files(job: TaskJob, patterns: tuple[str, ...]) -> TaskJob:
    built = tuple(file for file in job.files if matching_pattern(patterns, file) is not None)
    if not built:
        return job
    return replace(
        job,
        drafts=tuple(draft.changed(files=_without_names(draft.files, built)) for draft in job.drafts),
        files=_without_names(job.files, built),
        built=without_repeats((*job.built, *built)),
        exceptions=without_repeats((*job.exceptions, GENERATED)),
    )


def _without_names(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


def _share_a_file(one: TaskJob, other: TaskJob) -> bool:
    return not one.is_check and not other.is_check and not set(one.files).isdisjoint(other.files)


def _join_jobs(one: TaskJob, other: TaskJob, exception: str) -> TaskJob:
    rows = sorted(
        zip((*one.origins, *other.origins), (*one.drafts, *other.drafts), strict=True), key=lambda row: row[0]
    )
    drafts = tuple(draft for _, draft in rows)
    return TaskJob(
        drafts=drafts,
        origins=tuple(origin for origin, _ in rows),
        owner=owner_of_bundle([draft.owner for draft in drafts]),
        files=without_repeats((*one.files, *other.files)),
        deps=without_repeats((*one.deps, *other.deps)),
        after=without_repeats((*one.after, *other.after)),
        built=without_repeats((*one.built, *other.built)),
        exceptions=without_repeats((*one.exceptions, *other.exceptions, exception)),
    )


def _is_writers_job(job: TaskJob) -> bool:
    return job.owner in (None, "writer") and is_documentation(job.files)


def _are_one_change(one: TaskJob, other: TaskJob) -> bool:
    both = _is_writers_job(one) and _is_writers_job(other)
    return both and _common_change(one) is not None and _common_change(one) == _common_change(other)


def _common_change(job: TaskJob) -> tuple[str, str] | None:
    """Return what all drafts of a job have in common: the scheme that was named, else the issue."""
    found = {_change_of_draft(draft) for draft in job.drafts}
    return found.pop() if len(found) == 1 else None


def _change_of_draft(draft: TaskDraft) -> tuple[str, str] | None:
    if draft.scheme:
        return "scheme", draft.scheme
    return ("issue", str(draft.plan_issue)) if draft.plan_issue is not None else None


def _as_documentation(job: TaskJob) -> Jobs:
    if not _is_writers_job(job):
        return (job,)
    if len(job.files) > 1 and len(job.drafts) == 1 and _common_change(job) is None:
        return tuple(_job_for_file(job, at) for at in range(len(job.files)))
    exception = INDEPENDENT if len(job.files) == 1 else COHERENT
    claim = None if exception == INDEPENDENT else _coherence_claim(job)
    others = _without_names(job.exceptions, (COHERENT, INDEPENDENT))
    return (replace(job, owner="writer", exceptions=(*others, exception), claim=claim),)


def _job_for_file(job: TaskJob, at: int) -> TaskJob:
    """Return the job for one of its files; what a build writes goes with the first."""
    draft, file = job.drafts[0], job.files[at]
    alone = draft.changed(
        title=f"{draft.title}: {file}",
        context=f"{draft.context.rstrip()}\n\nThis task is about {file} alone; each other file has its own.",
        files=(file,),
    )
    kept = replace(job, drafts=(alone,), owner="writer", files=(file,))
    if at > 0:
        kept = replace(kept, built=(), exceptions=_without_names(job.exceptions, (GENERATED,)))
    return replace(kept, exceptions=(*kept.exceptions, INDEPENDENT))


def _coherence_claim(job: TaskJob) -> str:
    match _common_change(job):
        case ("scheme", name):
            return f"All files follow one scheme: {name}."
        case ("issue", number):
            return f"All files carry out one decision, the one on issue {number}."
        case _:
            return "The files hang together: several drafts change the same ones."
