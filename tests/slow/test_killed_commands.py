"""Commands killed at any moment: run again, they finish the job."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import Nexus, run_git
from tests.seeds import chance_of


def killed(place: Path, seconds: float, *argv: str) -> None:
    child = subprocess.Popen(
        ["git-nexus", *argv], cwd=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    child.wait()


@pytest.mark.slow(seconds=30)
def test_init_and_uninstall_killed_at_any_moment_are_finished_by_the_next(tmp_path: Path) -> None:
    chance = chance_of(0)
    for number in range(12):
        place = tmp_path / f"p{number}"
        run_git(tmp_path, "init", "-q", place.name)
        (place / ".nexus" / "memory").mkdir(parents=True)
        (place / ".nexus" / "memory" / "a.md").write_text("kept\n")
        nexus = Nexus(place)

        killed(place, chance.uniform(0.03, 0.35), "init", "--name", place.name)
        nexus.ok("init", "--name", place.name)
        assert {f["state"] for f in json.loads(nexus.ok("doctor", "--fix", "--json"))["findings"]} <= {"ok", "fixed"}
        assert run_git(place, "show", "refs/nexus/state:memory/a.md") == "kept\n"

        killed(place, chance.uniform(0.03, 0.25), "uninstall")
        nexus.ok("uninstall")
        nexus.ok("init", "--name", place.name)
        assert (place / ".nexus" / "memory" / "a.md").read_text() == "kept\n"
        assert run_git(place, "fsck", "--strict", "--no-dangling") == ""
