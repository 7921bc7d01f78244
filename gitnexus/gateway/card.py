"""The card that a person decides by: what would happen, drawn from the request and the two trees that are bound.

All that the digest of the request covers is on the card, or the card says what is missing: then no key approves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gitnexus.app.cardparts import CardPart, FileRow, content_of, hidden_in_diff, hidden_in_text, part_of, words_of
from gitnexus.app.cardwarnings import doubts_of, warnings_of
from gitnexus.base.lookalike import suspicious
from gitnexus.base.text import one_line, visible, visible_bytes
from gitnexus.git import Repo
from gitnexus.policy.grants import Around, Offer, offers
from gitnexus.policy.model import CommandRequest, Decision, Mode, Request
from gitnexus.policy.request import digest
from gitnexus.redaction.hide import redact
from gitnexus.redaction.result import Reveal, counted, told

__all__ = ["Card", "CardPart", "FileRow", "card_of", "with_text"]


@dataclass(frozen=True, slots=True)
class Card:
    """All texts are masked and made visible; `digest` is that of the request that an approval binds.

    `hidden` says how many secrets are, `hidden_at` where; `missing` what of the request is not on the card at all.
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
    offers: tuple[Offer, ...] = field(default=())
    # The words of a command, each by itself: joined by blanks, one word can look like two.
    argv: tuple[str, ...] = ()
    parts: tuple[CardPart, ...] = ()
    hidden_at: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True if whoever reads all of the card has seen every byte that its digest covers."""
        return not self.hidden_at and not self.missing


def card_of(
    repo: Repo,
    request: Request,
    decision: Decision,
    mode: Mode,
    summary: str,
    around: Around,
    reveal: Reveal | None = None,
    inputs: Mapping[str, bytes] | None = None,
) -> Card:
    """Return the card of a request. Its objects have to be in the repository. Raises: GitFailed.

    `reveal` shows secrets as they are; whoever grants it writes it down first. `inputs` are the texts that the request
    names by a digest alone, such as the input of a command.
    """
    content = content_of(repo, request, inputs or {})
    masked = redact(content.raw, reveal=reveal)
    text = visible_bytes(masked.text)
    body = tuple(text.split("\n")) if text else ()
    said = redact(summary, reveal=reveal)
    facts = [(label, redact(value, reveal=reveal)) for label, value in content.facts]
    hidden_at = [*hidden_in_diff(masked.places, content.raw)]
    hidden_at += [f"{place.rule}, {place.size} bytes, in {label}" for label, value in facts for place in value.places]
    parts = []
    attached = [(name, raw, True) for name, raw in content.binaries]
    if isinstance(request, CommandRequest) and inputs and request.stdin_digest in inputs:
        attached.append(("input", inputs[request.stdin_digest], False))
    for name, raw, is_binary in attached:
        part, places = part_of(name, raw, reveal, binary=is_binary)
        parts.append(part)
        hidden_at += places
    argv = tuple(words_of(request.argv, reveal)) if isinstance(request, CommandRequest) else ()
    return Card(
        kind=request.kind,
        summary=one_line(said.text, 300),
        verdict=decision.verdict,
        rule=decision.rule,
        why=one_line(decision.why, 300),
        risk=decision.risk,
        tags=decision.tags,
        mode=mode,
        digest=digest(request),
        facts=tuple((visible(label, keep=""), visible(value.text, keep="")) for label, value in facts),
        files=content.files,
        body=body,
        hidden=_in_words(hidden_at) or said.told(),
        warnings=warnings_of(doubts_of(repo, request, summary, content.raw, inputs or {})),
        offers=offers(request, around),
        argv=argv,
        parts=tuple(parts),
        hidden_at=tuple(hidden_at),
        missing=content.missing,
    )


def with_text(card: Card, raw: bytes, reveal: Reveal | None = None) -> Card:
    """Return a card with what its request names by a digest alone, such as the message of a handoff."""
    masked, doubts = redact(raw, reveal=reveal), suspicious(raw.decode("utf-8", "surrogateescape"))
    hidden_at = (*card.hidden_at, *hidden_in_text(masked.places, raw))
    return replace(
        card,
        body=tuple(visible_bytes(masked.text).split("\n")),
        hidden=_in_words(hidden_at) or card.hidden,
        hidden_at=hidden_at,
        warnings=tuple(dict.fromkeys((*card.warnings, *warnings_of(doubts)))),
    )


def _in_words(hidden_at: "list[str] | tuple[str, ...]") -> str:
    """Return how many secrets are hidden, by their rules."""
    counts: dict[str, int] = {}
    for place in hidden_at:
        rule = place.partition(",")[0]
        counts[rule] = counts.get(rule, 0) + 1
    return told(counted(counts))
