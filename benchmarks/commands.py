"""Commands and hooks as a person starts them, beside the least that such a process could cost."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from measure import Ratio, compare

ROUNDS = 25


def child(place: Path, *argv: str) -> Callable[[], object]:
    def run() -> None:
        subprocess.run(argv, cwd=place, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    return run


def repository(place: Path) -> Path:
    place.mkdir()
    for argv in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *argv], cwd=place, check=True)
    return place


def committer(place: Path) -> Callable[[], object]:
    """A commit of one changed line, as people make them."""
    versions = iter(range(10**6))

    def run() -> None:
        (place / "file.txt").write_text(f"line {next(versions)}\n")
        subprocess.run(["git", "add", "file.txt"], cwd=place, check=True)
        subprocess.run(["git", "commit", "-q", "-m", "change"], cwd=place, check=True)

    return run


def sealed(scratch: Path) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        del os.environ[name]
    (scratch / ".gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@example.com\n")
    os.environ |= {"HOME": str(scratch), "NEXUS_HOME": str(scratch / "nexus"), "GIT_CONFIG_NOSYSTEM": "1"}


def ratios() -> Iterator[Ratio]:
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder)
        sealed(scratch)
        plain = repository(scratch / "plain")
        project = repository(scratch / "project")
        subprocess.run(["git", "nexus", "init", "--name", "bench"], cwd=project, check=True, stdout=subprocess.DEVNULL)
        click = child(plain, sys.executable, "-c", "import click")
        pydantic = child(plain, sys.executable, "-c", "import click, pydantic")
        yield compare("git nexus -h", child(project, "git", "nexus", "-h"), "import click", click, 1.3, ROUNDS)
        subprocess.run(["git", "nexus", "task", "add", "first"], cwd=project, check=True, stdout=subprocess.DEVNULL)
        tasks = (["task", "add", "A task"], ["task", "list"], ["task", "show", "T1"], ["show", "T1"])
        for command in (["status"], ["log"], ["hooks", "status"], *tasks, ["agents"], ["agents", "engineer"]):
            ours = child(project, "git", "nexus", *command)
            yield compare(f"git nexus {' '.join(command)}", ours, "import click, pydantic", pydantic, 1.5, ROUNDS)
        for word, limit in (("doctor", 6.0), ("init", 2.0)):  # not on anybody's path all day; doctor tries sandboxes
            ours = child(project, "git", "nexus", word)
            yield compare(f"git nexus {word}", ours, "import click, pydantic", pydantic, limit, ROUNDS)
        yield compare("git commit with our hooks", committer(project), "without hooks", committer(plain), 3.0, 60)
        empty = ("git", "commit", "-q", "--allow-empty", "-m", "x")
        yield compare(
            "git commit --allow-empty with our hooks", child(project, *empty), "without", child(plain, *empty), 3.0, 60
        )
        shim = Path(__file__).parents[1] / "githooks" / "nexus-hook"
        yield compare(
            "the hook shim where nothing is initialised",
            child(plain, "sh", str(shim), "post-checkout", "0", "0", "1"),
            "sh -c :",
            child(plain, "sh", "-c", ":"),
            3.0,
            60,
        )
