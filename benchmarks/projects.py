"""The graph of all projects as commands of their own process, beside a list of the tasks of an empty project."""

import itertools
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pygit2
from commands import child, sealed
from measure import Ratio, compare

from gitnexus.backlog.model import BacklogTask, Status
from gitnexus.backlog.store import task_path
from gitnexus.base.clock import utc_now
from gitnexus.git import discover
from gitnexus.projects.place import open_project_state
from gitnexus.projects.register import RegisterRequest, register_project
from gitnexus.state.format import new_state_files
from gitnexus.state.home import home_folder, make_home

FEW, MANY = 20, 200
TASKS = 500
ROUNDS = 15
PEAK = """
import resource, subprocess
subprocess.run(["git", "nexus", "index"], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""
LARGE = "NEXUS_BENCH_LARGE"
STATUSES: tuple[Status, ...] = ("pending", "pending", "active", "blocked", "done", "done", "done", "cancelled")


class Writer:
    """Tasks as people write them: few words and labels are everywhere, most are rare."""

    def __init__(self, names: list[str]) -> None:
        self.names = names
        self._source = random.Random(11)
        letters = "abcdefghijklmnoprstuvw"
        self._words = ["".join(self._source.choices(letters, k=self._source.randint(3, 10))) for _ in range(4000)]
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, 4001)))
        self._labels = [f"label-{word}" for word in self._words[:200]]

    def _some(self, words: list[str], count: int) -> list[str]:
        return self._source.choices(words, cum_weights=self._weights[: len(words)], k=count)

    def rare(self) -> str:
        """Return a word that few tasks hold."""
        return self._words[2500]

    def common(self) -> str:
        """Return a word that very many tasks hold."""
        return self._words[2]

    def task(self, number: int, project: str) -> BacklogTask:
        source = self._source
        depends = []
        if number > 1 and source.random() < 0.9:
            depends.append(f"T{source.randint(1, number - 1)}")
        if source.random() < 0.2:
            depends.append(f"{source.choice(self.names)}:T{source.randint(1, TASKS)}")
        return BacklogTask(
            id=f"T{number}",
            title=" ".join(self._some(self._words, 6)),
            status=source.choice(STATUSES),
            parent_id=f"T{number - number % 10}" if number > 10 and number % 10 else None,
            description=" ".join(self._some(self._words, 20)),
            labels=tuple(dict.fromkeys(self._some(self._labels, source.randint(0, 4)))),
            files=tuple(f"src/{project}/{word}.py" for word in dict.fromkeys(self._some(self._words, 2))),
            depends=tuple(depends),
            created_at="2026-01-01T00:00:00Z",
        )


def _project(place: Path, records: list[BacklogTask]) -> None:
    pygit2.init_repository(str(place))
    state = open_project_state(discover(place))
    files = {task_path(record.id): record.to_bytes() for record in records}
    state.write({**new_state_files("project", utc_now()), **files}, why="begin")
    state.close()


def built(scratch: Path, count: int) -> Writer:
    """Make the projects and register them, and an empty one beside them."""
    writer = Writer([f"project-{number}" for number in range(count)])
    home = make_home()
    for name in [*writer.names, "empty"]:
        _project(scratch / name, [writer.task(number, name) for number in range(1, TASKS + 1) if name != "empty"])
        register_project(home, RegisterRequest(os.path.realpath(scratch / name), name), utc_now())
    home.close()
    return writer


def _changer(scratch: Path, writer: Writer) -> Callable[[], object]:
    """Write one task of the last project anew, as somebody's command elsewhere would."""
    name = writer.names[-1]

    def change() -> None:
        record = writer.task(7, name)
        state = open_project_state(discover(scratch / name))
        state.write({task_path(record.id): record.to_bytes()}, why="backlog: change T7")
        state.close()

    return change


def _in_turn(place: Path, *words: str) -> Callable[[], object]:
    """Ask for another task each time, so that no answer that was kept is found."""
    numbers = itertools.count(1)

    def run() -> None:
        child(place, "git", "nexus", *words, f"T{next(numbers) % TASKS + 1}")()

    return run


def _forget() -> None:
    for file in (home_folder() / "cache").glob("graph*"):
        file.unlink()


def _memory(place: Path) -> Ratio:
    """The most that building the index holds, asked of a small parent: a child begins with what its parent holds."""
    _forget()
    found = subprocess.run([sys.executable, "-c", PEAK], cwd=place, check=True, capture_output=True, text=True)
    return Ratio("memory of index from nothing", "the limit", int(found.stdout) / 1024, 150, 1.0, "MB")


def ratios() -> Iterator[Ratio]:
    count = MANY if os.environ.get(LARGE) else FEW
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        sealed(scratch)
        writer = built(scratch, count)
        place, changed = scratch / writer.names[0], _changer(scratch, writer)
        size = f"{count} projects of {TASKS} tasks"
        # What reads every task may grow with the tasks, what looks one up may not.
        growth = count / FEW
        listing, yardstick = child(scratch / "empty", "git", "nexus", "task", "list"), "task list of an empty project"
        yield _memory(place)
        index = child(place, "git", "nexus", "index")
        yield compare(f"index from nothing, {size}", index, yardstick, listing, 15.0 * growth, 5, before=_forget)
        lookups = (["deps", "T100"], ["deps", f"{writer.names[1]}:T100"], ["dependents", "T1"], ["show", "T100"])
        searches = (["search", writer.rare()], ["search", writer.common()])
        for words, limit in [*((words, 1.5) for words in lookups), *((words, 3.0 * growth) for words in searches)]:
            ours = child(place, "git", "nexus", *words)
            yield compare(f"{' '.join(words)}, {size}", ours, yardstick, listing, limit, ROUNDS)
        asked = _in_turn(place, "discover")
        yield compare(f"discover, {size}", asked, yardstick, listing, 3.0 * growth, ROUNDS)
        kept = child(place, "git", "nexus", "discover", "T9")
        yield compare(f"discover, the answer kept, {size}", kept, "an answer that is not", asked, 1.1, ROUNDS)
        yield compare(f"discover after one project changed, {size}", asked, "nothing changed", asked, 1.2, ROUNDS,
                      before=changed)  # fmt: skip
