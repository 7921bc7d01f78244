"""Complexity units: how big a step of a plan is, counted from the plan and the repository. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, NamedTuple

from gitnexus.base.errors import Invalid
from gitnexus.base.globs import deciding
from gitnexus.base.record import Record, StoredRecord

HIGHEST_RISK = 3
MOST_STEPS = 1000
_WILD = ("*", "?", "[")


class Weights(Record):
    """What each count weighs: CU = 2F + 3D + C + 5R + 4U, unless the settings say otherwise."""

    files: int = 2
    directories: int = 3
    commands: int = 1
    risk: int = 5
    unresolved: int = 4


class StepContext(StoredRecord):
    """What a step is to be shown: whole files by path or pattern; other keys are the pack's."""

    paths: tuple[str, ...] = ()


class PlanStep(StoredRecord):
    """A step of a plan as far as budgets are concerned; `files` are those it will touch, by path or pattern."""

    id: str
    title: str = ""
    files: tuple[str, ...] = ()
    commands: tuple[tuple[str, ...], ...] = ()
    risk: int = 0
    questions: tuple[str, ...] = ()
    ctx: StepContext = field(default_factory=StepContext)


class Plan(StoredRecord):
    """A plan as far as budgets are concerned: steps in their order."""

    id: str = ""
    steps: tuple[PlanStep, ...]


class Counts(NamedTuple):
    """F, D, C, R and U of a step."""

    files: int
    directories: int
    commands: int
    risk: int
    unresolved: int


class Cost(NamedTuple):
    """What one step takes of a batch."""

    step: str
    counts: Counts
    cu: int
    ctx_kib: int


def plan_of(value: Any, where: str) -> Plan:
    """Return the plan in a JSON value. Raises: Invalid, naming the step."""
    plan = Plan.from_value(value, where)
    seen: set[str] = set()
    if len(plan.steps) > MOST_STEPS:
        raise Invalid(f"{where}: more than {MOST_STEPS} steps")
    for step in plan.steps:
        if not step.id or len(step.id) > 100:
            raise Invalid(f"{where}: a step needs an id of at most 100 characters")
        if step.id in seen:
            raise Invalid(f"{where}: there are two steps {step.id[:40]}")
        if not 0 <= step.risk <= HIGHEST_RISK:
            raise Invalid(f"{where}: step {step.id[:40]}: risk should be 0 to {HIGHEST_RISK}")
        seen.add(step.id)
    return plan


def cu(counts: Counts, weights: Weights) -> int:
    """Return the complexity units."""
    return (
        weights.files * counts.files
        + weights.directories * counts.directories
        + weights.commands * counts.commands
        + weights.risk * counts.risk
        + weights.unresolved * counts.unresolved
    )


def touched(patterns: Sequence[str], sizes: Mapping[str, int]) -> list[str]:
    """Return the files that patterns mean: those of the repository, and a new one for each path not there."""
    found: set[str] = set()
    for pattern in patterns:
        plain = pattern.removeprefix("./").rstrip("/")
        below = [path for path in sizes if path.startswith(f"{plain}/")]
        if plain in sizes:
            found.add(plain)
        elif any(sign in plain for sign in _WILD):
            # One that names nothing yet is still something to be made.
            found.update([path for path in sizes if deciding((f"/{plain}",), path)] or [plain])
        else:
            found.update(below or [plain])
    return sorted(found)


def cost_of(step: PlanStep, sizes: Mapping[str, int], weights: Weights) -> Cost:
    """Return what a step takes. `sizes`: every file of the repository with its bytes."""
    files = touched(step.files, sizes)
    folders = {path.rpartition("/")[0] for path in files}
    counts = Counts(len(files), len(folders), len(step.commands), step.risk, len(step.questions))
    size = sum(sizes.get(path, 0) for path in touched(step.ctx.paths, sizes))
    return Cost(step.id, counts, cu(counts, weights), -(-size // 1024))
