"""The tools of this room, written by hand."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.base.tool import Param, Tool
from gitnexus.memory.access import count_read
from gitnexus.memory.add import Draft, add
from gitnexus.memory.everything import texts
from gitnexus.memory.fence import LABEL, fenced
from gitnexus.memory.gc import Forgotten, duplicates, forget, survey
from gitnexus.memory.notes import Notes, note_in, notes_in
from gitnexus.memory.restore import restore
from gitnexus.memory.rules import add_rule
from gitnexus.memory.search import search
from gitnexus.memory.view import pair_row, standing_row

_NAME = Param("name", "text", "The note, without .md.", required=True)


def store(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a note, or extend the one that is about the same."""
    draft = Draft(params["text"], params.get("name", ""), params.get("category"), params.get("new", False),
                  params.get("here", False))  # fmt: skip
    kept = add(notes, draft)
    return {"action": kept.action, "name": kept.note.name, "path": kept.note.path}


def read(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Read one note, and count that it was read."""
    note = note_in(notes.latest(), params["name"])
    missed = count_read(notes, note.name)
    found = {"name": note.name, "label": LABEL, "text": fenced(note.name, note.text)}
    return {**found, "notCounted": missed} if missed else found


def listing(notes: Notes, _params: Mapping[str, Any]) -> dict[str, Any]:
    """List the notes; that counts as no read."""
    return {"notes": [{"name": note.name, "size": note.size} for note in notes_in(notes.latest())]}


def find(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Search everything that is known; that counts as no read."""
    hits = search(params["query"], texts(notes.latest(), notes.closed()), params.get("limit", 10))
    rows = [{"kind": h.text.kind, "name": h.text.name, "score": h.score, "excerpt": h.excerpt} for h in hits]
    return {"label": LABEL, "results": rows, "total": len(rows)}


def collect(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Show what could be forgotten; delete and merge only what is named and shown."""
    rows = [row for row in survey(notes) if row.is_candidate]
    close = duplicates(notes, [row.note.name for row in rows])
    wanted, merges = set(params.get("delete", ())), set(params.get("merge", ()))
    strange = sorted((wanted - {row.note.name for row in rows}) | (merges - {pair.other.name for pair in close}))
    if strange:
        raise Invalid(
            f"not among what could be forgotten: {', '.join(strange)}", hint="call it without delete and merge first"
        )
    did = Forgotten(None)
    if wanted or merges:
        going = [(row.note.name, row.why) for row in rows if row.note.name in wanted]
        texts = {row.note.name: row.note.text for row in rows} | {pair.other.name: pair.other.text for pair in close}
        notes.refuse_deletion({name: texts[name] for name in sorted(wanted | merges)})
        did = forget(notes, going, [pair for pair in close if pair.other.name in merges])
    left = [row for row in rows if row.note.name not in wanted]
    return {
        "candidates": [standing_row(row) for row in left],
        "duplicates": [pair_row(pair) for pair in close if pair.other.name not in merges],
        "deleted": list(did.deleted),
        "merged": [{"into": into, "from": other} for into, other in did.merged],
        "commit": did.commit,
    }


def bring_back(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Bring a forgotten note back."""
    back = restore(notes, params["name"], params.get("from_commit"))
    return {"restored": list(back.names), "from": back.source}


def rule(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Keep a rule of the project."""
    tag, text = add_rule(notes, params["text"], params.get("tag"))
    return {"tag": tag, "rule": text, "path": f"rules/{tag}.md"}


_ALL = (
    Tool(
        "memory_store",
        "Keep what was learned and cannot be had again from code or web. A note that overlaps one of its category "
        "extends that one.",
        (
            Param("text", "text", "What is worth knowing next time, in Markdown.", required=True),
            Param("name", "text", "The topic in two to four words with dashes; taken from the text if left out."),
            Param("category", "text", "empirical, external, pattern or one that the project added."),
            Param("new", "flag", "Make a new note even if one is about the same."),
            Param("here", "flag", "Keep it here even if it reads like a rule or like context."),
        ),
        store,
    ),
    Tool("memory_read", "Read one note.", (_NAME,), read),
    Tool("memory_list", "List the notes by name.", (), listing, reads_only=True),
    Tool(
        "memory_search",
        "Find notes, rules, context and closed cycles by words, the best first.",
        (
            Param("query", "text", "The words.", required=True),
            Param("limit", "number", "How many at most, 10 if not said."),
        ),
        find,
        reads_only=True,
    ),
    Tool(
        "memory_gc",
        "Show notes that nobody uses and notes that are about the same. Ask the person, then call it again with what "
        "they chose; every deletion is a commit that can be undone.",
        (
            Param("delete", "texts", "Candidates to forget."),
            Param("merge", "texts", "Duplicates to merge into the note that they resemble."),
        ),
        collect,
        destructive=True,
    ),
    Tool(
        "memory_restore",
        "Bring back a note that was forgotten.",
        (_NAME, Param("from_commit", "text", "A commit of the state that holds or deleted it.")),
        bring_back,
    ),
    Tool(
        "rule_store",
        "Keep a rule that a person of the project set.",
        (
            Param("text", "text", "The rule, in a sentence.", required=True),
            Param("tag", "text", "What it is about, one word; general if left out."),
        ),
        rule,
    ),
)

TOOLS: dict[str, Tool[Notes]] = {tool.name: tool for tool in _ALL}
