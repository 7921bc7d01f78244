"""Asks for a new approval when a run's base moved: judges and shows the new result like a patch, and signs it."""

from collections.abc import Callable
from dataclasses import replace

from gitnexus.base.errors import ApprovalNeeded, DeniedByPolicy
from gitnexus.gateway.assemble import AskPerson
from gitnexus.gateway.card import Card, build_card
from gitnexus.git.private import PrivateGit
from gitnexus.git.tree_diff import diff_trees
from gitnexus.redaction.result import Reveal
from gitnexus.runs.actions.card import log_reveal
from gitnexus.runs.actions.propose import patch_request
from gitnexus.runs.landing.plan_landing import ACTION, Renew
from gitnexus.runs.open_run import OpenRun


def reapproval_asker(
    run: OpenRun, git: PrivateGit, head: str, ask: AskPerson | None, vouch: Callable[[str, str], str]
) -> Renew | None:
    """Return the function that asks about the new result on `head` and signs it with `vouch`.

    None if nobody can answer.
    """
    if ask is None:
        return None

    def renew(onto: str, result: str, why: str) -> str:
        git.keep(result)
        request = patch_request(run, head, onto, result, diff_trees(git, onto, result), "")
        gatekeeper = run.make_gatekeeper(ACTION)
        decision = gatekeeper.decide(request)
        if decision.verdict == "deny":
            raise DeniedByPolicy(f"{decision.rule} denies it: {decision.why}", hint=decision.instead or None)

        def card(reveal: Reveal | None = None) -> Card:
            made = build_card(run.repo, request, decision, gatekeeper.mode, why, gatekeeper.around, reveal)
            # The signature covers these two trees only.
            return replace(made, offers=tuple(one for one in made.offers if one.scope == "once"))

        def shown(reason: str) -> Card:
            log_reveal(run, ACTION, reason)
            return card(Reveal(reason))

        if ask(card(), shown) is None:
            raise ApprovalNeeded(
                f"{run.record.id} has not landed: nobody approved what it would be now",
                hint="land it again to be asked",
            )
        return vouch(onto, result)

    return renew
