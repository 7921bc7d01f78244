"""Decides which tasks get a second task that checks them, and its role; deterministic, from the drafts. Pure."""

import re
from collections.abc import Iterator
from functools import lru_cache

from gitnexus.cycle.bundle import is_documentation
from gitnexus.cycle.drafts import TaskDraft
from gitnexus.cycle.jobs import Jobs, TaskJob
from gitnexus.cycle.prompt import job_field, job_title

# A criterion with one of these words is about what happens when something runs. People find the same lists in
# docs/explanation/cycle.md. Each word also counts with its usual endings.
RUNTIME = (
    "run", "execute", "return", "exit", "respond", "response", "pass", "fail", "print", "output", "render", "raise",
    "throw", "crash", "start", "stop", "load", "send", "receive", "accept", "reject", "refuse", "redirect", "retry",
    "timeout", "times out", "latency", "throughput", "endpoint", "request", "status code", "stdout", "stderr", "test",
    "benchmark",
)  # fmt: skip
# A criterion with one of these is about the text of a program, or says that nothing becomes different.
STATIC = (
    "mypy",
    "pyright",
    "tsc",
    "type check",
    "typecheck",
    "lint",
    "linter",
    "eslint",
    "ruff",
    "formatter",
    "compile",
)
UNCHANGED = (
    "existing test", "tests still pass", "no behavior change", "no change in behavior", "behavior preserving",
    "behavior unchanged", "behavior is unchanged", "behavior does not change", "unchanged behavior", "same behavior",
    "without changing behavior",
)  # fmt: skip
_BETWEEN = re.compile(r"[.;,]\s|\n|\band\b|\bbut\b", re.IGNORECASE)
_WORD = re.compile("[a-z0-9]+")
_FIGURE = re.compile(r"\b\d+ ?(?:ms|s|seconds?|milliseconds?|minutes?)\b")
_SHOWN = 80


def with_check_jobs(jobs: Jobs) -> Jobs:
    """Return the jobs, with a check added after each that needs one and has none."""
    checked = {(dep, job.owner) for job in jobs for dep in job.deps}
    added = []
    for place, job in enumerate(jobs, 1):
        want = required_check(job)
        if want is not None and (place, want[0]) not in checked:
            added.append(_check_job(job, place, *want))
    return (*jobs, *added)


def required_check(job: TaskJob) -> tuple[str, str] | None:
    """Return the role that checks a job and the reason, None if none does; of several drafts the strictest decides."""
    if job.is_check:
        return None
    wishes = [wish for draft in job.drafts if (wish := _check_for_draft(draft, draft.owner or job.owner))]
    return min(wishes, key=lambda wish: wish[0] != "tester", default=None)


def find_runtime_criterion(acceptance: str) -> str | None:
    """Return the first criterion that is about what happens when something runs."""
    for text in map(str.strip, _BETWEEN.split(acceptance)):
        words = _WORD.findall(text.lower().replace("behaviour", "behavior"))
        timed = _FIGURE.search(text.lower())
        if (timed or _contains_phrase(words, RUNTIME)) and not _contains_phrase(words, (*STATIC, *UNCHANGED)):
            return text
    return None


def _check_for_draft(draft: TaskDraft, owner: str | None) -> tuple[str, str] | None:
    """The table of the rules, from the top; the first row that fits decides."""
    acceptance = (draft.acceptance or "").strip()
    if draft.verify is not None:
        return None if draft.verify == "none" else (draft.verify, "the draft asks for it")
    if draft.kind in ("refactor", "types") or owner not in ("engineer", "writer"):
        return None
    documentation = is_documentation(draft.files)
    if owner == "writer":
        if documentation:
            return "reviewer", "it is documentation by a writer"
        return ("reviewer", "its acceptance says what is delivered") if acceptance else None
    if documentation or not acceptance:
        return None
    if draft.kind == "behavior":
        return "tester", "it changes behavior"
    found = find_runtime_criterion(acceptance)
    return ("tester", f"it must be seen running (“{found[:_SHOWN]}”)") if found else None


def _check_job(job: TaskJob, place: int, role: str, why: str) -> TaskJob:
    does = "Run it" if role == "tester" else "Read it"
    told = [
        f"Check the task before with fresh eyes: {job_title(job)}",
        f"{does}, change nothing, and tell for each criterion whether it is met and how you saw it. "
        f"There is a check because {why}.",
    ]
    if job.files:
        told.append("It is about " + ", ".join(job.files) + ".")
    draft = TaskDraft(
        title=f"Check: {job_title(job)}",
        context="\n\n".join(told),
        owner=role,
        acceptance=job_field(job, "acceptance") or "It is what the task asks for, complete and true.",
        plan_issue=job.issues[0] if job.issues else None,
    )
    return TaskJob((draft,), job.origins, role, (), (place,), checks=place)


def _contains_phrase(words: list[str], phrases: tuple[str, ...]) -> bool:
    single, several = _phrase_forms(phrases)
    text = f" {' '.join(words)} "
    return not single.isdisjoint(words) or any(f" {phrase} " in text for phrase in several)


@lru_cache(maxsize=4)
def _phrase_forms(phrases: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return words and phrases in the forms that may occur in a sentence; some results are not words."""
    found = frozenset(form for phrase in phrases for form in _inflected_forms(phrase))
    return frozenset(form for form in found if " " not in form), frozenset(form for form in found if " " in form)


def _inflected_forms(phrase: str) -> Iterator[str]:
    """Yield run, runs, running; execute, executed; retry, retries."""
    yield phrase
    for end in ("s", "es", "ed", "ing", f"{phrase[-1]}ed", f"{phrase[-1]}ing"):
        yield phrase + end
    for end in ("ed", "ing", "ies", "ied"):
        yield phrase.removesuffix("e").removesuffix("y") + end
