"""`git nexus workflow batches`: split a plan into batches, and show which of its steps are too big to run."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.canonical import json_document
from gitnexus.base.text import one_line
from gitnexus.cli.workflow.files import read_given_file, write_new_file
from gitnexus.runs.workflow.routing import compute_batches, parse_plan
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus
from gitnexus.ui.workflow import format_batches
from gitnexus.workflow.packing import BatchLimits, plan_with_splits

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("batches", cls=NexusCommand)
@click.argument("file", metavar="FILE")
@click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit to count files at.")
@click.option("--cu", type=click.IntRange(0), help="Complexity units (estimated effort) of one batch; 0 is no limit.")
@click.option("--steps", type=click.IntRange(0), help="Steps of one batch.")
@click.option("--ctx-kib", type=click.IntRange(0), help="KiB of context of one batch.")
@click.option("--risk", type=click.IntRange(0), help="Risk of one batch.")
@click.option("--output", metavar="FILE", help="Write the plan with its big steps split, as proposed, to a new file.")
@with_nexus
def show_batches(nexus: "Nexus", /, file: str, base: str, output: str | None, **given: Any) -> None:
    """Split a plan into batches, and show which of its steps are too big to run.

    The size of a step is counted from the plan and the files of the repository; limits not given are the settings'.
    """
    plan = parse_plan(read_given_file(file), one_line(file, 200))
    found, limits = compute_batches(nexus.state, plan, base, **given)
    told = {**found.plain(), "limits": _limits_as_json(limits)}
    if output is not None:
        told["output"] = str(write_new_file(output, json_document(plan_with_splits(plan, found.splits).plain())))
        print_note(f"wrote {told['output']}")
    print_answer(told, format_batches(found), nexus.described)


def _limits_as_json(limits: "BatchLimits") -> dict[str, int]:
    return {"cu": limits.cu, "steps": limits.steps, "ctxKib": limits.ctx_kib, "risk": limits.risk}
