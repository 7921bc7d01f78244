"""Prints a context pack as text or as JSON."""

from typing import TYPE_CHECKING, Any

import click

from gitnexus.packs import ContextPack, estimate_tokens
from gitnexus.runs.workflow.packs import pack_text
from gitnexus.ui.commands import current_invocation
from gitnexus.ui.output import count_of, print_answer, print_note

if TYPE_CHECKING:
    from gitnexus.app import Nexus


def print_pack(nexus: "Nexus", found: "ContextPack") -> None:
    """Print a pack as text or JSON; its size, and what was left out, as notes."""
    text = pack_text(found)
    size = len(text.encode())
    if not current_invocation(click.get_current_context()).as_json:
        print_note(
            f"{found.hash}: {count_of(len(found.pieces), 'piece')}, {size} bytes, about {estimate_tokens(text)} tokens"
        )
        for one in found.left_out:
            print_note(f"left out: {one.ref}: {one.why}")
    payload = {"pack": pack_as_json(found), "bytes": size, "tokens": estimate_tokens(text), "text": text}
    print_answer(payload, text.rstrip("\n"), nexus.described)


def pack_as_json(found: "ContextPack") -> dict[str, Any]:
    """Return a pack without the texts of its pieces.

    They are in the one rendered text, in which this machine's secrets are masked too.
    """
    plain = found.plain()
    plain["pieces"] = [{key: value for key, value in one.items() if key != "text"} for one in plain["pieces"]]
    return plain
