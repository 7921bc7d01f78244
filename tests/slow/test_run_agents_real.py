"""`git nexus run --agent …` with the real programs: in the sandbox, to a waiting action, to a commit with its proof."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gitnexus.sandbox.levels import best_level
from tests.adapters.stub_models import Step
from tests.conftest import Nexus, run_git
from tests.slow.programs import PATCH, WAYS, Model, placed

pytestmark = pytest.mark.slow
TITLE = "Write new.txt"


def waiting(nexus: Nexus, *options: str) -> dict[str, Any]:
    done = nexus("run", TITLE, "--seconds", "100", "--json", *options)
    assert done.returncode == 21, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def committed(nexus: Nexus, run: str) -> list[str]:
    """Approve what waits, and return the files of the commit that came of it, proved."""
    nexus.ok("approve", "--unseen", run)
    branch = f"nexus/{run}"
    message = run_git(nexus.place, "log", "-1", "--format=%B", branch)
    assert [line.partition(":")[0] for line in message.strip().splitlines()[-4:]] == [
        "Nexus-Run",
        "Nexus-Action",
        "Nexus-Agent",
        "Nexus-Approval",
    ]
    proved = json.loads(nexus.ok("verify", f"main..{branch}", "--require-approval", "--json"))
    assert [row["status"] for row in proved["commits"]] == ["approved"]
    return run_git(nexus.place, "show", "--format=", "--name-only", branch).split()


def level(nexus: Nexus, run: str) -> str:
    lines = nexus.ok("replay", run, "--json").splitlines()
    said = [json.loads(line) for line in lines]
    texts = [text for one in said for text in _texts(one)]
    return next(text.removeprefix("sandbox ") for text in texts if text.startswith("sandbox L"))


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for one in value.values() for text in _texts(one)]
    if isinstance(value, list):
        return [text for one in value for text in _texts(one)]
    return [value] if isinstance(value, str) else []


@pytest.mark.parametrize("name", WAYS)
def test_a_contained_agent_of_a_run_ends_in_a_commit_that_is_proved(
    name: str, nexus: Nexus, project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(name, sealed, monkeypatch)
    steps = (WAYS[name].write("new.txt", "new\n"), WAYS[name].run("echo ran > ran.txt"), Step(text="All done."))
    with Model(sealed, *steps) as model:
        found = waiting(nexus, *model.options(name))
    run = found["run"]["id"]

    assert [(one["kind"], one["status"]) for one in found["actions"]] == [("patch", "waiting")]
    assert level(nexus, run) == best_level()
    assert committed(nexus, run) == ["new.txt", "ran.txt"]
    assert run_git(project, "status", "--short") == ""


@pytest.mark.parametrize("name", WAYS)
def test_a_proposer_of_a_run_ends_in_a_commit_that_is_proved(
    name: str, nexus: Nexus, project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed(name, sealed, monkeypatch)
    ours = WAYS[name].ours
    steps = (
        ours("read", {"path": "readme.txt"}),
        ours("propose_patch", {"patch": PATCH, "summary": "a new file"}),
        Step(text="Proposed."),
    )
    with Model(sealed, *steps) as model:
        found = waiting(nexus, "--way", "proposer", *model.options(name))
    run = found["run"]["id"]

    assert [(one["kind"], one["summary"]) for one in found["actions"]] == [("patch", "a new file")]
    assert committed(nexus, run) == ["new.txt"]
    assert (Path(found["run"]["worktree"]) / "new.txt").read_text() == "new\n"


def test_aider_of_a_run_ends_in_a_commit_that_is_proved(
    nexus: Nexus, project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed("aider", sealed, monkeypatch)
    with Model(sealed, Step(text="new.txt\n```\nnew\n```\n")) as model:
        found = waiting(nexus, *model.options("aider"))

    assert committed(nexus, found["run"]["id"]) == ["new.txt"]


def test_a_sign_in_is_lent_and_neither_kept_nor_written_back(
    nexus: Nexus, project: Path, sealed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    placed("claude", sealed, monkeypatch)
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    mine = sealed / ".claude" / ".credentials.json"
    mine.parent.mkdir()
    secret = "-".join(("sk", "ant", "oat01", "q8Zr" * 12))
    expires = 4_000_000_000_000
    scopes = ["user:inference", "user:profile"]
    mine.write_text(json.dumps({"claudeAiOauth": {"accessToken": secret, "refreshToken": f"{secret}r",
                                                  "expiresAt": expires, "scopes": scopes}}))  # fmt: skip
    before = mine.read_bytes()
    tell = 'cat "$CLAUDE_CONFIG_DIR/.credentials.json" > seen.txt; echo x > "$CLAUDE_CONFIG_DIR/.credentials.json"'
    with Model(sealed, WAYS["claude"].run(tell), Step(text="All done.")) as model:
        options = model.options("claude")
        without = nexus("run", TITLE, "--seconds", "60", *options)
        asked = [headers for _, headers in model.headers]
        found = waiting(nexus, "--sign-in", *options)
        lent = [headers.get("authorization", "") for _, headers in model.headers[len(asked) :]]
    private = sealed / "nexus" / "private" / found["run"]["id"]

    assert without.returncode == 1
    assert not any(secret in str(headers) for headers in asked)
    assert f"Bearer {secret}" in lent
    assert mine.read_bytes() == before
    assert not (private / "claude" / ".credentials.json").exists()
    assert secret not in nexus.ok("replay", found["run"]["id"], "--json")
    assert secret not in "".join(file.read_text(errors="replace") for file in _files(project / ".git" / "nexus"))


def _files(folder: Path) -> list[Path]:
    return [Path(place, name) for place, _, names in os.walk(folder) for name in names]
