"""Builds the cards for an action, a question, a workflow, tests or an error. Pure, and safe to show."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gitnexus.base.argvtext import bracket_if_needed
from gitnexus.base.text import make_visible, one_line
from gitnexus.tui.model import CardKey, CardLine, CardSection, ChatCard, Tone
from gitnexus.ui.card import diff_line_kind

if TYPE_CHECKING:
    from gitnexus.gateway.card import Card, FileRow
    from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
    from gitnexus.workflow.proposal import WorkflowProposal

# From here on a key is not enough: a word has to be typed.
RISKY = 3
WORD = "approve"
_FOLDED_AT = 40
_MOST_LINES = 4000
_LONGEST_FACT = 600
_MOST_WARNINGS = 10
_WIDE = 100
_SCOPES: dict[str, tuple[str, str]] = {
    "once": ("y", "yes, this once"),
    "session": ("s", "yes, in this run"),
    "path": ("p", "yes, for these files"),
    "repository": ("r", "yes, in this repository"),
    "argv": ("a", "yes, for this very command"),
    "workflow": ("w", "yes, in this workflow"),
}
_RISKS: tuple[Tone, ...] = ("good", "good", "warn", "bad", "bad")
_BY = {"macro": "by its name", "delegation": "by who you named", "rules": "by the rules", "model": "by the small model"}


def card_for_action(card: "Card", run: str, action: str, *, editable: bool) -> ChatCard:
    """Return the card of a waiting action, with a key for each answer that the gate offers."""
    rows = [CardLine(card.summary, "bold")] if card.summary else []
    rows += [
        CardLine(f"risk     {card.risk} of 4", _RISKS[card.risk]),
        CardLine(f"rule     {card.rule}: {card.why}"),
        *(CardLine(f"{label.ljust(8)} {_shorten_fact(value)}") for label, value in card.facts),
    ]
    rows += [CardLine(f"tags     {', '.join(card.tags)}")] if card.tags else []
    rows += (
        [CardLine(f"mode     {card.mode}", "bad" if card.mode == "bypass" else "")] if card.mode != "default" else []
    )
    rows += [CardLine(f"digest   {card.digest}", "dim")]
    rows += [CardLine(f"look twice: {warning}", "bad") for warning in card.warnings[:_MOST_WARNINGS]]
    rows += [
        CardLine(text, "warn") for text in (card.hidden, *(f"hidden: {place}" for place in card.hidden_at)) if text
    ]
    rows += [CardLine(f"not shown here: {text}", "bad") for text in card.missing]
    return ChatCard(
        id=f"{run} {action}",
        kind=card.kind,
        title=f"{card.kind.replace('_', ' ')} {action} of {run}",
        run=run,
        action=action,
        digest=card.digest,
        risk=card.risk,
        rows=tuple(rows),
        sections=tuple(_action_sections(card)),
        keys=tuple(_action_keys(card, editable=editable)),
        unseen=_unseen_parts(card),
    )


def _unseen_parts(card: "Card") -> str:
    """Return the parts that the card does not show, and that a key therefore cannot approve."""
    if card.missing:
        return f"not shown: {one_line('; '.join(card.missing), 300)}"
    return f"{card.hidden}; u shows it" if card.hidden_at else ""


def _shorten_fact(value: str) -> str:
    rest = len(value) - _LONGEST_FACT
    return value if rest <= 0 else f"{value[:_LONGEST_FACT]}… {rest} more characters below"


def _action_keys(card: "Card", *, editable: bool) -> Iterable[CardKey]:
    typed = f"This is risky. Type {WORD} to continue" if card.risk >= RISKY else ""
    for offer in card.offers if card.verdict != "deny" else ():
        letter, label = _SCOPES[offer.scope]
        yield CardKey(letter, f"{label} (also: {one_line(offer.also, 160)})", "approve", offer.scope, typed)
    yield CardKey("d", "no, with a reason", "deny", asks="Why not?")
    if editable:
        yield CardKey("e", "edit it; what you save is proposed in its place", "edit")
    if card.hidden:
        yield CardKey("u", "show what is hidden; that is recorded", "reveal", asks="Why do you have to see it?")


def _action_sections(card: "Card") -> Iterable[CardSection]:
    if rest := card.warnings[_MOST_WARNINGS:]:
        lines = tuple(CardLine(f"look twice: {warning}", "bad") for warning in rest)
        yield CardSection(f"{len(rest)} more to look at twice", lines, folded=True)
    for label, value in card.facts:
        if len(value) > _LONGEST_FACT:
            yield CardSection(f"{label}, {len(value)} characters", (CardLine(value),), folded=True)
    if card.kind == "command":
        words = [CardLine(f"{at:>3}  {bracket_if_needed(word)}") for at, word in enumerate(card.argv)]
        long = sum(len(word) for word in card.argv) > _FOLDED_AT * _WIDE
        yield CardSection(f"argv, {len(words)} words", tuple(words), folded=long)
    elif card.files:
        yield from _file_sections(card)
    elif card.body:
        lines = tuple(CardLine(line, diff_line_kind(line)) for line in card.body)
        yield CardSection("text", lines, folded=len(lines) > _FOLDED_AT)
    for part in card.parts:
        yield CardSection(part.title, tuple(map(CardLine, part.lines)), folded=len(part.lines) > _FOLDED_AT)


def _file_sections(card: "Card") -> Iterable[CardSection]:
    diffs = _split_diff_by_file(card.body)
    many = sum(len(lines) for lines in diffs) > _FOLDED_AT
    for at, row in enumerate(card.files):
        lines = diffs[at] if at < len(diffs) and len(diffs) == len(card.files) else ()
        yield CardSection(
            _file_title(row), tuple(CardLine(line, diff_line_kind(line)) for line in lines), folded=many, path=row.path
        )
    if len(diffs) != len(card.files):
        rest = tuple(CardLine(line, diff_line_kind(line)) for part in diffs for line in part)
        yield CardSection("the difference", rest, folded=many)
    added, removed = (sum(getattr(row, name) or 0 for row in card.files) for name in ("added", "removed"))
    yield CardSection(f"{_count_with_noun(len(card.files), 'file')}, +{added} -{removed}", ())


def _file_title(row: "FileRow") -> str:
    lines = "binary" if row.added is None else f"+{row.added} -{row.removed}"
    return f"{row.path}  {lines}  {row.what}"


def _split_diff_by_file(body: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a diff in parts, one for each file."""
    parts: list[list[str]] = []
    told = False
    for line in body:
        if line.startswith("diff --git "):
            parts.append([])
            told = False
        elif parts:
            # The title of the section names the file; the other lines above the first change are kept.
            told = told or line.startswith("@@")
            if told or not line.startswith(("index ", "--- ", "+++ ")):
                parts[-1].append(line)
    return [tuple(part[:-1] if part and not part[-1] else part) for part in parts]


