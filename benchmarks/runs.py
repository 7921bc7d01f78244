"""A run that has nothing to propose, beside making and removing a worktree with git alone."""

import os
import subprocess
import tempfile
from pathlib import Path

from measure import Ratio, compare

FILES = 3000
LIMIT = 4.0


def ratios() -> list[Ratio]:
    with tempfile.TemporaryDirectory(prefix="nexus-bench-") as folder:
        return [_ratio(Path(folder).resolve())]


def _ratio(top: Path) -> Ratio:
    home, place, beside = top / "home", top / "project", top / "beside"
    home.mkdir()
    place.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = B\n\temail = b@example.com\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "NEXUS_", "XDG_"))}
    env |= {"HOME": str(home), "NEXUS_HOME": str(home / "nexus"), "GIT_CONFIG_NOSYSTEM": "1"}

    def call(*argv: str) -> None:
        subprocess.run(argv, cwd=place, env=env, check=True, capture_output=True)

    call("git", "init", "-q")
    for number in range(FILES):
        path = place / f"d{number % 50}" / f"{number}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"line of {number}\n" * 30)
    call("git", "add", ".")
    call("git", "commit", "-qm", "first")
    call("git", "nexus", "init")

    def theirs() -> None:
        # Without hooks, as ours: what they cost is not git's.
        call("git", "-c", "core.hooksPath=/dev/null", "worktree", "add", "-q", "--detach", str(beside))
        call("git", "worktree", "remove", str(beside))

    return compare(
        "a run of true, nothing to approve",
        lambda: call("git", "nexus", "run", "--", "true"),
        f"git worktree add and remove, {FILES} files",
        theirs,
        LIMIT,
        rounds=5,
    )
