"""`git nexus pack`: what a model would be given to read, for people who want to see it first."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.base.errors import NotFound
from gitnexus.base.text import one_line
from gitnexus.ui.commands import NexusGroup, invocation
from gitnexus.ui.output import answer, columns, counted, note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus
    from gitnexus.packs import Pack

_HASH = click.argument("name", metavar="HASH")


@click.group("pack", cls=NexusGroup)
def pack() -> None:
    """Context packs: pieces of documents, files, notes and tasks, within a budget, the same for everybody."""


@pack.command("build")
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@click.option("--budget-kib", type=click.IntRange(1), default=160, show_default=True, help="At most so many KiB.")
@click.option("--tokens", type=click.IntRange(0), default=0, help="At most so many tokens, estimated; 0 for no limit.")
@click.option("--base", default="HEAD", show_default=True, metavar="REV", help="The commit that files are read from.")
@with_nexus
def build(nexus: "Nexus", refs: tuple[str, ...], budget_kib: int, tokens: int, base: str) -> None:
    """Build a pack, and print its text.

    A REF is file:PATH#L10-L20, doc:PATH#HEADING (or an id), grep:WORDS or grep[FOLDER]:WORDS, memory:NAME, rule:NAME,
    context:NAME, task:T12, commit:ID, cycle:N or artifact:RUN/NAME. Without a kind it is a file, or with a heading a
    document. Files are those of the commit, not of the checkout. The first REF gets its room first.
    """
    from gitnexus.app.packs import pack_of
    from gitnexus.packs import Budget

    found = pack_of(nexus.state, refs, Budget(kib=budget_kib, tokens=tokens), base)
    if not found.pieces:
        out = found.left_out[0]
        raise NotFound(f"nothing is in this pack: {one_line(out.ref, 80)}: {out.why}",
                       context={"leftOut": [one.plain() for one in found.left_out]})  # fmt: skip
    _answer(nexus, found)


@pack.command("show")
@_HASH
@with_nexus
def show(nexus: "Nexus", name: str) -> None:
    """Print a pack that was built here, by its hash or the beginning of it."""
    from gitnexus.app.packs import pack_named

    _answer(nexus, pack_named(nexus.state, name))


@pack.command("check")
@_HASH
@with_nexus
def check(nexus: "Nexus", name: str) -> None:
    """Build a pack again from its commits, and say where each piece comes from. What comes out otherwise is refused."""
    from gitnexus.app.packs import checked, pack_named

    found = pack_named(nexus.state, name)
    checked(nexus.state, found)
    rows = [
        [source.blob[:12], f"{one_line(source.path, 100)}:{source.first_line}-{source.last_line}"]
        for piece in found.pieces
        for source in piece.sources
    ]
    told = f"{found.hash} is what the repository gives.\n{columns(rows)}"
    answer({"ok": True, "pack": _plain(found)}, told, nexus.described)


def _answer(nexus: "Nexus", found: "Pack") -> None:
    from gitnexus.app.packs import text_of
    from gitnexus.packs import tokens_of

    text = text_of(found)
    size = len(text.encode())
    if not invocation(click.get_current_context()).as_json:
        note(f"{found.hash}: {counted(len(found.pieces), 'piece')}, {size} bytes, about {tokens_of(text)} tokens")
        for one in found.left_out:
            note(f"left out: {one.ref}: {one.why}")
    payload = {"pack": _plain(found), "bytes": size, "tokens": tokens_of(text), "text": text}
    answer(payload, text.rstrip("\n"), nexus.described)


def _plain(found: "Pack") -> dict[str, Any]:
    """Return a pack without the texts of its pieces: they stand in the one text, where also this machine's secrets
    are hidden."""
    plain = found.plain()
    plain["pieces"] = [{key: value for key, value in one.items() if key != "text"} for one in plain["pieces"]]
    return plain
