"""Builds the approval card of a request: what would happen, from the request and its two bound trees.

The card shows everything that the request's digest covers, or says what is missing; then no key approves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gitnexus.base.homoglyphs import suspicious_words
from gitnexus.base.text import make_visible, one_line, visible_bytes
from gitnexus.gateway.bound_content import attach_files, uncommitted_files
from gitnexus.gateway.card_parts import (
    MOST_BINARY,
    MOST_BYTES,
    CardPart,
    FileRow,
    find_hidden_in_diff,
    find_hidden_in_text,
    make_card_part,
    mask_command_words,
    request_content,
)
from gitnexus.gateway.card_warnings import find_suspicions, format_warnings
from gitnexus.git import Repo
from gitnexus.policy.grants import GrantContext, ScopeOffer, scopes_to_offer
from gitnexus.policy.model import CommandRequest, GateDecision, Mode, Request
from gitnexus.policy.request import request_digest
from gitnexus.redaction.hide import redact
from gitnexus.redaction.result import Reveal, describe_hidden, hidden_by_rule

__all__ = ["Card", "CardPart", "FileRow", "build_card", "with_text"]


@dataclass(frozen=True, slots=True)
class Card:
    """The card; all texts are masked and escaped. `digest` is that of the request that an approval binds.

    `hidden` counts the masked secrets, `hidden_at` says where; `missing` lists what the card does not show.
    """

    kind: str
    summary: str
    verdict: str
    rule: str
    why: str
    risk: int
    tags: tuple[str, ...]
    mode: Mode
    digest: str
    facts: tuple[tuple[str, str], ...] = ()
    files: tuple[FileRow, ...] = ()
    body: tuple[str, ...] = ()
    hidden: str = ""
    warnings: tuple[str, ...] = ()
    offers: tuple[ScopeOffer, ...] = field(default=())
    # The words of a command one by one: joined by blanks, one word can look like two.
    argv: tuple[str, ...] = ()
    parts: tuple[CardPart, ...] = ()
    hidden_at: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True if the card shows every byte that its digest covers."""
        return not self.hidden_at and not self.missing


def build_card(
    repo: Repo,
    request: Request,
    decision: GateDecision,
    mode: Mode,
    summary: str,
    context: GrantContext,
    reveal: Reveal | None = None,
    inputs: Mapping[str, bytes] | None = None,
) -> Card:
    """Return the card of a request, whose objects must be in the repository. Raises: GitFailed.

    `reveal` shows secrets; whoever grants it logs that first. `inputs` are texts that the request names only by digest,
    such as a command's standard input.
    """
    content = request_content(repo, request, inputs or {})
    masked = redact(content.raw, reveal=reveal)
    text = visible_bytes(masked.text)
    body = tuple(text.split("\n")) if text else ()
    said = redact(summary, reveal=reveal)
    facts = [(label, redact(value, reveal=reveal)) for label, value in content.facts]
    hidden_at = [*find_hidden_in_diff(masked.places, content.raw)]
    hidden_at += [f"{place.rule}, {place.size} bytes, in {label}" for label, value in facts for place in value.places]
    parts = []
    attached, missing = [(name, raw, True) for name, raw in content.binaries], [*content.missing]
    if isinstance(request, CommandRequest):
        if inputs and request.stdin_digest in inputs:
            attached.append(("input", inputs[request.stdin_digest], False))
        attached += attach_files(uncommitted_files(repo, request, MOST_BYTES), MOST_BYTES, MOST_BINARY, missing)
    for name, raw, is_binary in attached:
        part, places = make_card_part(name, raw, reveal, binary=is_binary)
        parts.append(part)
        hidden_at += places
    argv = tuple(mask_command_words(request.argv, reveal)) if isinstance(request, CommandRequest) else ()
    return Card(
        kind=request.kind,
        summary=one_line(said.text, 300),
        verdict=decision.verdict,
        rule=decision.rule,
        why=one_line(decision.why, 300),
        risk=decision.risk,
        tags=decision.tags,
        mode=mode,
        digest=request_digest(request),
        facts=tuple((make_visible(label, keep=""), make_visible(value.text, keep="")) for label, value in facts),
        files=content.files,
        body=body,
        hidden=_describe_hidden(hidden_at) or said.describe(),
        warnings=format_warnings(find_suspicions(repo, request, summary, content.raw, inputs or {})),
        offers=scopes_to_offer(request, context),
        argv=argv,
        parts=tuple(parts),
        hidden_at=tuple(hidden_at),
        missing=tuple(missing),
    )


def with_text(card: Card, raw: bytes, reveal: Reveal | None = None) -> Card:
    """Return a card with a text that its request names only by digest, such as the message of a handoff."""
    masked, doubts = redact(raw, reveal=reveal), suspicious_words(raw.decode("utf-8", "surrogateescape"))
    hidden_at = (*card.hidden_at, *find_hidden_in_text(masked.places, raw))
    return replace(
        card,
        body=tuple(visible_bytes(masked.text).split("\n")),
        hidden=_describe_hidden(hidden_at) or card.hidden,
        hidden_at=hidden_at,
        warnings=tuple(dict.fromkeys((*card.warnings, *format_warnings(doubts)))),
    )


def _describe_hidden(hidden_at: "list[str] | tuple[str, ...]") -> str:
    """Return the number of masked secrets by rule."""
    counts: dict[str, int] = {}
    for place in hidden_at:
        rule = place.partition(",")[0]
        counts[rule] = counts.get(rule, 0) + 1
    return describe_hidden(hidden_by_rule(counts))