def card_for_question(run: str, question: str, text: str) -> ChatCard:
    """Return the card of an agent's question."""
    return ChatCard(
        id=f"{run} {question}",
        kind="question",
        title=f"question {question} of {run}: it is blocked until you answer",
        run=run,
        action=question,
        rows=tuple(CardLine(line) for line in make_visible(text).split("\n")[:200]),
        keys=(CardKey("a", "answer; the run continues it", "answer", asks="Your answer"),),
    )


def card_for_tests(run: str, action: str, runner: str, report: dict[str, Any]) -> ChatCard:
    """Return the card of a test result: counts first, the output folded below."""
    counts = [f"{report[name]} {name}" for name in ("passed", "failed", "skipped") if report.get(name) is not None]
    ok = report.get("status") == 0
    said = make_visible(str(report.get("output", ""))).split("\n")[-_MOST_LINES:]
    return ChatCard(
        id=f"{run} {action} tests",
        kind="tests",
        title=f"tests of {run} {action}: {'passed' if ok else 'failed'}",
        run=run,
        rows=(
            CardLine(
                f"{runner}: {', '.join(counts) or 'status ' + str(report.get('status'))}", "good" if ok else "bad"
            ),
        ),
        sections=(CardSection("what they printed", tuple(map(CardLine, said)), folded=ok or len(said) > _FOLDED_AT),),
    )


