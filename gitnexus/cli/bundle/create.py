"""`git nexus bundle create|apply`: state in a file."""

from typing import TYPE_CHECKING

import click

from gitnexus.cli.sync import told, words
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, counted, start_folder, with_nexus

if TYPE_CHECKING:
    from pathlib import Path

    from gitnexus.app import Nexus


@click.group("bundle", cls=NexusGroup)
def bundle() -> None:
    """Carry state in a file, where no network joins two clones."""


@bundle.command("create")
@click.argument("file")
@click.option("--branches", is_flag=True, help="Also the branches of runs, with the code that they stand on.")
@click.option("--basis", metavar="REMOTE", help="Leave out what that remote had when you last synced with it.")
@with_nexus
def create(nexus: "Nexus", /, file: str, branches: bool, basis: str | None) -> None:
    """Write the state, the logs of runs and their archives into FILE. It is a plain git bundle."""
    from gitnexus.app.bundle import created

    place = _place(file)
    refs = created(nexus.state, place, branches=branches, basis=basis)
    size = place.stat().st_size
    text = (
        f"Wrote {counted(len(refs), 'ref')} to {place}, {max(1, size // 1024)} KiB: git nexus bundle apply takes it in."
    )
    answer({"file": str(place), "refs": refs, "bytes": size}, text, nexus.described)


@bundle.command("apply")
@click.argument("file")
@click.option("--dry-run", is_flag=True, help="Say what would come in, and change nothing.")
@click.option("--adopt", is_flag=True, help="The two began apart: make theirs the project, bring yours into it.")
@with_nexus
def apply(nexus: "Nexus", /, file: str, dry_run: bool, adopt: bool) -> None:
    """Take in what FILE holds, merged and judged as git nexus sync does it."""
    from gitnexus.app.bundle import applied

    done = applied(nexus.state, _place(file), dry_run=dry_run, adopt=adopt)
    done.remote = file
    answer(lambda: told(done, dry_run), lambda: words(done, dry_run), nexus.described)


def _place(file: str) -> "Path":
    return start_folder(invocation(click.get_current_context())) / file
