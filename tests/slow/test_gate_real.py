"""Claude Code asks our hook before a tool: a no holds, also one that a person says later from elsewhere."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.stub_models import Step, StubModels
from tests.conftest import Nexus, trust
from tests.slow.conftest import _had
from tests.slow.test_adapters_real import REAL

pytestmark = pytest.mark.slow
POLICY = "---\nversion: 1\nallow:\n- write: ['src/**']\n- run: [git, status]\ndeny:\n- run: [touch, denied.txt]\n---\n"
HOOK = "git-nexus hook harness {} pre_tool_use"


@pytest.fixture
def ruled(project: Path) -> Path:
    (project / ".nexus" / "policy.md").write_text(POLICY)
    trust(project)
    return project


def claude(place: Path, sealed: Path, stub: StubModels, *more: str) -> dict[str, Any]:
    """Run Claude Code headless with our hook in the person's settings; return its last line."""
    program = _had("claude", REAL["claude"].get)
    entry = {"type": "command", "command": HOOK.format("claude-code"), "timeout": 10, "onFailure": "block"}
    (sealed / ".claude").mkdir(exist_ok=True)
    settings = {"hooks": {"PreToolUse": [{"matcher": "*", "hooks": [entry]}]}}
    (sealed / ".claude" / "settings.json").write_text(json.dumps(settings))
    keys = {"ANTHROPIC_BASE_URL": stub.address, "ANTHROPIC_API_KEY": "stub", "DISABLE_AUTOUPDATER": "1"}
    env = {**os.environ, **keys, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    env.pop("CLAUDE_CODE_ENTRYPOINT", None)
    argv = [str(program), "-p", "--output-format", "stream-json", "--verbose", *more]
    done = subprocess.run(
        argv, cwd=place, env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=150, check=False
    )
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith(b"{")]
    ended = [line for line in lines if line.get("type") == "result"]
    assert ended, done.stdout[-2000:].decode() + done.stderr[-2000:].decode()
    return dict(ended[0])


def the_run(place: Path) -> str:
    return str(json.loads(Nexus(place).ok("--json", "runs"))["runs"][0]["id"])


def test_claude_does_not_run_what_is_denied_and_runs_what_is_allowed(ruled: Path, sealed: Path) -> None:
    steps = [
        Step(tool="Bash", given={"command": "touch denied.txt"}),
        Step(tool="Write", given={"file_path": str(ruled / ".env"), "content": "x"}),
        Step(tool="Bash", given={"command": "git-nexus-canary"}),
        Step(tool="Write", given={"file_path": str(ruled / "src" / "new.py"), "content": "new\n"}),
        Step(text="Done."),
    ]
    with StubModels(*steps) as stub:
        ended = claude(ruled, sealed, stub, "do it")

    told = json.dumps([body for _, body in stub.requests])
    assert ended["result"] == "Done."
    assert not (ruled / "denied.txt").exists()
    assert not (ruled / ".env").exists()
    assert "git nexus canary: refused" in told
    assert (ruled / "src" / "new.py").read_text() == "new\n"


def test_claude_leaves_a_call_waiting_and_hears_a_no(ruled: Path, sealed: Path) -> None:
    with StubModels(Step(tool="Bash", given={"command": "touch made.txt"}), Step(text="Done.")) as stub:
        first = claude(ruled, sealed, stub, "do it")
        assert (first["stop_reason"], (ruled / "made.txt").exists()) == ("tool_deferred", False)

        Nexus(ruled).ok("deny", the_run(ruled), "a1")
        second = claude(ruled, sealed, stub, "--resume", first["session_id"])

    assert second["result"] == "Done."
    assert not (ruled / "made.txt").exists()
    rows = json.loads(Nexus(ruled).ok("--json", "runs", "--all"))["runs"]
    assert [row["status"] for row in rows] == ["completed"]
