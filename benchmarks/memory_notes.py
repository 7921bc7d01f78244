"""Searching a thousand notes and telling how they stand, beside `git grep` over the same files and a bare Python."""

import random
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Ratio, compare

from gitnexus.state import State

COUNT = 1000


def _words(source: random.Random) -> list[str]:
    return ["".join(source.choices("abcdefghijklmnoprstuvw", k=source.randint(3, 9))) for _ in range(3000)]


def _filled(place: Path) -> None:
    source = random.Random(7)
    words = _words(source)
    subprocess.run(["git", "init", "-q", str(place)], check=True)
    subprocess.run(["git", "nexus", "init", "--local"], cwd=place, check=True, capture_output=True)
    notes = {}
    for number in range(COUNT):
        name = f"{source.choice(['empirical', 'external', 'pattern'])}-{'-'.join(source.choices(words, k=2))}-n{number}"
        body = "\n".join(" ".join(source.choices(words, k=12)) for _ in range(20))
        notes[f"memory/{name}.md"] = f"# {name}\n\n{body}\nthe cache migration\n".encode()
    state = State.open(place)
    for at in range(0, COUNT, 100):
        chunk = dict(list(notes.items())[at : at + 100])
        state.write(chunk, why="memory: add some")
    state.close()


def _run(*argv: str, place: Path) -> Callable[[], object]:
    return lambda: subprocess.run(argv, cwd=place, check=True, capture_output=True)


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch, "project")
        _filled(place)
        grep = _run("git", "grep", "-i", "-c", "-e", "cache", "-e", "migration", "refs/nexus/state", "--", "memory",
                    place=place)  # fmt: skip
        listing = _run("git", "nexus", "memory", "list", place=place)
        for words in (("search", "cache", "migration"), ("stats",)):
            ours = _run("git", "nexus", "memory", *words, place=place)
            what = f"memory {words[0]} of {COUNT} notes"
            yield compare(what, ours, "memory list", listing, 1.5, 10)
            yield compare(what, ours, "git grep and a bare Python", _both(grep, place), 5.0, 10)


def _both(grep: Callable[[], object], place: Path) -> Callable[[], object]:
    python = _run("python", "-c", "import click", place=place)

    def run() -> None:
        grep()
        python()

    return run
