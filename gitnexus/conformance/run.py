"""Runs fixtures: each in its own sandbox, several in parallel, and checks every assertion."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from gitnexus.base.errors import Failed, Invalid
from gitnexus.conformance.fixture import ExpectedResult, Fixture, FixtureStep, resolve_state_path
from gitnexus.conformance.load import LoadedFixture
from gitnexus.conformance.sandbox import FixtureSandbox, opened_sandbox
from gitnexus.conformance.transport import Caller, ToolAnswer, Transport

HARNESS = "claude-nexus"


@dataclass(frozen=True, slots=True)
class FixtureResult:
    """How one fixture went. Nothing is ever skipped: what could not be run has failed."""

    test_id: str
    transport: str
    status: Literal["passed", "failed"]
    why: str = ""
    seen: tuple[tuple[str, Any], ...] = field(default=(), repr=False)  # tool and answer, for coverage


def run_fixtures(
    loaded: Sequence[LoadedFixture],
    transports: Sequence[Transport],
    tell: Callable[[FixtureResult], None] = lambda _result: None,
    harness: str = HARNESS,
) -> list[FixtureResult]:
    """Return the results in the order of the fixtures; `tell` hears of each as soon as its turn has come."""
    return asyncio.run(_run_in_parallel(loaded, transports, tell, harness))


async def _run_in_parallel(
    loaded: Sequence[LoadedFixture],
    transports: Sequence[Transport],
    tell: Callable[[FixtureResult], None],
    harness: str,
) -> list[FixtureResult]:
    free = asyncio.Semaphore(os.cpu_count() or 2)

    async def one(row: LoadedFixture, transport: Transport) -> FixtureResult:
        async with free:
            return await run_fixture(row, transport, harness)

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(one(row, transport)) for transport in transports for row in loaded]
        results = []
        for task in tasks:
            result = await task
            tell(result)
            results.append(result)
    return results


async def run_fixture(row: LoadedFixture, transport: Transport, harness: str = HARNESS) -> FixtureResult:
    """Run one fixture."""
    if row.fixture is None:
        return FixtureResult(row.test_id, transport.name, "failed", row.why)
    name = row.fixture.harness or harness
    seen: list[tuple[str, Any]] = []
    try:
        with opened_sandbox(name) as place:
            why = await _why_fixture_fails(row.fixture, place, transport, name, seen)
    except (Failed, Invalid, OSError) as exc:
        why = str(exc)
    status: Literal["passed", "failed"] = "failed" if why else "passed"
    return FixtureResult(row.test_id, transport.name, status, why or "", tuple(seen))


async def _why_fixture_fails(
    fixture: Fixture, place: FixtureSandbox, transport: Transport, harness: str, seen: list[tuple[str, Any]]
) -> str | None:
    for path, content in fixture.seeds.items():
        place.write_seed(resolve_state_path(path, harness), content)
    before = place.files_outside_state()
    async with transport.open(place) as caller:
        why = await _why_step_fails(fixture, place, caller, harness, seen)
    strays = sorted(place.files_outside_state() - before)
    return why or (f"files appeared outside of .nexus: {', '.join(strays)}" if strays else None)


async def _why_step_fails(
    fixture: Fixture, place: FixtureSandbox, caller: Caller, harness: str, seen: list[tuple[str, Any]]
) -> str | None:
    names = await caller.names()
    for at, step in enumerate(fixture.steps, 1):
        if step.call.tool not in names:
            return f"there is no tool {step.call.tool}"
        answer = await caller.call(step.call.tool, step.call.params)
        seen.append((step.call.tool, answer.value))
        expected = (step.expected, fixture.last) if at == len(fixture.steps) else (step.expected,)
        why = why_not_answer(answer, expected) or why_not_state(place, expected, harness)
        if why:
            return why if len(fixture.steps) == 1 else f"step {at}, {_tool_of_step(step)}: {why}"
    return None


def why_not_answer(answer: ToolAnswer, expected: Sequence[ExpectedResult]) -> str | None:
    """Return what is wrong with an answer, None if all that is expected of it holds."""
    if answer.broken:
        return answer.broken
    if answer.failed and not any(one.error for one in expected):
        return f"an error that nobody expects: {answer.error}"
    if not answer.failed and any(one.error for one in expected):
        return "an error is expected, and the call succeeds"
    for one in expected:
        if one.error_contains is not None and one.error_contains not in answer.error:
            return f"the error is {answer.error!r}, without {one.error_contains!r}"
        for assertion in one.answer:
            why = assertion.why_not(answer.value)
            if why:
                return f"answer: {why}"
    return None


def why_not_state(place: FixtureSandbox, expected: Sequence[ExpectedResult], harness: str) -> str | None:
    """Return what is wrong with the state files, None if all that is expected of them holds."""
    for file in (file for one in expected for file in one.files):
        path = resolve_state_path(file.path, harness)
        if place.exists(path) == file.absent:
            return f"{path} {'is there' if file.absent else 'is missing'}"
        if not file.content:
            continue
        try:
            content = place.load(path)
        except Invalid as exc:
            return f"{path}: {exc.message}"
        for assertion in file.content:
            why = assertion.why_not(content)
            if why:
                return f"{path}: {why}"
    return None


def _tool_of_step(step: FixtureStep) -> str:
    return step.call.tool
