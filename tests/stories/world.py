"""A story as it goes: the place, the model, chance, and what the clones show at this moment."""

import json
import random
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pygit2

from tests.stories.commands import SERVER, Ended, Place, Violation
from tests.stories.model import Model, Write


@dataclass(frozen=True)
class Act:
    """A command and what follows from its end. `must`: alone in its clone it has to succeed."""

    clone: str
    argv: tuple[str, ...]
    acknowledge: Callable[[Ended], None]
    suspect: Callable[[Ended], None]  # it was killed: what may have come of it
    must: bool = False
    again: bool = False  # killed, the same command ends it
    well: tuple[int, ...] = (0,)  # the statuses that acknowledge


@dataclass
class World:
    """Everything that an act of a story looks at."""

    place: Place
    chance: random.Random
    model: Model = field(default_factory=Model)
    clones: list[str] = field(default_factory=list)
    count: int = 0
    perhaps_titles: set[str] = field(default_factory=set)

    def word(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}x"

    def files(self, clone: str, commit: str | None = None) -> dict[str, bytes]:
        """Return the files of the state by path, read without any code of ours."""
        return files_of(self.place.path(clone), commit or self.place.tip(clone))

    def tasks(self, clone: str, commit: str | None = None) -> dict[str, dict[str, Any]]:
        """Return the tasks by number, deleted ones too."""
        files = self.files(clone, commit)
        return {
            path[8:-5]: json.loads(raw)
            for path, raw in files.items()
            if path.startswith("backlog/T") and path.endswith(".json")
        }

    def see_numbers(self, clone: str) -> None:
        seen = self.model.numbers.setdefault(clone, {})
        for number, task in self.tasks(clone).items():
            for name in (number, *task.get("aliases", ())):
                seen.setdefault(name, set()).add(task["uid"])

    def open_tasks(self, clone: str) -> list[str]:
        """Return the numbers of tasks here that exist by the model, too."""
        known = self.model.tasks
        return [
            number for number, task in self.tasks(clone).items()
            if not task.get("tombstone") and task.get("uid") in known
        ]  # fmt: skip

    def write_field(self, uid: str, name: str, value: Any, ended: Ended) -> None:
        self.model.field_of(uid, name).writes.append(Write(value, ended.before, ended.after))
        self.model.state_commits.append(ended.after)

    def is_before(self, clone: str) -> Callable[[str, str], bool]:
        """Return whether a commit of the state is behind another, or the same, by what `clone` has of it."""
        known: dict[tuple[str, str], bool] = {}

        def ask(early: str, late: str) -> bool:
            if (early, late) not in known:
                argv = ["git", "merge-base", "--is-ancestor", early, late]
                known[early, late] = not subprocess.run(argv, cwd=self.place.path(clone), check=False).returncode
            return known[early, late]

        return ask

    def runs(self, clone: str) -> dict[str, dict[str, Any]]:
        ended = self.place.nexus(clone, "runs", "--all", "--json")
        if ended.status:
            raise Violation(f"the runs cannot be listed\n{ended}")
        return {row["id"]: row for row in json.loads(ended.out)["runs"]}


def files_of(path: Path, commit: str) -> dict[str, bytes]:
    """Return the files of a commit by path."""
    repository = pygit2.Repository(str(path))
    found: dict[str, bytes] = {}

    def walk(tree: Any, above: str) -> None:
        for entry in tree:
            if entry.type_str == "tree":
                walk(entry, f"{above}{entry.name}/")
            else:
                found[above + entry.name] = entry.data

    walk(repository[commit].peel(pygit2.Tree), "")
    repository.free()
    return found


def holds(path: Path, ref: str, file: str, text: str) -> bool:
    """Return whether a file at a ref has this text."""
    argv = ["git", "show", f"{ref}:{file}"]
    shown = subprocess.run(argv, cwd=path, capture_output=True, text=True, check=False)
    return shown.returncode == 0 and text in shown.stdout


__all__ = ["SERVER", "Act", "World", "files_of", "holds"]
