"""Nobody but its owner can look into $NEXUS_HOME, however the folders in it came to be."""

import json
import os
from pathlib import Path

from gitnexus.base.files import make_private_folder
from gitnexus.state.home import home_folder
from tests.conftest import Nexus


def folders() -> list[Path]:
    """Return the home and the folders in it; a repository and a worktree are closed by the folder that they are in."""
    found = []
    for place, below, _ in os.walk(home_folder()):
        found.append(Path(place))
        if found[-1].name in ("home.git", "worktrees", "private"):
            below.clear()
    return found


def test_every_folder_that_commands_and_hooks_make_is_private(nexus: Nexus, project: Path) -> None:
    before = os.umask(0o022)
    try:
        nexus.ok("harness", "install", "claude-code")
        for tool, given in (("Read", {"file_path": "calc.py"}), ("Bash", {"command": "make deploy"})):
            call = {"session_id": "s1", "cwd": str(project), "tool_name": tool, "tool_input": given}
            nexus("hook", "harness", "claude-code", "pre_tool_use", stdin=json.dumps(call))
        run = json.loads(nexus("run", "--json", "--", "sh", "-c", "echo one > one.txt").stdout)["run"]["id"]
        nexus.ok("approve", "--unseen", run)
        nexus.ok("land", run)
        nexus("verify")
        nexus.ok("graph")
        nexus.ok("doctor")
    finally:
        os.umask(before)

    made = folders()
    assert {"gate", "keys", "trust"} <= {path.name for path in made}
    assert [str(path) for path in made if path.stat().st_mode & 0o077] == []


def test_doctor_names_a_folder_below_the_first_level_and_closes_it(nexus: Nexus) -> None:
    inner = home_folder() / "cache" / "gate"
    make_private_folder(inner)
    for folder, mode in ((home_folder(), 0o700), (inner.parent, 0o700), (inner, 0o755)):
        folder.chmod(mode)

    told = json.loads(nexus("doctor", "--json").stdout)["findings"]
    nexus("doctor", "--fix")

    assert [row["message"] for row in told if row["check"] == "home"] == [f"other users can read {inner}"]
    assert inner.stat().st_mode & 0o777 == 0o700
