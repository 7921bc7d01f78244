"""Offers to sign the project's policy after a change."""

from typing import TYPE_CHECKING

from gitnexus.base.errors import NexusError
from gitnexus.ui.output import print_note
from gitnexus.ui.trust import ask_to_sign, can_ask_person

if TYPE_CHECKING:
    from gitnexus.app import Nexus


def offer_to_sign(nexus: "Nexus", layer: str) -> None:
    """Offer to sign a change of the project's policy; without a terminal, or after a no, print the next step."""
    if layer != "project":
        return
    from gitnexus.policy.trust import files_to_sign, sign_guarded_files

    files = files_to_sign(nexus.state)
    if not files:
        return
    try:
        if can_ask_person() and ask_to_sign(files):
            sign_guarded_files(nexus.state, files)
            return
    except NexusError as exc:  # the change itself is made
        print_note(f"it was not signed: {exc.message}")
    print_note("what it allows counts once an approver has signed it: git nexus policy trust")
