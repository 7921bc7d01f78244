"""`git nexus pack build`: build a pack, and print its text."""

from typing import TYPE_CHECKING

import click

from gitnexus.base.errors import NotFound
from gitnexus.base.text import one_line
from gitnexus.cli.pack.output import print_pack
from gitnexus.packs import PackBudget
from gitnexus.runs.workflow.packs import build_pack
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("build", cls=NexusCommand)
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@click.option("--budget-kib", type=click.IntRange(1), default=160, show_default=True, help="At most so many KiB.")
@click.option("--tokens", type=click.IntRange(0), default=0, help="At most so many tokens, estimated; 0 for no limit.")
@click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit that files are read from.")
@with_nexus
def build_context_pack(nexus: "Nexus", refs: tuple[str, ...], budget_kib: int, tokens: int, base: str) -> None:
    """Build a pack, and print its text.

    A REF is file:PATH#L10-L20, doc:PATH#HEADING (or an id), grep:WORDS or grep[FOLDER]:WORDS, memory:NAME, rule:NAME,
    context:NAME, task:T12, commit:ID, cycle:N or artifact:RUN/NAME. Without a kind it is a file or, with a heading, a
    document. Files are those of the commit, not of the checkout. The first REF gets space first.
    """
    found = build_pack(nexus.state, refs, PackBudget(kib=budget_kib, tokens=tokens), base)
    if not found.pieces:
        out = found.left_out[0]
        raise NotFound(
            f"nothing is in this pack: {one_line(out.ref, 80)}: {out.why}",
            context={"leftOut": [one.plain() for one in found.left_out]},
        )
    print_pack(nexus, found)
