"""Joins the commands that prove a patch to the question about it: who approved the patch has approved them with it.

The commands stand in the event that proposes the patch, and on its card. Nothing is written or executed here.
"""

from collections.abc import Sequence

from gitnexus.base.argvtext import format_words, parse_words
from gitnexus.events.fold import POLICY
from gitnexus.events.kinds import LONGEST_TEXT
from gitnexus.policy.model import GateDecision
from gitnexus.policy.word_paths import assumed_program_path
from gitnexus.runs.command_rules import command_request
from gitnexus.runs.import_log import last_imported_event
from gitnexus.runs.open_run import OpenRun
from gitnexus.state.format import project_id_of

MOST_PROOFS = 20


def decide_on_proof(run: OpenRun, argv: Sequence[str], role: str) -> GateDecision:
    """Return what the policy says to an agent that runs a command."""
    project, words = project_id_of(run.state.snapshot) or "unknown", tuple(argv)
    program = assumed_program_path(words[0])
    request = command_request(project, run.record.id, words, str(run.worktree_path), program, "none", "L3", role)
    return run.make_gatekeeper().decide(request)


def highest_risk(run: OpenRun, proofs: Sequence[str], role: str) -> int:
    """Return the highest risk of the commands that a proposal carries, 0 if there are none."""
    return max((decide_on_proof(run, parse_words(one), role).risk for one in proofs), default=0)


def proofs_to_ask_about(run: OpenRun, commands: Sequence[Sequence[str]], role: str) -> list[str]:
    """Return, in words, the commands that prove a patch and that the policy asks about: one question with the patch."""
    given = [argv for argv in commands if argv]
    return proofs_in_words([argv for argv in given if decide_on_proof(run, argv, role).verdict == "ask"])


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
