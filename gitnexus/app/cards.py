"""The card that a person decides by: what would happen, drawn from the request and the two trees that are bound."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from gitnexus.base.lookalike import suspicious
from gitnexus.base.text import one_line, visible_bytes
from gitnexus.git import Repo
from gitnexus.git.binaries import described
from gitnexus.git.private import private
from gitnexus.git.showing import counts, diff_text
from gitnexus.policy.grants import Around, Offer, offers
from gitnexus.policy.model import (
    Change,
    CommandRequest,
    Decision,
    DocumentRequest,
    HandoffRequest,
    MemoryDeleteRequest,
    Mode,
    NetworkRequest,
    PatchRequest,
    Request,
)
from gitnexus.redaction.hide import redact
from gitnexus.redaction.result import Reveal

# Enough for any person; what is beyond is told, and `git nexus diff` shows it.
MOST_BYTES = 2 * 1024 * 1024
_MOST_SUSPICIONS = 10
_MOST_DESCRIBED = 50


@dataclass(frozen=True, slots=True)
class FileRow:
    """One file of a patch."""

    path: str
    what: str
    added: int | None = None
    removed: int | None = None


@dataclass(frozen=True, slots=True)
class Card:
    """All texts are masked and made visible; `digest` is that of the request that an approval binds."""

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
    cut: bool = False
    warnings: tuple[str, ...] = ()
    offers: tuple[Offer, ...] = field(default=())
    # The words of a command, each by itself: joined by blanks, one word can look like two.
    argv: tuple[str, ...] = ()


def card_of(
    repo: Repo,
    request: Request,
    digest: str,
    decision: Decision,
    mode: Mode,
    summary: str,
    around: Around,
    reveal: Reveal | None = None,
) -> Card:
    """Return the card of a request. Its objects have to be in the repository. Raises: GitFailed.

    `reveal` shows secrets as they are; whoever grants it writes it down first.
    """
    facts, files, raw, cut = _shown(repo, request)
    masked = redact(raw, reveal=reveal)
    text = visible_bytes(masked.text)
    said = redact(summary, reveal=reveal)
    plain = raw.decode("utf-8", "surrogateescape")
    doubts = suspicious(f"{summary}\n{_added(plain) if isinstance(request, PatchRequest) else plain}")
    return Card(
        kind=request.kind,
        summary=one_line(said.text, 300),
        verdict=decision.verdict,
        rule=decision.rule,
        why=one_line(decision.why, 300),
        risk=decision.risk,
        tags=decision.tags,
        mode=mode,
        digest=digest,
        facts=tuple((label, one_line(redact(value).text, 500)) for label, value in facts),
        files=tuple(files),
        body=tuple(text.split("\n")) if text else (),
        hidden=masked.told() or said.told(),
        cut=cut,
        warnings=tuple(f"{one.word[:60]}: {one.reason}" for one in doubts[:_MOST_SUSPICIONS]),
        offers=offers(request, around),
        argv=tuple(_words_of(request.argv, reveal)) if isinstance(request, CommandRequest) else (),
    )


def _words_of(argv: Sequence[str], reveal: Reveal | None) -> Iterator[str]:
    before = ""
    for word in argv:
        # What hides by itself, or by the word before it, as in --token XYZ.
        masked, beside = redact(word, reveal=reveal).text, redact(f"{before} {word}", reveal=reveal).text
        hides = masked == word and not beside.endswith(f" {word}")
        yield one_line(beside.rpartition(" ")[2] if hides else masked, 2000)
        before = word


def with_text(card: Card, raw: bytes, reveal: Reveal | None = None) -> Card:
    """Return a card with what its request names by a digest alone, such as the message of a handoff."""
    masked, doubts = redact(raw, reveal=reveal), suspicious(raw.decode("utf-8", "surrogateescape"))
    return replace(
        card,
        body=tuple(visible_bytes(masked.text).split("\n")),
        hidden=card.hidden or masked.told(),
        warnings=tuple(f"{one.word[:60]}: {one.reason}" for one in doubts[:_MOST_SUSPICIONS]) or card.warnings,
    )


def _shown(repo: Repo, request: Request) -> tuple[list[tuple[str, str]], list[FileRow], bytes, bool]:
    if isinstance(request, PatchRequest):
        return _patch(repo, request)
    facts: list[tuple[str, str]]
    match request:
        case CommandRequest():
            words = " ".join(
                f"[{one_line(word, 2000)}]" if _odd(word) else one_line(word, 2000) for word in request.argv
            )
            facts = [
                ("program", request.program),
                ("in", request.cwd),
                ("network", request.network),
                ("sandbox", request.sandbox),
                ("limits", ", ".join(f"{name} {value}" for name, value in request.limits.items())),
                ("env", " ".join(f"{name}={value}" for name, value in sorted(request.env.items()))),
            ]
            facts += [("base", request.base[:12])] if request.base else []
            facts += [("input", request.stdin_digest)] if request.stdin_digest else []
            return facts, [], words.encode("utf-8", "surrogateescape"), False
        case HandoffRequest():
            facts = [("from", request.sender), ("to", request.receiver), ("message", request.message_digest)]
        case DocumentRequest():
            facts = [("document", request.path), ("now", request.old_digest), ("then", request.new_digest)]
        case MemoryDeleteRequest():
            facts = [(name, held) for name, held in request.notes.items()]
        case NetworkRequest():
            facts = [("hosts", ", ".join(request.hosts)), ("for", request.purpose)]
        case _:
            facts = []
    return facts, [], b"", False


def _odd(word: str) -> bool:
    return not word or not word.isprintable() or any(ch in " \t\"'\\[]$`*?{}()&|;<>~#!" for ch in word)


def _patch(repo: Repo, request: PatchRequest) -> tuple[list[tuple[str, str]], list[FileRow], bytes, bool]:
    with private(repo) as git:
        raw, cut = diff_text(git, request.base_tree, request.result_tree, MOST_BYTES)
        lines = {row.path: row for row in counts(git, request.base_tree, request.result_tree)}
        unseen = [change for change in request.changes if change.binary and change.new_blob][:_MOST_DESCRIBED]
        told = {change.path: described(git, change.new_blob) for change in unseen}
    files = []
    for change in request.changes:
        count = lines.get(change.path)
        files.append(
            FileRow(
                one_line(change.path, 200),
                ", ".join(filter(None, (_words(change), told.get(change.path, "")))),
                count.added if count else None,
                count.removed if count else None,
            )
        )
    facts = [("base", request.base[:12]), ("tree", f"{request.base_tree[:12]} → {request.result_tree[:12]}")]
    return facts, files, raw, cut


def _words(change: Change) -> str:
    kinds = {"100755": "executable", "120000": "link", "160000": "submodule"}
    what = "new" if not change.old_mode else "deleted" if not change.new_mode else "changed"
    notes: Sequence[str] = [kinds[change.new_mode]] if change.new_mode in kinds else []
    if change.old_mode and change.new_mode and change.old_mode != change.new_mode:
        notes = [f"mode {change.old_mode} → {change.new_mode}"]
    if change.link_target:
        notes = [*notes, f"to {one_line(change.link_target, 80)}"]
    if change.binary:
        notes = [*notes, "binary"]
    return ", ".join((what, *notes))


def _added(diff: str) -> str:
    return "\n".join(line[1:] for line in diff.split("\n") if line.startswith("+") and not line.startswith("+++"))
