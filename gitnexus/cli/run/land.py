"""`git nexus land`: a run's approved work comes into the branch you are on."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line
from gitnexus.ui.asking import can_ask, person
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import answer, note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.runs.land import Way


@click.command("land", cls=NexusCommand)
@click.argument("run")
@click.option(
    "--merge", "way", flag_value="merge", default=True, help="One merge commit; the run's commits stay. Default."
)
@click.option("--rebase", "way", flag_value="rebase", help="The run's commits anew, on top of your branch.")
@click.option("--squash", "way", flag_value="squash", help="One commit that carries all approvals.")
@with_nexus
def land(nexus: "Nexus", run: str, way: "Way") -> None:
    """Bring what a run did into the branch you are on.

    All of it is verified first. It lands only as it was approved: where your branch has changed so that it would be
    another change, a terminal shows that change and asks for a new approval. Uncommitted work in the way is named and
    left alone. Your git does it, with your hooks and your signature; git nexus verify proves the result. Twice is
    harmless.
    """
    from gitnexus.app.checks import in_sandbox
    from gitnexus.app.landing import land as bring

    done = bring(nexus.state, run, way, in_sandbox, person() if can_ask() else None)
    branch = done.branch.removeprefix("refs/heads/")
    began = done.run.onto.removeprefix("refs/heads/")
    if began not in ("", branch):
        note(f"it began on {began}, and landed on {branch}")
    if done.left:
        more = f" and {len(done.left) - 3} more" if len(done.left) > 3 else ""
        note(f"uncommitted work was left alone: {', '.join(map(one_line, done.left[:3]))}{more}")
    verb = "was on" if done.already else "is on"
    told = {"id": done.run.id, "status": done.run.status, "branch": done.run.branch, "base": done.run.base,
            "head": done.run.head}  # fmt: skip
    answer(
        {"run": told, "commit": done.commit, "onto": branch, "way": done.way, "already": done.already,
         "checks": list(done.checks), "leftAlone": list(done.left)},
        f"{done.run.id} {verb} {branch}{' already' if done.already else ''}: {done.commit[:9]}"
        + ("" if done.already else f"\nNext: git nexus clean {done.run.id}"),
        nexus.described,
    )  # fmt: skip
