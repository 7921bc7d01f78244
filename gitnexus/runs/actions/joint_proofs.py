"""Joins the commands that prove a patch to the question about it: who approved the patch has approved them with it.

The commands stand in the event that proposes the patch, and on its card. Nothing is written or executed here.
"""

from collections.abc import Sequence

from gitnexus.base.argvtext import format_words
from gitnexus.events.fold import POLICY
from gitnexus.events.kinds import LONGEST_TEXT
from gitnexus.runs.import_log import last_imported_event
from gitnexus.runs.open_run import OpenRun

MOST_PROOFS = 20


def proofs_in_words(commands: Sequence[Sequence[str]]) -> list[str]:
    """Return commands as a proposal carries them; one that is too long to be shown whole is left out."""
    words = [format_words(tuple(argv)) for argv in commands]
    return [one for one in words if len(one) <= LONGEST_TEXT][:MOST_PROOFS]


def approver_of_proof(run: OpenRun, node: str, argv: Sequence[str]) -> str:
    """Return the person who approved the last patch of a node here and with it this command; empty if nobody did.

    An approval that came from another clone is one of the patch alone: nobody here was shown its card.
    """
    patches = [
        (name, one)
        for name, one in run.view().actions.items()
        if one.node == node and one.kind == "patch" and one.status == "executed"
    ]
    if not patches or run.foreign:
        return ""
    name, last = patches[-1]
    if last.by in ("", POLICY) or format_words(tuple(argv)) not in last.proofs:
        return ""
    imported, _ = last_imported_event(run.folder)
    here = [one for one in run.events() if one.kind == "permission.granted" and one.body["action"] == name]
    return last.by if here and here[-1].seq > imported else ""