def card_for_failure(run: str, name: str, why: str, *, resumable: bool) -> ChatCard:
    """Return the card of a failed step."""
    keys = (CardKey("g", "continue: try it again", "resume"),) if resumable else ()
    rows = tuple(CardLine(line, "bad") for line in make_visible(why).split("\n")[:50])
    return ChatCard(f"{run} {name} error", "error", f"{run}: {name} went wrong", run=run, rows=rows, keys=keys)


def card_for_workflow(name: str, proposal: "WorkflowProposal", hash_: str, chosen: int = 0) -> ChatCard:
    """Return the card of a proposed workflow; its nodes can be removed, moved and given other specialists."""
    definition = proposal.definition
    rows = [
        *(
            CardLine(one_line(line, 300), "dim" if line.startswith("> ") else "bold")
            for line in _prompt_lines(definition.prompt)
        ),
        CardLine(
            f"workflow {one_line(definition.name, 60)}, chosen {_BY[proposal.source]}, {proposal.confidence}% sure"
        ),
        CardLine(f"why      {one_line(proposal.why, 300)}"),
    ]
    rows += [CardLine(f"no model {one_line(proposal.fallback, 200)}; the rules chose")] if proposal.fallback else []
    given = tuple(dict.fromkeys(ref for node in definition.nodes for ref in node.inputs.refs))
    rows += [CardLine(f"given    {one_line(', '.join(given), 300)}")] if given else []
    rows += [
        CardLine(f"or       /{other.name}: {one_line(other.about, 120)}", "dim") for other in proposal.alternatives
    ]
    rows += [CardLine(f"digest   {hash_}", "dim")]
    return ChatCard(
        id=name,
        kind="workflow",
        title=f"workflow {name}: start it?",
        digest=hash_,
        rows=tuple(rows),
        sections=(
            CardSection(
                _count_with_noun(len(definition.nodes), "node"), tuple(_workflow_node_lines(definition, chosen))
            ),
        ),
        keys=(
            CardKey("y", "start it", "start"),
            CardKey("n", "no, drop it", "discard"),
            *(_edits if len(definition.nodes) > 1 else _edits[-1:]),
        ),
        chosen=chosen,
    )


def _count_with_noun(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _prompt_lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()][:20]


_edits = (
    CardKey("j", "choose the next node", "choose"),
    CardKey("x", "drop the chosen node", "drop"),
    CardKey("<", "move the chosen node earlier", "earlier"),
    CardKey(">", "move the chosen node later", "later"),
    CardKey(
        "b",
        "have the chosen node done by another agent",
        "backing",
        asks="Which agent? embedded, model, claude, codex, gemini, opencode …",
    ),
)


def _workflow_node_lines(definition: "WorkflowDefinition", chosen: int) -> Iterable[CardLine]:
    for at, node in enumerate(definition.nodes):
        mark = "▸" if at == chosen else " "
        after = ", ".join(first for first, second in definition.edges if second == node.id)
        words = f"{mark} {at + 1}  {node.id}  {node.type}  {_agent_of_node(node)}{f'  after {after}' if after else ''}"
        yield CardLine(words, "node" if at == chosen else "")


def _agent_of_node(node: "WorkflowNode") -> str:
    backed = node.adapter or f"{node.specialist}, as the project says"
    return f"{backed} as {node.role}" if node.role else backed
