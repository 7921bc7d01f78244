"""Cards made of what waits: an action at the gate, a question, a workflow, tests, an error. Pure, and safe to show."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from gitnexus.base.argvtext import on_its_line
from gitnexus.base.text import one_line, visible
from gitnexus.tui.model import ChatCard, Key, Line, Section, Tone

if TYPE_CHECKING:
    from gitnexus.app.cards import Card, FileRow
    from gitnexus.workflow.definition import WorkflowDefinition, WorkflowNode
    from gitnexus.workflow.proposal import Proposal

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


def of_action(card: "Card", run: str, action: str, *, editable: bool) -> ChatCard:
    """Return the card of an action that waits, with a key for each answer that the gate offers."""
    rows = [Line(card.summary, "bold")] if card.summary else []
    rows += [
        Line(f"risk     {card.risk} of 4", _RISKS[card.risk]),
        Line(f"rule     {card.rule}: {card.why}"),
        *(Line(f"{label.ljust(8)} {_beginning(value)}") for label, value in card.facts),
    ]
    rows += [Line(f"tags     {', '.join(card.tags)}")] if card.tags else []
    rows += [Line(f"mode     {card.mode}", "bad" if card.mode == "bypass" else "")] if card.mode != "default" else []
    rows += [Line(f"digest   {card.digest}", "dim")]
    rows += [Line(f"look twice: {warning}", "bad") for warning in card.warnings[:_MOST_WARNINGS]]
    rows += [Line(text, "warn") for text in (card.hidden, *(f"hidden: {place}" for place in card.hidden_at)) if text]
    rows += [Line(f"not shown here: {text}", "bad") for text in card.missing]
    return ChatCard(
        id=f"{run} {action}",
        kind=card.kind,
        title=f"{card.kind.replace('_', ' ')} {action} of {run}",
        run=run,
        action=action,
        digest=card.digest,
        risk=card.risk,
        rows=tuple(rows),
        sections=tuple(_sections(card)),
        keys=tuple(_action_keys(card, editable=editable)),
        unseen=_unseen(card),
    )


def _unseen(card: "Card") -> str:
    """Return what a person cannot see on the card, and so cannot approve by a key."""
    if card.missing:
        return f"not shown: {one_line('; '.join(card.missing), 300)}"
    return f"{card.hidden}; u shows it" if card.hidden_at else ""


def _beginning(value: str) -> str:
    rest = len(value) - _LONGEST_FACT
    return value if rest <= 0 else f"{value[:_LONGEST_FACT]}… {rest} more characters below"


def _action_keys(card: "Card", *, editable: bool) -> Iterable[Key]:
    typed = f"This is risky. Type {WORD} to go on" if card.risk >= RISKY else ""
    for offer in card.offers if card.verdict != "deny" else ():
        letter, label = _SCOPES[offer.scope]
        yield Key(letter, f"{label} (also: {one_line(offer.also, 160)})", "approve", offer.scope, typed)
    yield Key("d", "no, with a reason", "deny", asks="Why not?")
    if editable:
        yield Key("e", "edit it; what you save is proposed in its place", "edit")
    if card.hidden:
        yield Key("u", "show what is hidden; that is recorded", "reveal", asks="Why do you have to see it?")


def _sections(card: "Card") -> Iterable[Section]:
    if rest := card.warnings[_MOST_WARNINGS:]:
        lines = tuple(Line(f"look twice: {warning}", "bad") for warning in rest)
        yield Section(f"{len(rest)} more to look at twice", lines, folded=True)
    for label, value in card.facts:
        if len(value) > _LONGEST_FACT:
            yield Section(f"{label}, {len(value)} characters", (Line(value),), folded=True)
    if card.kind == "command":
        words = [Line(f"{at:>3}  {on_its_line(word)}") for at, word in enumerate(card.argv)]
        long = sum(len(word) for word in card.argv) > _FOLDED_AT * _WIDE
        yield Section(f"argv, {len(words)} words", tuple(words), folded=long)
    elif card.files:
        yield from _files(card)
    elif card.body:
        lines = tuple(Line(line, _tone(line)) for line in card.body)
        yield Section("text", lines, folded=len(lines) > _FOLDED_AT)
    for part in card.parts:
        yield Section(part.title, tuple(map(Line, part.lines)), folded=len(part.lines) > _FOLDED_AT)


def _files(card: "Card") -> Iterable[Section]:
    diffs = _by_file(card.body)
    many = sum(len(lines) for lines in diffs) > _FOLDED_AT
    for at, row in enumerate(card.files):
        lines = diffs[at] if at < len(diffs) and len(diffs) == len(card.files) else ()
        yield Section(_file_title(row), tuple(Line(line, _tone(line)) for line in lines), folded=many, path=row.path)
    if len(diffs) != len(card.files):
        rest = tuple(Line(line, _tone(line)) for part in diffs for line in part)
        yield Section("the difference", rest, folded=many)
    added, removed = (sum(getattr(row, name) or 0 for row in card.files) for name in ("added", "removed"))
    yield Section(f"{_counted(len(card.files), 'file')}, +{added} -{removed}", ())


def _file_title(row: "FileRow") -> str:
    lines = "binary" if row.added is None else f"+{row.added} -{row.removed}"
    return f"{row.path}  {lines}  {row.what}"


def _by_file(body: Sequence[str]) -> list[tuple[str, ...]]:
    """Return a difference in parts, one a file."""
    parts: list[list[str]] = []
    told = False
    for line in body:
        if line.startswith("diff --git "):
            parts.append([])
            told = False
        elif parts:
            # The title of the section says which file; what else stands above the first change is kept.
            told = told or line.startswith("@@")
            if told or not line.startswith(("index ", "--- ", "+++ ")):
                parts[-1].append(line)
    return [tuple(part[:-1] if part and not part[-1] else part) for part in parts]


def _tone(line: str) -> Tone:
    if line.startswith(("+++", "---", "diff ", "index ", "new file", "deleted file", "old mode", "new mode")):
        return "head"
    tones: dict[str, Tone] = {"+": "add", "-": "del", "@": "hunk"}
    return tones.get(line[:1], "")


def of_question(run: str, question: str, text: str) -> ChatCard:
    """Return the card of what an agent asks."""
    return ChatCard(
        id=f"{run} {question}",
        kind="question",
        title=f"question {question} of {run}: it is blocked until you answer",
        run=run,
        action=question,
        rows=tuple(Line(line) for line in visible(text).split("\n")[:200]),
        keys=(Key("a", "answer; the run goes on with it", "answer", asks="Your answer"),),
    )


def of_tests(run: str, action: str, runner: str, report: dict[str, Any]) -> ChatCard:
    """Return the card of what tests came to: counts first, what they printed folded below."""
    counts = [f"{report[name]} {name}" for name in ("passed", "failed", "skipped") if report.get(name) is not None]
    ok = report.get("status") == 0
    said = visible(str(report.get("output", ""))).split("\n")[-_MOST_LINES:]
    return ChatCard(
        id=f"{run} {action} tests",
        kind="tests",
        title=f"tests of {run} {action}: {'passed' if ok else 'failed'}",
        run=run,
        rows=(
            Line(f"{runner}: {', '.join(counts) or 'status ' + str(report.get('status'))}", "good" if ok else "bad"),
        ),
        sections=(Section("what they printed", tuple(map(Line, said)), folded=ok or len(said) > _FOLDED_AT),),
    )


def of_failure(run: str, name: str, why: str, *, resumable: bool) -> ChatCard:
    """Return the card of a step that went wrong."""
    keys = (Key("g", "go on: try it again", "resume"),) if resumable else ()
    rows = tuple(Line(line, "bad") for line in visible(why).split("\n")[:50])
    return ChatCard(f"{run} {name} error", "error", f"{run}: {name} went wrong", run=run, rows=rows, keys=keys)


def of_workflow(name: str, proposal: "Proposal", hash_: str, chosen: int = 0) -> ChatCard:
    """Return the card of a workflow that would be started; its nodes can be dropped, moved and backed by others."""
    definition = proposal.definition
    rows = [
        *(Line(one_line(line, 300), "dim" if line.startswith("> ") else "bold") for line in _prompt(definition.prompt)),
        Line(f"workflow {one_line(definition.name, 60)}, chosen {_BY[proposal.source]}, {proposal.confidence}% sure"),
        Line(f"why      {one_line(proposal.why, 300)}"),
    ]
    rows += [Line(f"no model {one_line(proposal.fallback, 200)}; the rules chose")] if proposal.fallback else []
    given = tuple(dict.fromkeys(ref for node in definition.nodes for ref in node.inputs.refs))
    rows += [Line(f"given    {one_line(', '.join(given), 300)}")] if given else []
    rows += [Line(f"or       /{other.name}: {one_line(other.about, 120)}", "dim") for other in proposal.alternatives]
    rows += [Line(f"digest   {hash_}", "dim")]
    return ChatCard(
        id=name,
        kind="workflow",
        title=f"workflow {name}: start it?",
        digest=hash_,
        rows=tuple(rows),
        sections=(Section(_counted(len(definition.nodes), "node"), tuple(_nodes(definition, chosen))),),
        keys=(
            Key("y", "start it", "start"),
            Key("n", "no, drop it", "discard"),
            *(_edits if len(definition.nodes) > 1 else _edits[-1:]),
        ),
        chosen=chosen,
    )


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _prompt(text: str) -> list[str]:
    return [line for line in text.split("\n") if line.strip()][:20]


_edits = (
    Key("j", "choose the next node", "choose"),
    Key("x", "drop the chosen node", "drop"),
    Key("<", "move the chosen node earlier", "earlier"),
    Key(">", "move the chosen node later", "later"),
    Key(
        "b",
        "have the chosen node done by another agent",
        "backing",
        asks="Which agent? embedded, model, claude, codex, gemini, opencode …",
    ),
)


def _nodes(definition: "WorkflowDefinition", chosen: int) -> Iterable[Line]:
    for at, node in enumerate(definition.nodes):
        mark = "▸" if at == chosen else " "
        after = ", ".join(first for first, second in definition.edges if second == node.id)
        words = f"{mark} {at + 1}  {node.id}  {node.type}  {_who(node)}{f'  after {after}' if after else ''}"
        yield Line(words, "node" if at == chosen else "")


def _who(node: "WorkflowNode") -> str:
    backed = node.adapter or f"{node.specialist}, as the project says"
    return f"{backed} as {node.role}" if node.role else backed
