"""Stores a note: as a new note, or appended to one on the same topic."""

import re
from dataclasses import dataclass, replace
from typing import Literal

from gitnexus.base.errors import Duplicate, Invalid
from gitnexus.memory.model import MemorySettings, Note
from gitnexus.memory.names import category_of_name, require_note_name, suggest_name, topic_of_name
from gitnexus.memory.notes import (
    Notes,
    encode_text,
    note_file_bytes,
    read_all_notes,
    require_valid_text,
    with_new_text,
    with_project_files,
)
from gitnexus.memory.overlap import nearest_note
from gitnexus.redaction import find_secrets
from gitnexus.state import Change, Snapshot

_LARGEST = 256 * 1024
_HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*\s*$", re.MULTILINE)
_RULE_NAMES = frozenset({"rule", "rules", "convention", "conventions", "policy", "guideline", "guidelines"})
_CONTEXT_NAMES = frozenset(
    {"architecture", "design", "overview", "onboarding", "primer", "glossary", "vision", "mission"}
)
_RULE_WORDS = re.compile(r"^\W*(always|never|do not|don't|must not|everyone must|we never|we always)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class NoteDraft:
    """The text to store, and its name, if one is given."""

    text: str
    name: str = ""
    category: str | None = None
    new: bool = False
    here: bool = False


@dataclass(frozen=True, slots=True)
class AddNoteResult:
    """The stored note, and whether it is new or was extended."""

    note: Note
    action: Literal["created", "extended", "known"]
    meant: str = ""
    before: str | None = None


def add_note(notes: Notes, draft: NoteDraft) -> AddNoteResult:
    """Store a note, as one commit. Raises: Invalid, Duplicate."""
    notes.latest()
    settings, day = notes.settings, f"{notes.clock():%Y-%m-%d}"

    def decide(snapshot: Snapshot) -> Change[AddNoteResult]:
        kept = compute_kept_note(read_all_notes(snapshot), draft, settings, day)
        if kept.action == "known":
            return Change({}, "", kept)
        why = f"memory: add {kept.note.name}"
        if kept.action == "extended":
            meant = f", with what was to be {kept.meant}" if kept.meant != kept.note.name else ""
            why = f"memory: extend {kept.note.name}{meant}"
        return Change(
            with_project_files(snapshot, {kept.note.path: note_file_bytes(kept.note)}, notes.clock()), why, kept
        )

    before = notes.state.snapshot.commit
    kept = notes.state.transact(decide)
    notes.latest()  # the first write of all fills `.nexus/`
    return replace(kept, before=before)


def compute_kept_note(known: list[Note], draft: NoteDraft, settings: MemorySettings, day: str) -> AddNoteResult:
    """Return the note that contains the draft: a new one, or an overlapping one of its category, extended."""
    text = _require_clean_text(draft.text)
    name = _choose_name(draft, text, settings)
    if not draft.here:
        _refuse_rule_or_context(name, text, settings)
    by_name = {note.name: note for note in known}
    if draft.new:
        if name in by_name:
            raise Duplicate(
                f"there is a note {name} already", hint="leave out --new to extend it, or give another name"
            )
        target = None
    else:
        target = by_name.get(name) or nearest_note(Note(name, text), known, settings.prefixes, settings.overlap)
    if target is None:
        return AddNoteResult(Note(name, _with_title(name, text, settings)), "created", name)
    after = with_text_appended(target.text, text, day)
    _refuse_large_note(after)
    if after == target.text:
        return AddNoteResult(target, "known", name)
    return AddNoteResult(with_new_text(target, after), "extended", name)


def with_text_appended(before: str, more: str, day: str) -> str:
    """Return a note with the text added under today's heading; unchanged if it contains the text already."""
    body = _without_title(more)
    if body in before:
        return before
    heading = f"## {day}"
    headings = [line.strip() for line in before.splitlines() if line.startswith("## ")]
    today = [] if headings[-1:] == [heading] else [heading, ""]
    return "\n".join([before.rstrip("\n"), "", *today, body, ""])


def _require_clean_text(text: str) -> str:
    clean = require_valid_text(text).replace("\r\n", "\n").strip("\n").rstrip()
    if not clean.strip():
        raise Invalid("the note is empty", hint="say what is worth knowing next time")
    if "\0" in clean:
        raise Invalid("the text holds a NUL character")
    _refuse_large_note(clean)
    for secret in find_secrets(enumerate(clean.split("\n"), 1)):
        raise Invalid(
            f"line {secret.line} of the note holds what looks like a secret ({secret.rule})",
            hint="say where to find it instead; nothing was stored",
        )
    return clean


def _refuse_large_note(text: str) -> None:
    if len(encode_text(text)) > _LARGEST:
        raise Invalid(
            f"the note is larger than {_LARGEST // 1024} KiB", hint="store only what cannot be found elsewhere"
        )


def _choose_name(draft: NoteDraft, text: str, settings: MemorySettings) -> str:
    if draft.category is not None and draft.category not in settings.prefixes:
        raise Invalid(
            f"there is no category {draft.category[:40]!r}",
            hint=f"there are {', '.join(settings.prefixes)}; more by memory.categories in settings.json",
        )
    wanted = draft.name or suggest_name(_title_of_text(text), settings.prefixes)
    if not wanted:
        raise Invalid("the note needs a name", hint="name the topic in two to four words")
    name = wanted if draft.name == "" else require_note_name(wanted, settings.prefixes)
    has = category_of_name(name, settings.prefixes)
    if draft.category is None or has == draft.category:
        return require_note_name(name, settings.prefixes)
    if has is not None:
        raise Invalid(f"{name} is of the category {has}, not {draft.category}", hint="say one of the two")
    return require_note_name(f"{draft.category}-{name}", settings.prefixes)


def _refuse_rule_or_context(name: str, text: str, settings: MemorySettings) -> None:
    """Refuse a text that no gc may ever delete, and name the command that stores it."""
    topic = frozenset(topic_of_name(name, settings.prefixes).split())
    first = next((line for line in _without_title(text).splitlines() if line.strip()), "")
    # What was observed or comes from outside may well begin with "never": it is a fact, not a wish.
    is_fact = category_of_name(name, settings.prefixes) in ("empirical", "external")
    if topic & _RULE_NAMES or (_RULE_WORDS.match(first) and not is_fact):
        raise Invalid(
            "this reads like a rule, and rules are not forgotten",
            hint="store it with: git nexus rule add TEXT; or use --here to store it as a note",
            context={"belongs": "rules"},
        )
    if topic & _CONTEXT_NAMES:
        raise Invalid(
            "this reads like an explanation of the project, which belongs in context/",
            hint=f"write it to .nexus/context/{name}.md; or use --here to store it as a note",
            context={"belongs": "context"},
        )


def _title_of_text(text: str) -> str:
    found = _HEADING.search(text)
    return found.group(1) if found else text.lstrip().split("\n", 1)[0]


def _with_title(name: str, text: str, settings: MemorySettings) -> str:
    if text.startswith("# "):
        return text + "\n"
    return f"# {topic_of_name(name, settings.prefixes).capitalize()}\n\n{text}\n"


def _without_title(text: str) -> str:
    head, _, rest = text.partition("\n")
    return rest.strip("\n") if head.startswith("# ") and rest.strip() else text
