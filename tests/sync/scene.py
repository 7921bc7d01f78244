"""Clones on one object store: a head each, so that hundreds of meetings take seconds. And real ones, with a hub."""

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gitnexus.backlog.stamps import with_stamps
from gitnexus.base.canonical import json_document, parse_json
from gitnexus.git.objects import Content
from gitnexus.memory.count import with_next_rev
from gitnexus.state import Snapshot, State
from gitnexus.state.format import new_state_files
from gitnexus.sync.merge_table import merger_table
from gitnexus.sync.sync import merge_states
from tests.conftest import run_git

NOW = datetime(2026, 2, 1, 12, tzinfo=UTC)


class Clones:
    """Three clones and what was ever acknowledged to somebody in one of them."""

    def __init__(self, place: Path, seed: int) -> None:
        run_git(place.parent, "init", "-q", "--bare", str(place))
        self.state = State.open(place, "long")
        self.chance = random.Random(seed)
        self.table = merger_table(self.state.repo, NOW, lambda _: None, adopt=False)
        first, _ = self.write([], new_state_files("project", NOW))
        self.heads = [first] * 3
        self.tasks: set[str] = set()
        self.deleted: set[str] = set()
        self.cycles: set[str] = set()
        self.words: dict[str, set[str]] = {}
        self.gone: set[str] = set()
        self.count = 0

    def write(self, parents: list[str], files: Any) -> tuple[str, str]:
        return self.state.objects.write_commit(parents=parents, changes=files, message="x\n", author=self.state.author)

    def snapshot(self, clone: int) -> Snapshot:
        return Snapshot(self.state.objects, self.heads[clone])

    def put(self, clone: int, files: dict[str, Content]) -> None:
        self.heads[clone], _ = self.write([self.heads[clone]], files)

    def meet(self, clone: int, other: int, pushes: bool | None = None) -> None:
        """`clone` takes in what `other` has; then the other goes forward to that, as a push does, or it does not."""
        who = self.state.author
        change = merge_states(
            self.state.repo, self.state.objects, who, (self.heads[clone], self.heads[other]), self.table, "x", False
        )
        if change.onto is not None:
            self.heads[clone] = change.onto
        elif change.joins is not None:
            self.heads[clone], _ = self.write([self.heads[clone], change.joins], change.files)
        if pushes if pushes is not None else self.chance.random() < 0.7:
            self.heads[other] = self.heads[clone]

    def act(self, clone: int) -> None:
        """Do one thing that somebody might do."""
        self.count += 1
        acts: list[Callable[[int], None]] = [self.add, self.add, self.change, self.change, self.delete, self.claim,
                                             self.learn, self.learn, self.reword, self.forget, self.close]  # fmt: skip
        self.chance.choice(acts)(clone)

    def add(self, clone: int) -> None:
        names = self.snapshot(clone).names("backlog")
        number = max((int(name[1:-5]) for name in names), default=0) + 1
        uid = f"u{self.count}"
        ids = self.alive(clone)
        task = {"id": f"T{number}", "title": f"made {self.count}", "uid": uid, "rev": 1, "status": "pending",
                "depends": self.chance.sample(ids, min(1, len(ids)))}  # fmt: skip
        self.tasks.add(uid)
        self.put(clone, {f"backlog/T{number}.json": json_document(task)})

    def alive(self, clone: int) -> list[str]:
        files = self.snapshot(clone).files("backlog")
        return [name[:-5] for name, raw in files.items() if "tombstone" not in parse_json(raw)]

    def one(self, clone: int) -> dict[str, Any] | None:
        ids = self.alive(clone)
        path = f"backlog/{self.chance.choice(ids)}.json" if ids else ""
        return parse_json(self.snapshot(clone).read(path) or b"") if path else None

    def change(self, clone: int) -> None:
        task = self.one(clone)
        if task is None:
            return
        field: dict[str, Any] = self.chance.choice([
            {"title": f"changed {self.count}"},
            {"labels": [*task.get("labels", []), f"l{self.count}"]},
            {"status": "done", "completedAt": "2026-02-01T12:00:00Z"},
            {"priority": self.chance.choice(["high", "low"])},
        ])  # fmt: skip
        after = {**task, **field, "rev": task["rev"] + 1}
        self.save(
            clone, with_stamps(task, after) if self.chance.random() < 0.8 else after
        )  # or as an older version does

    def save(self, clone: int, task: dict[str, Any]) -> None:
        self.put(clone, {f"backlog/{task['id']}.json": json_document(task)})

    def delete(self, clone: int) -> None:
        task = self.one(clone)
        if task is not None:
            self.deleted.add(task["uid"])
            self.save(clone, {"id": task["id"], "title": task["title"], "deletedAt": "2026-02-01T12:00:00Z",
                              "tombstone": True, "uid": task["uid"], "rev": task["rev"] + 1})  # fmt: skip

    def claim(self, clone: int) -> None:
        task = self.one(clone)
        if task is not None and "claim" not in task:
            until = (NOW + timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
            claim = {"by": f"c{clone}", "until": until, "token": f"t{self.count}"}
            self.save(clone, {**task, "claim": claim, "rev": task["rev"] + 1})

    def learn(self, clone: int) -> None:
        name = f"memory/{self.chance.choice('abc')}.md"
        if name in self.gone:
            return
        before = self.snapshot(clone).read(name) or b"# Note\n"
        word = f"learned{self.count}"
        self.words.setdefault(name, set()).add(word)
        self.put(clone, {name: before + f"\n## day {self.count % 3}\n\n{word}\n".encode()})

    def reword(self, clone: int) -> None:
        """Say the first section of a note in other words, counted as git nexus counts it."""
        names = [name for name in self.snapshot(clone).names("memory") if name.endswith(".md")]
        path = f"memory/{self.chance.choice(names)}" if names else ""
        if not path or path in self.gone:
            return
        before = self.snapshot(clone).read(path) or b""
        head, mark, rest = before.partition(b"\n## ")
        old, _, more = rest.partition(b"\n## ") if mark else (b"", b"", b"")
        word = f"learned{self.count}"
        said = self.words.setdefault(path, set())
        said -= {one for one in said if re.search(rf"{one}\b".encode(), old)}
        said.add(word)
        after = head + b"\n## day 0\n\n" + word.encode() + b"\n" + (b"\n## " + more if more else b"")
        self.put(clone, {path: with_next_rev(before, after)})

    def forget(self, clone: int) -> None:
        names = self.snapshot(clone).names("memory")
        if names and self.chance.random() < 0.2:
            path = f"memory/{names[0]}"
            self.gone.add(path.partition(".other-")[0])
            self.put(clone, {path: None})

    def close(self, clone: int) -> None:
        raw = self.snapshot(clone).read("history.json")
        history = parse_json(raw) if raw else {"cycles": [], "schema_version": "1.0"}
        at = f"2026-02-01T12:00:{self.count:02d}Z"
        self.cycles.add(at)
        done = {"completed_at": at, "branch": "main", "plan": None, "tasks": []}
        self.put(clone, {"history.json": json_document({**history, "cycles": [*history["cycles"], done]})})
