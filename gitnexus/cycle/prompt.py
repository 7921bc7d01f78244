"""Renders the title, context and prompt of a task from its drafts, with machine-readable lines at the end. Pure.

Tasks of the contract have no field for files or exceptions, and the contract requires exceptions in `context`. So the
last paragraph there has lines such as `Exception: same_file_bundle` and `File: a.py`, like the trailers of a commit.
"""

import re
from collections import Counter
from dataclasses import dataclass

from gitnexus.cycle.bundle import COHERENT, SAME_FILE
from gitnexus.cycle.jobs import TaskJob, without_repeats

_LINE = re.compile(r"(Exception|Issue|File|Generated): (\S.*)")


@dataclass(frozen=True, slots=True)
class ContextTrailers:
    """What the last lines of a task's context say."""

    exceptions: tuple[str, ...] = ()
    issues: tuple[int, ...] = ()
    files: tuple[str, ...] = ()


def job_title(job: TaskJob) -> str:
    """Return the titles of all drafts of a job."""
    return "; ".join(without_repeats(draft.title for draft in job.drafts))


def job_context(job: TaskJob, waits: str = "") -> str:
    """Return what one must know to do a job: every draft's own words, and the lines for tools."""
    if len(job.drafts) == 1:
        body = job.drafts[0].context
    else:
        head = (
            f"{len(job.drafts)} drafts are one task: {why_one_task(job)}.{_describe_owner_change(job)} Do each of them:"
        )
        parts = [f"{at}. {draft.title}\n{draft.context}" for at, draft in enumerate(job.drafts, 1)]
        body = "\n\n".join([head, *parts])
    return (
        "\n\n".join([body.rstrip(), *filter(None, [waits, _trailer_lines(job)])])
        if waits or _trailer_lines(job)
        else body
    )


def job_field(job: TaskJob, name: str) -> str | None:
    """Return approach, acceptance or risk of a job; with several drafts, each by its number."""
    said = [(at, getattr(draft, name)) for at, draft in enumerate(job.drafts, 1) if getattr(draft, name)]
    words = said[0][1] if len(job.drafts) == 1 and said else "\n".join(f"{at}. {text}" for at, text in said)
    claim = job.claim if name == "approach" and job.claim else ""
    return "\n".join(filter(None, [claim, words])) or None


def why_one_task(job: TaskJob) -> str:
    """Return why several drafts are one task."""
    named = Counter(file for draft in job.drafts for file in draft.files)
    shared = [file for file in job.files if named[file] > 1]
    said = [f"several would change {', '.join(shared)}"] if SAME_FILE in job.exceptions else []
    if COHERENT in job.exceptions and job.claim:
        said.append(job.claim[0].lower() + job.claim[1:].rstrip("."))
    return "; ".join(said)


def parse_context_trailers(text: str) -> ContextTrailers:
    """Return the trailers in the last paragraph of a context, empty if it has other lines."""
    lines = [_LINE.fullmatch(line) for line in text.rstrip("\n").rpartition("\n\n")[2].split("\n")]
    rows = [(line[1], line[2]) for line in lines if line]
    if len(rows) != len(lines):
        return ContextTrailers()
    exceptions = tuple(value for name, value in rows if name == "Exception")
    numbers = [value for name, value in rows if name == "Issue" and re.fullmatch("[0-9]{1,9}", value)]
    return ContextTrailers(
        exceptions=exceptions,
        issues=tuple(map(int, numbers)) if exceptions else (),  # only a bundle has several; else it is somebody's prose
        files=tuple(value for name, value in rows if name == "File"),
    )


def _describe_owner_change(job: TaskJob) -> str:
    owners = without_repeats(draft.owner for draft in job.drafts if draft.owner)
    return f" They were drafted for {', '.join(owners)}; {job.owner} has it." if len(owners) > 1 else ""


def _trailer_lines(job: TaskJob) -> str:
    if job.checks is not None:
        return ""  # who checks changes no file, and the exceptions are those of the task that is checked
    rows = [
        *(f"Exception: {name}" for name in job.exceptions),
        *(f"Issue: {number}" for number in job.issues if len(job.issues) > 1),
        *(f"File: {file}" for file in job.files),
        *(f"Generated: {file}" for file in job.built),
    ]
    return "\n".join(rows)
