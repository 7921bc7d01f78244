"""Which drafts are one task: generated files, files that several would change, and documentation."""

from collections.abc import Sequence
from dataclasses import replace

from gitnexus.base.globs import deciding
from gitnexus.cycle.drafts import DO, EDITS, Draft
from gitnexus.cycle.jobs import Job, Jobs, joined, once, repointed

GENERATED = "generated_artifacts"
SAME_FILE = "same_file_bundle"
COHERENT = "docs_only.coherent"
INDEPENDENT = "docs_only.independent"
LEAD = "lead"


def without_generated(jobs: Jobs) -> Jobs:
    """Return the jobs with what a build writes set aside; it counts for no rule and is committed with the job."""
    patterns = once(pattern for job in jobs for draft in job.drafts for pattern in draft.generated)
    return tuple(_stripped(job, patterns) for job in jobs) if patterns else jobs


def merged_same_file(jobs: Jobs) -> Jobs:
    """Return the jobs with those that would change the same file made one, unless one waits for the other."""
    return joined(jobs, _share_a_file, lambda one, other: _both(one, other, SAME_FILE))


def docs_exceptions(jobs: Jobs) -> Jobs:
    """Return the jobs with documentation as its two exceptions want it: one change together, else file by file."""
    bundled = joined(jobs, _are_one_change, lambda one, other: _both(one, other, COHERENT))
    return repointed([((place,), _as_documentation(job)) for place, job in enumerate(bundled, 1)])


def is_documentation(files: Sequence[str]) -> bool:
    """True if there are files and all of them are Markdown."""
    return bool(files) and all(file.lower().endswith(".md") for file in files)


def owner_of(owners: Sequence[str | None]) -> str | None:
    """Return who gets a job drafted for several: the first who may edit, or the lead where roles do not mix."""
    said = once(owner for owner in owners if owner is not None)
    if len(said) < 2:
        return said[0] if said else None
    if not set(said) <= set(DO):
        return LEAD
    return next(owner for owner in said if owner in EDITS)


def _stripped(job: Job, patterns: tuple[str, ...]) -> Job:
    built = tuple(file for file in job.files if deciding(patterns, file) is not None)
    if not built:
        return job
    return replace(
        job,
        drafts=tuple(draft.changed(files=_without(draft.files, built)) for draft in job.drafts),
        files=_without(job.files, built),
        built=once((*job.built, *built)),
        exceptions=once((*job.exceptions, GENERATED)),
    )


def _without(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    return tuple(name for name in names if name not in others)


def _share_a_file(one: Job, other: Job) -> bool:
    return not one.is_check and not other.is_check and not set(one.files).isdisjoint(other.files)


def _both(one: Job, other: Job, exception: str) -> Job:
    rows = sorted(
        zip((*one.origins, *other.origins), (*one.drafts, *other.drafts), strict=True), key=lambda row: row[0]
    )
    drafts = tuple(draft for _, draft in rows)
    return Job(
        drafts=drafts,
        origins=tuple(origin for origin, _ in rows),
        owner=owner_of([draft.owner for draft in drafts]),
        files=once((*one.files, *other.files)),
        deps=once((*one.deps, *other.deps)),
        after=once((*one.after, *other.after)),
        built=once((*one.built, *other.built)),
        exceptions=once((*one.exceptions, *other.exceptions, exception)),
    )


def _is_writers(job: Job) -> bool:
    return job.owner in (None, "writer") and is_documentation(job.files)


def _are_one_change(one: Job, other: Job) -> bool:
    both = _is_writers(one) and _is_writers(other)
    return both and _change(one) is not None and _change(one) == _change(other)


def _change(job: Job) -> tuple[str, str] | None:
    """Return what all drafts of a job have in common: the scheme that was named, else the issue."""
    found = {_named(draft) for draft in job.drafts}
    return found.pop() if len(found) == 1 else None


def _named(draft: Draft) -> tuple[str, str] | None:
    if draft.scheme:
        return "scheme", draft.scheme
    return ("issue", str(draft.plan_issue)) if draft.plan_issue is not None else None


def _as_documentation(job: Job) -> Jobs:
    if not _is_writers(job):
        return (job,)
    if len(job.files) > 1 and len(job.drafts) == 1 and _change(job) is None:
        return tuple(_part(job, at) for at in range(len(job.files)))
    exception = INDEPENDENT if len(job.files) == 1 else COHERENT
    claim = None if exception == INDEPENDENT else _claim(job)
    others = _without(job.exceptions, (COHERENT, INDEPENDENT))
    return (replace(job, owner="writer", exceptions=(*others, exception), claim=claim),)


def _part(job: Job, at: int) -> Job:
    """Return the job for one of its files; what a build writes goes with the first."""
    draft, file = job.drafts[0], job.files[at]
    alone = draft.changed(
        title=f"{draft.title}: {file}",
        context=f"{draft.context.rstrip()}\n\nThis task is about {file} alone; each other file has its own.",
        files=(file,),
    )
    kept = replace(job, drafts=(alone,), owner="writer", files=(file,))
    if at > 0:
        kept = replace(kept, built=(), exceptions=_without(job.exceptions, (GENERATED,)))
    return replace(kept, exceptions=(*kept.exceptions, INDEPENDENT))


def _claim(job: Job) -> str:
    match _change(job):
        case ("scheme", name):
            return f"All files follow one scheme: {name}."
        case ("issue", number):
            return f"All files carry out one decision, the one on issue {number}."
        case _:
            return "The files hang together: several drafts change the same ones."
