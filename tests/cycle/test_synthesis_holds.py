"""Whatever the drafts are: nothing is lost, nobody waits in a circle, and no two tasks edit one file side by side."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitnexus.cycle.bundle import with_docs_exceptions, with_shared_files_merged, without_generated_files
from gitnexus.cycle.drafts import TaskDraft, find_circle
from gitnexus.cycle.jobs import Jobs, in_dependency_order, jobs_from_drafts, predecessor_bits
from gitnexus.cycle.pair import with_check_jobs
from gitnexus.cycle.prompt import job_context, job_field, job_title, parse_context_trailers
from gitnexus.cycle.synthesise import synthesise_jobs

FILES = ["a.py", "b.py", "a.md", "b.md", "c.md", "dist/x.js", "dist/y.md"]
OWNERS = [None, "engineer", "writer", "researcher", "architect", "tester", "reviewer", "lead"]


@st.composite
def drafts(draw: st.DrawFn) -> list[TaskDraft]:
    """Some drafts whose dependencies are no circle, in any order."""
    count = draw(st.integers(0, 7))
    order = draw(st.permutations(range(1, count + 1)))
    found = []
    for place in range(1, count + 1):
        earlier = order[: order.index(place)]
        fields: dict[str, Any] = {
            "title": f"title-{place}",
            "context": f"context-{place}",
            "acceptance": draw(st.sampled_from([None, f"exits {place}", f"reads {place}"])),
            "approach": draw(st.sampled_from([None, f"approach-{place}"])),
            "risk": draw(st.sampled_from([None, f"risk-{place}"])),
            "owner": draw(st.sampled_from(OWNERS)),
            "files": tuple(draw(st.lists(st.sampled_from(FILES), max_size=3, unique=True))),
            "deps": tuple(draw(st.lists(st.sampled_from(earlier), max_size=2, unique=True))) if earlier else (),
            "plan_issue": draw(st.sampled_from([None, 1, 2])),
            "scheme": draw(st.sampled_from([None, None, "s"])),
            "kind": draw(st.sampled_from([None, "behavior", "refactor"])),
            "verify": None,
            "generated": draw(st.sampled_from([(), (), ("dist/",)])),
        }
        found.append(TaskDraft(**fields))
    return found


def generated(given_drafts: list[TaskDraft], file: str) -> bool:
    return file.startswith("dist/") and any(draft.generated for draft in given_drafts)


def made(jobs: Jobs) -> Jobs:
    return tuple(job for job in jobs if job.checks is None)


@given(drafts())
def test_every_file_is_with_the_tasks_of_its_draft_and_with_no_other(some: list[TaskDraft]) -> None:
    jobs = made(synthesise_jobs(some))

    for job in jobs:
        named = {file for origin in job.origins for file in some[origin - 1].files}
        assert set(job.files) | set(job.built) <= named
        assert not any(generated(some, file) for file in job.files)
        assert all(generated(some, file) for file in job.built)
        assert parse_context_trailers(job_context(job)).files == job.files
    for place, draft in enumerate(some, 1):
        own = [job for job in jobs if place in job.origins]
        assert {file for job in own for file in (*job.files, *job.built)} >= set(draft.files)
        # only documentation is split, and then each file has one task
        assert len(own) == 1 or [len(job.files) for job in own] == [1] * len({job.files for job in own})


@given(drafts())
def test_no_word_of_a_draft_is_lost(some: list[TaskDraft]) -> None:
    jobs = made(synthesise_jobs(some))

    for place, draft in enumerate(some, 1):
        for job in jobs:
            if place in job.origins:
                assert draft.title in job_title(job)
                assert draft.context in job_context(job)
                for name in ("approach", "acceptance", "risk"):
                    assert (getattr(draft, name) or "") in (job_field(job, name) or "")
                assert draft.plan_issue in (None, *job.issues)
    assert {origin for job in jobs for origin in job.origins} == set(range(1, len(some) + 1))


@given(drafts())
def test_nobody_waits_in_a_circle_or_for_what_comes_later_and_no_wait_is_lost(some: list[TaskDraft]) -> None:
    jobs = synthesise_jobs(some)
    before = predecessor_bits(jobs)

    assert find_circle([job.deps for job in jobs]) == []
    assert all(dep < place for place, job in enumerate(jobs, 1) for dep in job.deps)
    for place, job in enumerate(jobs, 1):
        if job.checks is None:
            for origin in job.origins:
                for dep in some[origin - 1].deps:
                    waited = [at for at, other in enumerate(jobs, 1) if dep in other.origins and other.checks is None]
                    assert all(before[place - 1] >> at & 1 for at in waited)


@given(drafts())
def test_two_tasks_that_edit_one_file_are_sequenced(some: list[TaskDraft]) -> None:
    jobs = synthesise_jobs(some)
    before = predecessor_bits(jobs)

    for at, job in enumerate(jobs, 1):
        for later, other in enumerate(jobs[at:], at + 1):
            if set(job.files) & set(other.files) and not (job.is_check or other.is_check):
                assert before[later - 1] >> at & 1


@given(drafts())
def test_a_check_checks_one_task_and_no_task_gets_two(some: list[TaskDraft]) -> None:
    jobs = synthesise_jobs(some)

    checks = [job for job in jobs if job.checks is not None]
    assert len({job.checks for job in checks}) == len(checks)
    for job in checks:
        checked = jobs[(job.checks or 0) - 1]
        assert job.deps == (job.checks,)
        assert checked.checks is None and not checked.is_check
        assert job.owner in ("tester", "reviewer") and job.files == ()
        assert checked.owner != "researcher"


@given(drafts())
def test_each_rule_twice_is_each_rule_once(some: list[TaskDraft]) -> None:
    jobs = jobs_from_drafts(some)
    for rule in (
        without_generated_files,
        with_shared_files_merged,
        with_docs_exceptions,
        with_check_jobs,
        in_dependency_order,
    ):
        jobs = rule(jobs)
        assert rule(jobs) == jobs
    assert jobs == synthesise_jobs(some)
