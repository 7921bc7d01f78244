"""A state write in a living process, beside the bare pygit2 calls that no write can do without."""

import itertools
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pygit2
from measure import Ratio, compare

from gitnexus.base.clock import utc_now
from gitnexus.state import Change, State
from gitnexus.state.format import new_state_files
from gitnexus.state.intake import settle_hand_edits

REF = "refs/nexus/state"


def record(number: int, version: int) -> bytes:
    body = "x" * 200
    return f'{{"id":"T{number}","title":"A task of ordinary length","body":"{body}","version":{version}}}\n'.encode()


def bare_writer(place: Path, count: int) -> Callable[[], object]:
    """Blob, tree, commit, ref update, and nothing else."""
    git = pygit2.init_repository(str(place), bare=True)
    who = pygit2.Signature("bench", "bench@example.com")
    folder = git.TreeBuilder()
    for number in range(count):
        folder.insert(f"T{number}.json", git.create_blob(record(number, 0)), 0o100644)
    root = git.TreeBuilder()
    root.insert("backlog", folder.write(), 0o040000)
    git.create_commit(REF, who, who, "begin", root.write(), [])
    versions = itertools.count(1)

    def write() -> None:
        version = next(versions)
        number = version % count
        tip = git.references[REF].target
        tree = git[tip].tree
        below = git.TreeBuilder(tree["backlog"].id)
        below.insert(f"T{number}.json", git.create_blob(record(number, version)), 0o100644)
        top = git.TreeBuilder(tree)
        top.insert("backlog", below.write(), 0o040000)
        git.create_commit(REF, who, who, f"change T{number}", top.write(), [tip])

    return write


def our_writer(place: Path, count: int, *, bare: bool) -> Callable[[], object]:
    subprocess.run(["git", "init", "-q", *(["--bare"] if bare else []), str(place)], check=True)
    state = State.open(place, "long")
    records = {f"backlog/T{number}.json": record(number, 0) for number in range(count)}
    state.write({**new_state_files("project", utc_now()), **records}, why="begin")
    settle_hand_edits(state)
    versions = itertools.count(1)

    def write() -> None:
        version = next(versions)
        number = version % count
        files = {f"backlog/T{number}.json": record(number, version)}
        state.transact(lambda snapshot: Change(files, f"backlog: change T{number}", None))

    return write


def ratios() -> Iterator[Ratio]:
    for count, rounds in ((10, 400), (10_000, 40)):
        with tempfile.TemporaryDirectory() as scratch:
            theirs = bare_writer(Path(scratch, "bare"), count)
            for bare in (True, False):
                ours = our_writer(Path(scratch, f"ours-{bare}"), count, bare=bare)
                where = "a bare repository" if bare else "a worktree, .nexus/ refreshed"
                yield compare(f"state write, {count} records, {where}", ours, "bare pygit2", theirs, 1.5, rounds)
