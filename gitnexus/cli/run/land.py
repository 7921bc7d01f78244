"""`git nexus land`: merge the approved commits of a run into the current branch."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.runs.check_folder import run_check_sandboxed
from gitnexus.runs.landing.land import land_run
from gitnexus.ui.approval_prompt import is_person_at_terminal, person_at_terminal
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import print_answer, print_note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.runs.landing.plan_landing import Way


@click.command("land", cls=NexusCommand)
@click.argument("run")
@click.option(
    "--merge", "way", flag_value="merge", default=True, help="One merge commit; the run's commits stay. Default."
)
@click.option("--rebase", "way", flag_value="rebase", help="Rebase the run's commits onto your branch.")
@click.option("--squash", "way", flag_value="squash", help="One commit that carries all approvals.")
@with_nexus
def land_finished_run(nexus: "Nexus", run: str, way: "Way") -> None:
    """Merge the approved commits of a run into the current branch.

    All of them are verified first. A run lands only as it was approved: if your branch has changed so that the merge
    would be a different change, a terminal shows that change and asks for a new approval. Uncommitted work in the way
    is named and left alone. Your own git merges, with your hooks and your signature; git nexus verify proves the
    result. Running it again is harmless.
    """
    done = land_run(
        nexus.state, run, way, run_check_sandboxed, person_at_terminal() if is_person_at_terminal() else None
    )
    branch = done.branch.removeprefix("refs/heads/")
    began = done.run.onto.removeprefix("refs/heads/")
    if began not in ("", branch):
        print_note(f"it began on {began}, and landed on {branch}")
    if done.left:
        more = f" and {len(done.left) - 3} more" if len(done.left) > 3 else ""
        print_note(f"uncommitted work was left alone: {', '.join(map(one_line, done.left[:3]))}{more}")
    verb = "was on" if done.already else "is on"
    told = {
        "id": done.run.id,
        "status": done.run.status,
        "branch": done.run.branch,
        "base": done.run.base,
        "head": done.run.head,
    }
    print_answer(
        {
            "run": told,
            "commit": done.commit,
            "onto": branch,
            "way": done.way,
            "already": done.already,
            "checks": list(done.checks),
            "leftAlone": list(done.left),
        },
        f"{done.run.id} {verb} {branch}{' already' if done.already else ''}: {done.commit[:9]}"
        + ("" if done.already else f"\nNext: git nexus clean {done.run.id}"),
        nexus.described,
    )
