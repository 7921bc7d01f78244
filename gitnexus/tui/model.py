"""The records that the chat shows: entries of the conversation, and cards with their keys. All text is safe to show."""

from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["", "dim", "bold", "good", "warn", "bad", "add", "del", "hunk", "head", "node"]
Speaker = Literal["you", "nexus", "agent", "output", "error", "trace"]
# What a key does; those of the second row work on the chosen node of a workflow.
Means = Literal[
    "approve", "deny", "edit", "reveal", "answer", "start", "discard", "resume",
    "choose", "drop", "earlier", "later", "backing",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class CardLine:
    """A line of a card and how it is meant to look; without colours it says the same."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class CardSection:
    """A part of a card that can be folded, such as one file of a patch. `path` says how its code is coloured."""

    title: str
    lines: tuple[CardLine, ...]
    folded: bool = False
    path: str = ""


@dataclass(frozen=True, slots=True)
class CardKey:
    """One key, one answer. `asks` is what has to be typed as well; `scope` how far a yes reaches."""

    letter: str
    label: str
    means: Means
    scope: str = ""
    asks: str = ""


@dataclass(frozen=True, slots=True)
class ChatCard:
    """Something to look at or to decide. `settled` says how it was decided; then there are no keys any more."""

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
        """True if something of it is folded until a person unfolds it."""
        return any(section.folded and section.lines for section in self.sections)

    @property
    def waits(self) -> bool:
        """True if somebody has to say something."""
        return bool(self.keys) and not self.settled

    def key(self, letter: str) -> CardKey | None:
        """Return the key of a letter."""
        return next((key for key in self.keys if key.letter == letter), None) if not self.settled else None


@dataclass(frozen=True, slots=True)
class ChatEntry:
    """A piece of the conversation: who speaks, what, and for which run."""

    speaker: Speaker
    text: str
    run: str = ""


@dataclass(frozen=True, slots=True)
class LeaveChat:
    """The person wants to leave."""


@dataclass(frozen=True, slots=True)
class ShowCardAgain:
    """A card that was shown before is wanted at the end of the conversation; `whole` with all that is folded."""

    card: ChatCard
    whole: bool = False


Update = ChatEntry | ChatCard | ShowCardAgain | LeaveChat


@dataclass(frozen=True, slots=True)
class ChatStatus:
    """What the status line tells."""

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
    """What the side panel lists, a title and lines each."""

    parts: tuple[tuple[str, tuple[CardLine, ...]], ...] = field(default=())
