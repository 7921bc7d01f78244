"""The notes of one project, opened: the only file that knows where notes, rules and context lie."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import cached_property

from gitnexus.base.clock import now
from gitnexus.base.errors import Invalid, NotFound
from gitnexus.memory.count import rev_of, with_rev, without_rev
from gitnexus.memory.model import ClosedCycle, MemorySettings, Note, settings_of
from gitnexus.state import Snapshot, State
from gitnexus.state.format import new_tree
from gitnexus.state.intake import settle
from gitnexus.state.local import Local
from gitnexus.state.settings import section

FOLDER = "memory"
# Written by people, for everybody; never forgotten.
SHELVES = ("context", "rules")


class Notes:
    """What the verbs of this room work with."""

    def __init__(
        self,
        state: State,
        *,
        reader: str = "person",
        harness: str = "git-nexus",
        clock: Callable[[], datetime] = now,
        closed: Callable[[], Sequence[ClosedCycle]] = tuple,
        refuse_deletion: Callable[[Mapping[str, str]], None] = lambda notes: None,
    ) -> None:
        """`reader` is who reads, `closed` tells the cycles that are closed.

        `refuse_deletion` raises where these notes, by name with their text, may not be deleted for who asks.
        """
        self.state = state
        self.reader = reader
        self.clock = clock
        self.closed = closed
        self.refuse_deletion = refuse_deletion
        # A bare repository has no session in which reads could be counted.
        self.local = None if state.repo.worktree is None else Local(state, clock, harness)

    @cached_property
    def settings(self) -> MemorySettings:
        """The settings of this room. Raises: Invalid."""
        return settings_of(section(self.state.latest(), "memory", self.state.trusts))

    def latest(self) -> Snapshot:
        """Return the tip, hand edits taken in; an empty one where nobody ran init."""
        if self.state.latest().commit is not None:
            settle(self.state)
        self.__dict__.pop("settings", None)  # they may have been edited too
        return self.state.latest()


def begun(snapshot: Snapshot, files: Mapping[str, bytes | None], moment: datetime) -> dict[str, bytes | None]:
    """Return the files of a change, with what makes a project where nobody ran init: agents must not need that."""
    return {**(new_tree("project", moment) if snapshot.commit is None else {}), **files}


def notes_in(snapshot: Snapshot) -> list[Note]:
    """Return every note, by name."""
    return [_note(name[:-3], raw) for name, raw in snapshot.files(FOLDER).items() if name.endswith(".md")]


def note_in(snapshot: Snapshot, name: str) -> Note:
    """Return one note. Raises: NotFound, naming what is near."""
    plain = name.strip().removeprefix(f"{FOLDER}/").removesuffix(".md")
    raw = snapshot.read(f"{FOLDER}/{plain}.md") if plain and "/" not in plain else None
    if raw is None:
        near = _near(plain, [other[:-3] for other in snapshot.names(FOLDER) if other.endswith(".md")])
        raise NotFound(
            f"there is no note {plain[:80]!r}",
            hint=f"did you mean {near}" if near else "git nexus memory list shows them all",
        )
    return _note(plain, raw)


def over(before: Note, text: str) -> Note:
    """Return a note with another text, counted as one change more."""
    return Note(before.name, text, before.rev + 1)


def stored(note: Note) -> bytes:
    """Return a note as its file holds it, with its count."""
    return with_rev(written(note.text), note.rev)


def _note(name: str, raw: bytes) -> Note:
    return Note(name, _text(without_rev(raw)), rev_of(raw))


def shelf_in(snapshot: Snapshot, shelf: str) -> dict[str, str]:
    """Return the files of `rules` or `context`, by name without `.md`."""
    files = snapshot.files(shelf)
    return {name.removesuffix(".md"): _text(raw) for name, raw in files.items() if name.endswith(".md")}


def written(text: str) -> bytes:
    """Return a text as it is stored: bytes that are no UTF-8, which somebody else wrote, come back as they were."""
    return text.encode("utf-8", "surrogateescape")


def readable(text: str) -> str:
    """Return a text that fits JSON."""
    return written(text).decode("utf-8", "replace")


def checked(text: str) -> str:
    """Return what somebody gave us, if it is text. Raises: Invalid."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise Invalid("the text holds half of a surrogate pair") from exc
    return text


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _near(name: str, names: list[str]) -> str | None:
    import difflib  # only for who mistyped

    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return found[0] if found else None
