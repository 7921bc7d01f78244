"""A new yes for a run whose base moved: what would land now is judged and shown like any patch, and signed."""

from collections.abc import Callable
from dataclasses import replace

from gitnexus.app.bench import AskPerson
from gitnexus.app.cards import Card, card_of
from gitnexus.app.runcard import revealed
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import request_of
from gitnexus.base.errors import ApprovalNeeded, DeniedByPolicy
from gitnexus.git.private import PrivateGit
from gitnexus.git.rows import difference
from gitnexus.redaction.result import Reveal
from gitnexus.runs.land import ACTION, Renew


def renewer(
    desk: RunDesk, git: PrivateGit, head: str, ask: AskPerson | None, vouch: Callable[[str, str], str]
) -> Renew | None:
    """Return who asks a person about what would land on `head` and signs it by `vouch`; None if nobody is there."""
    if ask is None:
        return None

    def renew(onto: str, result: str, why: str) -> str:
        git.keep(result)
        request = request_of(desk, head, onto, result, difference(git, onto, result), "")
        keeper = desk.keeper(ACTION)
        decision = keeper.decide(request)
        if decision.verdict == "deny":
            raise DeniedByPolicy(f"{decision.rule} denies it: {decision.why}", hint=decision.instead or None)

        def card(reveal: Reveal | None = None) -> Card:
            made = card_of(desk.repo, request, decision, keeper.mode, why, keeper.around, reveal)
            # It is signed for these two trees alone.
            return replace(made, offers=tuple(one for one in made.offers if one.scope == "once"))

        def shown(reason: str) -> Card:
            revealed(desk, ACTION, reason)
            return card(Reveal(reason))

        if ask(card(), shown) is None:
            raise ApprovalNeeded(
                f"{desk.run.id} has not landed: nobody said yes to what it would be now",
                hint="land it again to be asked",
            )
        return vouch(onto, result)

    return renew
