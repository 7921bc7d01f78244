"""`git nexus policy`: the law of the project."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.text import one_line, visible
from gitnexus.ui.commands import NexusGroup
from gitnexus.ui.output import answer, note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.group("policy", cls=NexusGroup)
def policy() -> None:
    """What agents may read, write and run: policy.md, in force when an approver signed it."""


@policy.command("trust")
@click.option("--confirm", metavar="DIGEST", multiple=True,
              help="Sign exactly this content without being asked; once for each file.")  # fmt: skip
@with_nexus
def trust_command(nexus: "Nexus", confirm: tuple[str, ...]) -> None:
    """Sign policy and settings as they are now.

    Shows what changed since they were last signed, and asks. Where nobody can be asked, --confirm names what is to be
    signed: sha256: and what sha256sum prints for the file. It takes the private key of an approver.
    """
    from gitnexus.app.trust import trust, waiting
    from gitnexus.ui.trust import change_of, confirmed

    files = waiting(nexus.state)
    if not files:
        answer({"signed": []}, "All that must be signed is signed.", nexus.described)
        return
    for file in files:
        click.echo(visible(change_of(file.path, file.before, file.raw)), err=True)
        note(f"{file.path}: {file.why}")
    confirmed("Sign this?", [file.digest for file in files], confirm)
    key = trust(nexus.state, files)
    rows = [{"path": file.path, "digest": file.digest} for file in files]
    names = ", ".join(file.path for file in files)
    answer({"signed": rows, "key": key}, f"Signed {names} with {one_line(key)}.", nexus.described)
