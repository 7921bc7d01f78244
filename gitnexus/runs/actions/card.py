"""The card of an action of a run, as it would be judged now."""

import json
from dataclasses import replace

from gitnexus.app.bench import RevealCard
from gitnexus.app.cards import Card, card_of, with_text
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import proposal
from gitnexus.base.canonical import parse
from gitnexus.base.errors import NotFound
from gitnexus.policy.model import CommandRequest, DocumentRequest, HandoffRequest, Request
from gitnexus.redaction.result import Reveal


def run_card(desk: RunDesk, action: str) -> tuple[Card, RevealCard]:
    """Return the card of an action, and how to have its secrets shown. Raises: NexusError."""
    found, keeper = proposal(desk, action), desk.keeper(action)
    summary, request = desk.view().actions[action].summary, found.request
    said, inputs = _text_of(desk, request), _inputs_of(desk, request)

    def card(reveal: Reveal | None = None) -> Card:
        made = card_of(desk.repo, request, found.decision, keeper.mode, summary,
                       keeper.around, reveal, inputs)  # fmt: skip

        more = [*_origin(desk), *(_confined(desk, action) if request.kind == "patch" else [])]
        made = replace(made, facts=(*made.facts, *more))
        return with_text(made, said, reveal) if said else made

    def shown(why: str) -> Card:
        revealed(desk, action, why)
        return card(Reveal(why))

    return card(), shown


def _inputs_of(desk: RunDesk, request: Request) -> dict[str, bytes]:
    """Return the input of a command by its digest, if it is on this machine."""
    if not isinstance(request, CommandRequest) or not request.stdin_digest:
        return {}
    try:
        return {request.stdin_digest: desk.artifacts.read(request.stdin_digest)}
    except NotFound:
        return {}


def _text_of(desk: RunDesk, request: Request) -> bytes:
    """Return what a card shows besides its facts: a message, or the difference of a document."""
    if isinstance(request, HandoffRequest):
        return desk.artifacts.read(request.message_digest)
    if isinstance(request, DocumentRequest) and request.kind in ("plan_patch", "agenda_patch"):
        from gitnexus.app.agenda import difference
        from gitnexus.docgraph.phases import Edit

        before = desk.artifacts.read(request.old_digest) if request.old_digest else None
        after = desk.artifacts.read(request.new_digest)
        if request.kind == "plan_patch":
            before, after = _laid_out(before) if before is not None else None, _laid_out(after)
        return difference(Edit(request.path, before, after, "")).encode()
    return b""


def _laid_out(raw: bytes) -> bytes:
    """Return JSON as people read it: canonical JSON is one line, and so would be its difference."""
    return json.dumps(parse(raw), indent=2, ensure_ascii=False).encode() + b"\n"


def _origin(desk: RunDesk) -> list[tuple[str, str]]:
    return [("run", "foreign: somebody else began it")] if desk.foreign else []


def _confined(desk: RunDesk, action: str) -> list[tuple[str, str]]:
    """Return at which level of the sandbox the agent worked that made a patch, as its log tells it."""
    view = desk.view()
    node = view.nodes.get(view.actions[action].node)
    return [("sandbox", f"{node.sandbox}, in which it was made")] if node is not None and node.sandbox else []


def revealed(desk: RunDesk, action: str, why: str) -> None:
    """Write down that the person has the secrets of an action shown. Raises: NexusError."""
    desk.recorder(desk.keeper(action), "user").revealed(desk.state.author.name, why)
