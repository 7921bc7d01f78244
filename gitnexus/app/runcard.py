"""The card of an action of a run, as it would be judged now."""

import contextlib
import json
from difflib import unified_diff

from gitnexus.app.bench import RevealCard
from gitnexus.app.cards import Card, card_of, with_text
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import proposal
from gitnexus.base.errors import NexusError
from gitnexus.policy.model import DocumentRequest, HandoffRequest, Request
from gitnexus.policy.request import digest
from gitnexus.redaction.result import Reveal


def run_card(desk: RunDesk, action: str) -> tuple[Card, RevealCard]:
    """Return the card of an action, and how to have its secrets shown. Raises: NexusError."""
    found, keeper = proposal(desk, action), desk.keeper(action)
    summary, request = desk.view().actions[action].summary, found.request
    said = _said(desk, request)

    def card(reveal: Reveal | None = None) -> Card:
        made = card_of(desk.repo, request, digest(request), found.decision, keeper.mode, summary,
                       keeper.around, reveal)  # fmt: skip

        return with_text(made, said, reveal) if said else made

    def shown(why: str) -> Card:
        revealed(desk, action, why)
        return card(Reveal(why))

    return card(), shown


def _said(desk: RunDesk, request: Request) -> bytes:
    """Return what a request names by its digest alone: the message of a handoff, the change of a document."""
    if isinstance(request, HandoffRequest):
        return desk.artifacts.read(request.message_digest)
    if isinstance(request, DocumentRequest):
        old, new = (_lines(desk, of) for of in (request.old_digest, request.new_digest))
        return "\n".join(unified_diff(old, new, "now", "then", lineterm="")).encode("utf-8", "surrogateescape")
    return b""


def _lines(desk: RunDesk, digest: str) -> list[str]:
    """Return a document that the run kept, as lines: JSON is laid out, so that a change is seen where it is."""
    try:
        raw = desk.artifacts.read(digest) if digest else b""
    except NexusError:
        return []
    text = raw.decode("utf-8", "surrogateescape")
    with contextlib.suppress(ValueError):
        text = json.dumps(json.loads(raw), indent=1, ensure_ascii=False)
    return text.split("\n")


def revealed(desk: RunDesk, action: str, why: str) -> None:
    """Write down that the person has the secrets of an action shown. Raises: NexusError."""
    desk.recorder(desk.keeper(action), "user").revealed(desk.state.author.name, why)
