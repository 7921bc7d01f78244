"""The records that the chat shows: entries of the conversation, and cards with their keys. All text is safe to show."""

from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["", "dim", "bold", "good", "warn", "bad", "add", "del", "hunk", "head", "node"]
Speaker = Literal["you", "nexus", "agent", "output", "error", "trace"]
# What a key does; those of the second row work on the chosen node of a workflow.
Means = Literal[
    "approve",
    "deny",
    "edit",
    "reveal",
    "answer",
    "start",
    "discard",
    "resume",
    "choose",
    "drop",
    "earlier",
    "later",
    "backing",
]


@dataclass(frozen=True, slots=True)
class CardLine:
    """A line of a card and its tone; without colours it has the same meaning."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class CardSection:
    """A part of a card that can be folded, such as one file of a patch. `path` selects the syntax highlighting."""

    title: str
    lines: tuple[CardLine, ...]
    folded: bool = False
    path: str = ""


@dataclass(frozen=True, slots=True)
class CardKey:
    """One key, one answer. `asks` is text that has to be typed as well; `scope` is the scope of an approval."""

    letter: str
    label: str
    means: Means
    scope: str = ""
    asks: str = ""


@dataclass(frozen=True, slots=True)
class ChatCard:
    """A card to read or decide. `settled` says how it was decided; then it has no more keys."""

    id: str
    kind: str
    title: str
    run: str = ""
    action: str = ""
    digest: str = ""
    risk: int = 0
    rows: tuple[CardLine, ...] = ()
    sections: tuple[CardSection, ...] = ()
    keys: tuple[CardKey, ...] = ()
    settled: str = ""
    chosen: int = 0
    # What of it cannot be shown here as it is: then no key approves it.
    unseen: str = ""

    @property
    def folds(self) -> bool:
        """True if a part of it is folded until the user unfolds it."""
        return any(section.folded and section.lines for section in self.sections)

    @property
    def waits(self) -> bool:
        """True if it waits for an answer."""
        return bool(self.keys) and not self.settled

    def key(self, letter: str) -> CardKey | None:
        """Return the key with a letter."""
        return next((key for key in self.keys if key.letter == letter), None) if not self.settled else None


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """An entry of the conversation: its author, text and run."""

    speaker: Speaker
    text: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class LeaveChat:
    """The user wants to leave."""


@dataclass(frozen=True, slots=True)
class ShowCardAgain:
    """Asks for an earlier card at the end of the conversation; `whole` with all sections unfolded."""

    card: ChatCard
    whole: bool = False


Update = ChatEntry | ChatCard | ShowCardAgain | LeaveChat


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """The content of the status line."""

    project: str = ""
    branch: str = ""
    mode: str = "default"
    run: str = ""
    node: str = ""
    status: str = ""
    plan: str = ""
    tasks: str = ""
    waiting: int = 0
    cost: str = ""
    trace: bool = False


@dataclass(frozen=True, slots=True)
class SidePanel:
    """The content of the side panel: a title and lines for each part."""

    parts: tuple[tuple[str, tuple[CardLine, ...]], ...] = field(default=())
