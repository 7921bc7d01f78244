"""A merge of two states of 10,000 tasks, 500 changed on each side, beside git's own merge of the same trees.

With --large also what runs cost on the way between clones: refs, objects, and how long a fetch and a push take.
"""

import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Ratio, compare

from gitnexus.base.canonical import json_document
from gitnexus.base.clock import utc_now
from gitnexus.state import State
from gitnexus.state.format import new_state_files
from gitnexus.sync.merge_table import merger_table
from gitnexus.sync.sync import merge_states

TASKS, CHANGED = 10_000, 500


def record(number: int, title: str = "A task of ordinary length", rev: int = 1) -> bytes:
    value = {
        "id": f"T{number}", "title": title, "rev": rev, "uid": f"{number:016x}", "status": "pending",
        "priority": "medium", "type": "task", "description": "x" * 200, "labels": ["one", "two"],
    }  # fmt: skip
    return json_document(value)


def two_sides(place: Path) -> tuple[State, str, str]:
    """Return a state and two commits that went apart from one, each with its own tasks changed."""
    subprocess.run(["git", "init", "-q", "--bare", str(place)], check=True)
    state = State.open(place, "long")
    tasks = {f"backlog/T{number}.json": record(number) for number in range(1, TASKS + 1)}
    state.write({**new_state_files("project", utc_now()), **tasks}, why="begin")
    base = state.snapshot.commit or ""
    sides = []
    for start, word in ((1, "mine"), (5001, "theirs")):
        files = {f"backlog/T{n}.json": record(n, word, 2) for n in range(start, start + CHANGED)}
        written = state.objects.write_commit(parents=[base], changes=files, message="x\n", author=state.author)
        sides.append(written[0])
    subprocess.run(["git", "-C", str(place), "update-ref", "refs/heads/a", sides[0]], check=True)
    subprocess.run(["git", "-C", str(place), "update-ref", "refs/heads/b", sides[1]], check=True)
    subprocess.run(["git", "-C", str(place), "repack", "-adq"], check=True)
    return state, sides[0], sides[1]


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as scratch:
        state, mine, theirs = two_sides(Path(scratch, "state.git"))
        table = merger_table(state.repo, utc_now(), lambda _: None, adopt=False)

        def ours() -> None:
            change = merge_states(state.repo, state.objects, state.author, (mine, theirs), table, "x", False)
            state.objects.write_commit(
                parents=[mine, theirs], changes=change.files, message="join\n", author=state.author
            )

        def gits() -> None:
            argv = ["git", "-C", str(state.repo.common_dir), "merge-tree", "--write-tree", mine, theirs]
            subprocess.run(argv, check=True, capture_output=True)

        what = f"merge of {TASKS} tasks, {CHANGED} changed on each side"
        yield compare(what, ours, "git merge-tree --write-tree", gits, 10.0, 10)
        state.close()
