"""`git nexus memory prime`: print the most useful notes within a budget, fenced and labelled."""

from typing import TYPE_CHECKING

import click

from gitnexus.app.notes import open_notes
from gitnexus.memory.session_brief import build_session_brief, estimate_tokens, parse_token_budget
from gitnexus.ui.commands import NexusCommand
from gitnexus.ui.output import count_of, print_answer, print_note, with_nexus

if TYPE_CHECKING:
    from gitnexus.app import Nexus


@click.command("prime", cls=NexusCommand)
@click.option("--budget", default="4k", show_default=True, metavar="TOKENS", help="How much a model may be given.")
@with_nexus
def print_session_brief(nexus: "Nexus", budget: str) -> None:
    """Print the most useful notes within a budget, fenced and labelled, for the start of a session."""
    text, chosen, left = build_session_brief(open_notes(nexus.state), parse_token_budget(budget))
    if not chosen:
        print_note(f"the budget holds none of the {count_of(len(left), 'note')}" if left else "there are no notes yet")
    print_answer(
        {"text": text, "tokens": estimate_tokens(text), "notes": chosen, "leftOut": left},
        text.rstrip("\n"),
        nexus.described,
    )
