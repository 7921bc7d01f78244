"""Opens the notes of one project: the only module that knows the paths of notes, rules and context."""

import difflib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from gitnexus.base.clock import utc_now
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.memory.count import rev_of_note, with_rev, without_rev
from gitnexus.memory.model import ClosedCycle, MemorySettings, Note, parse_memory_settings
from gitnexus.state import Snapshot, State
from gitnexus.state.format import new_state_files
from gitnexus.state.intake import settle_hand_edits
from gitnexus.state.local import SessionFolder
from gitnexus.state.settings import settings_section

FOLDER = "memory"
# Written by people, for everybody; never forgotten.
FOLDERS = ("context", "rules")


class Notes:
    """The notes of a project, as the functions of this room use them."""

    def __init__(
        self,
        state: State,
        *,
        reader: str = "person",
        harness: str = "git-nexus",
        clock: Callable[[], datetime] = utc_now,
        closed: Callable[[], Sequence[ClosedCycle]] = tuple,
        refuse_deletion: Callable[[Mapping[str, str]], None] = lambda notes: None,
    ) -> None:
        """`reader` is the reading person or agent, `closed` returns the closed cycles.

        `refuse_deletion` raises an error if the reader may not delete these notes, given by name with their text.
        """
        self.state = state
        self.reader = reader
        self.clock = clock
        self.closed = closed
        self.refuse_deletion = refuse_deletion
        # A bare repository has no session in which reads could be counted.
        self.local = None if state.repo.worktree is None else SessionFolder(state, clock, harness)

    @cached_property
    def settings(self) -> MemorySettings:
        """The settings of this section. Raises: Invalid."""
        return parse_memory_settings(settings_section(self.state.latest(), "memory", self.state.trusts))

    def latest(self) -> Snapshot:
        """Return the tip of the state, hand edits included; an empty one if nobody ran init."""
        if self.state.latest().commit is not None:
            settle_hand_edits(self.state)
        self.__dict__.pop("settings", None)  # they may have been edited too
        return self.state.latest()


def with_project_files(
    snapshot: Snapshot, files: Mapping[str, bytes | None], moment: datetime
) -> dict[str, bytes | None]:
    """Return the files of a change, with those that create a project if nobody ran init: agents need no init."""
    return {**(new_state_files("project", moment) if snapshot.commit is None else {}), **files}


def read_all_notes(snapshot: Snapshot) -> list[Note]:
    """Return every note, by name."""
    return [_parse_note(name[:-3], raw) for name, raw in snapshot.files(FOLDER).items() if name.endswith(".md")]


def read_note(snapshot: Snapshot, name: str) -> Note:
    """Return one note. Raises: NotFound, with a similar name."""
    plain = name.strip().removeprefix(f"{FOLDER}/").removesuffix(".md")
    raw = snapshot.read(f"{FOLDER}/{plain}.md") if plain and "/" not in plain else None
    if raw is None:
        near = _closest_name(plain, [other[:-3] for other in snapshot.names(FOLDER) if other.endswith(".md")])
        raise NotFound(
            f"there is no note {plain[:80]!r}",
            hint=f"did you mean {near}" if near else "git nexus memory list shows them all",
        )
    return _parse_note(plain, raw)


def with_new_text(before: Note, text: str) -> Note:
    """Return a note with another text and the next count."""
    return Note(before.name, text, before.rev + 1)


def note_file_bytes(note: Note) -> bytes:
    """Return the content of a note's file, with its count."""
    return with_rev(encode_text(note.text), note.rev)


def _parse_note(name: str, raw: bytes) -> Note:
    return Note(name, _decode_text(without_rev(raw)), rev_of_note(raw))


def read_text_folder(snapshot: Snapshot, folder: str) -> dict[str, str]:
    """Return the files of `rules` or `context`, by name without `.md`."""
    files = snapshot.files(folder)
    return {name.removesuffix(".md"): _decode_text(raw) for name, raw in files.items() if name.endswith(".md")}


def encode_text(text: str) -> bytes:
    """Return a text as stored; bytes of other authors that are not UTF-8 are restored unchanged."""
    return text.encode("utf-8", "surrogateescape")


def json_safe_text(text: str) -> str:
    """Return a text that JSON can represent."""
    return encode_text(text).decode("utf-8", "replace")


def require_valid_text(text: str) -> str:
    """Return the text that a caller gave if it is valid. Raises: Invalid."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Invalid("the text holds an unpaired surrogate") from exc
    return text


def _decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _closest_name(name: str, names: list[str]) -> str | None:
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return found[0] if found else None
