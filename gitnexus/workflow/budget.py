"""Computes complexity units, the size of a plan step, from the plan and the files of the repository. Pure."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import ConfigDict, Field

from gitnexus.base.document import Document, Many
from gitnexus.base.errors import Invalid
from gitnexus.base.globs import matching_pattern

HIGHEST_RISK = 3
MOST_STEPS = 1000
_WILD = ("*", "?", "[")


Weight = Annotated[int, Field(ge=0, le=10**9)]


class CostWeights(Document):
    """The weight of each count: CU = 2F + 3D + C + 5R + 4U, unless the settings differ."""

    files: Weight = 2
    directories: Weight = 3
    commands: Weight = 1
    risk: Weight = 5
    unresolved: Weight = 4


class CountedPart(Document):
    """A part of a plan. Fields that matter to others are kept as they are."""

    model_config = ConfigDict(extra="allow")


class CountedContext(CountedPart):
    """The context of a step: whole files by path or pattern; other keys belong to the pack."""

    paths: Many[str] = ()


class CountedStep(CountedPart):
    """The fields of a plan step that matter for budgets; `files` are those it will touch, by path or pattern."""

    id: Annotated[str, Field(min_length=1, max_length=100)]
    title: str = ""
    files: Many[str] = ()
    commands: Many[Many[str]] = ()
    risk: Annotated[int, Field(ge=0, le=HIGHEST_RISK)] = 0
    questions: Many[str] = ()
    ctx: CountedContext = CountedContext()


class CountedPlan(CountedPart):
    """The fields of a plan that matter for budgets: its steps in order."""

    id: str = ""
    steps: Annotated[Many[CountedStep], Field(max_length=MOST_STEPS)]


class StepCounts(NamedTuple):
    """The counts F, D, C, R and U of a step."""

    files: int
    directories: int
    commands: int
    risk: int
    unresolved: int


class StepCost(NamedTuple):
    """The share of a batch that one step takes."""

    step: str
    counts: StepCounts
    cu: int
    ctx_kib: int


def parse_counted_plan(value: Any, where: str) -> CountedPlan:
    """Return the plan in a JSON value. Raises: Invalid, naming the step."""
    plan = CountedPlan.from_value(value, where)
    seen: set[str] = set()
    for step in plan.steps:
        if step.id in seen:
            raise Invalid(f"{where}: there are two steps {step.id[:40]}")
        seen.add(step.id)
    return plan


def complexity_units(counts: StepCounts, weights: CostWeights) -> int:
    """Return the complexity units."""
    return (
        weights.files * counts.files
        + weights.directories * counts.directories
        + weights.commands * counts.commands
        + weights.risk * counts.risk
        + weights.unresolved * counts.unresolved
    )


def files_matching(patterns: Sequence[str], sizes: Mapping[str, int]) -> list[str]:
    """Return the files that patterns match in the repository, and a new file for each path that does not exist."""
    found: set[str] = set()
    for pattern in patterns:
        plain = pattern.removeprefix("./").rstrip("/")
        below = [path for path in sizes if path.startswith(f"{plain}/")]
        if plain in sizes:
            found.add(plain)
        elif any(sign in plain for sign in _WILD):
            # One that names nothing yet is still something to be made.
            found.update([path for path in sizes if matching_pattern((f"/{plain}",), path)] or [plain])
        else:
            found.update(below or [plain])
    return sorted(found)


def cost_of_step(step: CountedStep, sizes: Mapping[str, int], weights: CostWeights) -> StepCost:
    """Return the cost of a step. `sizes` maps every file of the repository to its bytes."""
    files = files_matching(step.files, sizes)
    folders = {path.rpartition("/")[0] for path in files}
    counts = StepCounts(len(files), len(folders), len(step.commands), step.risk, len(step.questions))
    size = sum(sizes.get(path, 0) for path in files_matching(step.ctx.paths, sizes))
    return StepCost(step.id, counts, complexity_units(counts, weights), -(-size // 1024))
