"""What was acknowledged in a story, and what of it the clones must show when they have met."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Write:
    """A value that somebody was told is kept. `before`: the state's commit that it came after; `after`: its own."""

    value: Any
    before: str
    after: str


@dataclass
class Register:
    """A place that holds one value: the last one, or any of several that did not know of each other."""

    writes: list[Write] = field(default_factory=list)
    perhaps: list[Any] = field(default_factory=list)  # of commands that were killed

    def values(self, is_before: Callable[[str, str], bool]) -> list[Any]:
        """Return what it may hold: no value that a later writer has seen and replaced."""
        last = [
            write for write in self.writes
            if not any(is_before(write.after, other.before) for other in self.writes if other is not write)
        ]  # fmt: skip
        return [write.value for write in last] + self.perhaps


@dataclass
class Task:
    """A task by its uid; `number` is the one in the clone where it was added, for reading only."""

    uid: str
    fields: dict[str, Register] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    removed_labels: set[str] = field(default_factory=set)
    waits_for: set[str] = field(default_factory=set)  # uids
    deleted: bool = False
    perhaps_deleted: bool = False


@dataclass
class Run:
    """A run by its id, and the file that its command makes. `decided`: by clone, what was said about it there.

    `tried`: what was said there and may not have been heard.
    """

    id: str
    file: str
    text: str
    approved: bool = False
    landed_in: set[str] = field(default_factory=set)
    decided: set[tuple[str, str]] = field(default_factory=set)
    tried: set[tuple[str, str]] = field(default_factory=set)


@dataclass
class Model:
    """All of it. Words are unique, so that to find one is to find what it was said in."""

    tasks: dict[str, Task] = field(default_factory=dict)
    numbers: dict[str, dict[str, set[str]]] = field(default_factory=dict)  # by clone and number: uids that ever had it
    words: dict[str, str] = field(default_factory=dict)  # of notes, rules and the policy, by the folder they are in
    denied: set[str] = field(default_factory=set)  # words of the policy that an approver has signed
    forgotten: set[str] = field(default_factory=set)  # words that somebody removed, or tried to
    topics: set[str] = field(default_factory=set)  # of closed cycles
    plans: dict[str, str] = field(default_factory=dict)  # by clone: the topic of the plan that is open there
    runs: dict[str, Run] = field(default_factory=dict)
    commits: dict[str, set[str]] = field(default_factory=dict)  # by clone: the user's own, on main
    state_commits: list[str] = field(default_factory=list)

    def field_of(self, uid: str, name: str) -> Register:
        task = self.tasks.setdefault(uid, Task(uid))
        return task.fields.setdefault(name, Register())

    def alive(self) -> list[Hashable]:
        return [uid for uid, task in self.tasks.items() if not task.deleted]
