"""The table of memory tools for agents."""

from collections.abc import Mapping
from typing import Any

from gitnexus.base.errors import Invalid
from gitnexus.base.tool import NO_PARAMETERS, Tool
from gitnexus.memory.access import count_note_read
from gitnexus.memory.add import NoteDraft, add_note
from gitnexus.memory.fence import LABEL, fence_note
from gitnexus.memory.gc import ForgetResult, assess_all_notes, find_duplicates, forget_notes
from gitnexus.memory.notes import Notes, read_all_notes, read_note
from gitnexus.memory.restore import restore_notes
from gitnexus.memory.rules import add_rule
from gitnexus.memory.search import search_texts
from gitnexus.memory.search_sources import searchable_texts
from gitnexus.memory.view import assessment_as_json, pair_as_json


def store_note(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Store a note, or extend one on the same topic."""
    draft = NoteDraft(
        params["text"],
        params.get("name", ""),
        params.get("category"),
        params.get("new", False),
        params.get("here", False),
    )
    kept = add_note(notes, draft)
    return {"action": kept.action, "name": kept.note.name, "path": kept.note.path}


def show_note(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return one note, and count that as a read."""
    note = read_note(notes.latest(), params["name"])
    missed = count_note_read(notes, note.name)
    found = {"name": note.name, "label": LABEL, "text": fence_note(note.name, note.text)}
    return {**found, "notCounted": missed} if missed else found


def list_notes(notes: Notes, _params: Mapping[str, Any]) -> dict[str, Any]:
    """List the notes; this does not count as a read."""
    return {"notes": [{"name": note.name, "size": note.size} for note in read_all_notes(notes.latest())]}


def search_notes(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Search notes, rules, context and closed cycles; this does not count as a read."""
    hits = search_texts(params["query"], searchable_texts(notes.latest(), notes.closed()), params.get("limit", 10))
    rows = [{"kind": h.text.kind, "name": h.text.name, "score": h.score, "excerpt": h.excerpt} for h in hits]
    return {"label": LABEL, "results": rows, "total": len(rows)}


def collect_unused_notes(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Show the notes that gc would delete; delete and merge only those that are named and were shown."""
    rows = [row for row in assess_all_notes(notes) if row.is_candidate]
    close = find_duplicates(notes, [row.note.name for row in rows])
    wanted, merges = set(params.get("delete", ())), set(params.get("merge", ()))
    strange = sorted((wanted - {row.note.name for row in rows}) | (merges - {pair.other.name for pair in close}))
    if strange:
        raise Invalid(
            f"not among what could be forgotten: {', '.join(strange)}", hint="call it without delete and merge first"
        )
    did = ForgetResult(None)
    if wanted or merges:
        going = [(row.note.name, row.why) for row in rows if row.note.name in wanted]
        texts = {row.note.name: row.note.text for row in rows} | {pair.other.name: pair.other.text for pair in close}
        notes.refuse_deletion({name: texts[name] for name in sorted(wanted | merges)})
        did = forget_notes(notes, going, [pair for pair in close if pair.other.name in merges])
    left = [row for row in rows if row.note.name not in wanted]
    return {
        "candidates": [assessment_as_json(row) for row in left],
        "duplicates": [pair_as_json(pair) for pair in close if pair.other.name not in merges],
        "deleted": list(did.deleted),
        "merged": [{"into": into, "from": other} for into, other in did.merged],
        "commit": did.commit,
    }


def restore_named_note(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Restore a deleted note."""
    back = restore_notes(notes, params["name"], params.get("from_commit"))
    return {"restored": list(back.names), "from": back.source}


def store_rule(notes: Notes, params: Mapping[str, Any]) -> dict[str, Any]:
    """Store a rule of the project."""
    tag, text = add_rule(notes, params["text"], params.get("tag"))
    return {"tag": tag, "rule": text, "path": f"rules/{tag}.md"}


_FORMS = "gitnexus.memory.parameters"
_RESULTS = "gitnexus.memory.results"

_ALL = (
    Tool(
        "memory_store",
        "Store what was learned and cannot be found again in code or web. A note that overlaps one of its category "
        "extends that one.",
        f"{_FORMS}:MemoryStoreParameters",
        store_note,
        result=f"{_RESULTS}:MemoryStoreResult",
    ),
    Tool(
        "memory_read",
        "Read one note.",
        f"{_FORMS}:MemoryReadParameters",
        show_note,
        result=f"{_RESULTS}:MemoryReadResult",
    ),
    Tool(
        "memory_list",
        "List the notes by name.",
        NO_PARAMETERS,
        list_notes,
        reads_only=True,
        result=f"{_RESULTS}:MemoryListResult",
    ),
    Tool(
        "memory_search",
        "Find notes, rules, context and closed cycles by words, the best first.",
        f"{_FORMS}:MemorySearchParameters",
        search_notes,
        reads_only=True,
        result=f"{_RESULTS}:MemorySearchResult",
    ),
    Tool(
        "memory_gc",
        "Show unused notes and near-duplicates. Ask the person, then call it again with what "
        "they chose; every deletion is a commit that can be undone.",
        f"{_FORMS}:MemoryGcParameters",
        collect_unused_notes,
        destructive=True,
        result=f"{_RESULTS}:MemoryGcResult",
    ),
    Tool(
        "memory_restore",
        "Bring back a note that was forgotten.",
        f"{_FORMS}:MemoryRestoreParameters",
        restore_named_note,
        result=f"{_RESULTS}:MemoryRestoreResult",
    ),
    Tool(
        "rule_store",
        "Store a rule that a person of the project set.",
        f"{_FORMS}:RuleStoreParameters",
        store_rule,
        result=f"{_RESULTS}:RuleStoreResult",
    ),
)

TOOLS: dict[str, Tool[Notes]] = {tool.name: tool for tool in _ALL}
