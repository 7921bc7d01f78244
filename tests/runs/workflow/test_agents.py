"""Several agents for a role, by the commands that a person types."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gitnexus.events import RunLog
from gitnexus.events.log import EventDraft
from gitnexus.events.model import definition_hash
from gitnexus.gateway.recorder import run_folder
from gitnexus.projects.open_state import open_state
from gitnexus.runs.workflow.takeover import is_down, next_agents
from gitnexus.workflow.definition import NodeType, make_node
from gitnexus.workflow.settings import parse_workflow_settings
from gitnexus.workflow.specialist import CallUsage, SpecialistGaveUp, UnusableAnswer
from tests.conftest import Nexus
from tests.runs.live import events

HASH = "sha256:" + "a" * 64


def set_up(settings: dict[str, Any]) -> None:
    file = Path(os.environ["NEXUS_HOME"]) / "settings.json"
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(settings))


def worked(project: Path, run: str, adapter: str, *, ok: bool) -> None:
    """Write the log of a run in which an agent's patch met its tests."""
    state = open_state(project)
    log = RunLog(run_folder(state.repo.common_dir, run))
    node = {"node": "exec", "agent": "executor", "adapter": adapter, "op": "exec"}
    patch = {"action": "a1", "actionKind": "patch", "summary": "s", "digest": HASH, "node": "exec"}
    rows: list[tuple[str, dict[str, Any]]] = [
        ("workflow.started", {"run": run, "definition": definition_hash({}), "agent": adapter}),
        ("node.started", node),
        ("action.proposed", patch),
        ("tool.executed", {"action": "a1", "tool": "tests.run", "ok": ok, "tests": "pytest"}),
    ]
    log.append_many([EventDraft(kind, "nexus", body) for kind, body in rows])
    state.close()


def programs(folder: Path, monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Put programs on PATH that only say their version."""
    folder.mkdir()
    for name in names:
        (folder / name).write_text("#!/bin/sh\necho 1.0.0\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_route_chooses_by_what_happened_and_says_so(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path / "bin", monkeypatch, "codex", "claude")
    set_up({"workflow": {"specialists": {"executor": ["claude", "codex"]}}})
    before = json.loads(nexus.ok("route", "--json", "Mend the parser"))
    for number in range(6):
        worked(project, f"261101-1200-bb{number}b", "codex", ok=number != 0)
        worked(project, f"261101-1300-cc{number}c", "claude", ok=number < 2)

    told = json.loads(nexus.ok("route", "--json", "Mend the parser"))

    assert [node["adapter"] for node in before["workflow"]["nodes"]] == ["claude"]
    assert before["agents"][0]["why"] == "too little to go by, so in the order of the list"
    assert [node["adapter"] for node in told["workflow"]["nodes"]] == ["codex"]
    assert told["agents"] == [{
        "node": "exec", "agent": "codex", "others": ["claude"],
        "why": "codex: 5 of 6 patches passed their tests; claude 2 of 6",
    }]  # fmt: skip
    assert "exec by codex: codex: 5 of 6 patches passed their tests; claude 2 of 6" in nexus.ok(
        "route", "Mend the parser"
    )
    kinds = json.loads(nexus.ok("metrics", "--json"))["kinds"]
    assert [(row["adapter"], row["kind"], row["tests"]["passed"]) for row in kinds] == [
        ("claude", "exec", 2),
        ("codex", "exec", 5),
    ]


def test_who_is_not_installed_is_passed_over(
    nexus: Nexus, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs(tmp_path / "bin", monkeypatch, "codex")
    set_up({"workflow": {"specialists": {"executor": ["gemini", "codex"]}}})

    told = json.loads(nexus.ok("route", "--json", "Mend the parser"))

    assert (told["agents"][0]["agent"], told["agents"][0]["why"]) == ("codex", "gemini is down: gemini is not on PATH")
    assert [row.split()[:2] for row in nexus.ok("workflow", "specialists").splitlines()[2:]] == [
        ["executor", "gemini"],
        ["executor", "codex"],
    ]


# It waits between its tries; who takes over is in test_who_may_take_over, and in test_agent_steps for a program.
@pytest.mark.slow
def test_the_next_one_takes_over_when_one_is_down_and_the_log_says_so(nexus: Nexus, project: Path) -> None:
    (project / "parser.py").write_text("def load_config():\n    return {}\n")
    set_up({
        "workflow": {"specialists": {"researcher": ["model", "embedded"]}},
        "prompts": {"endpoint": {"url": "http://127.0.0.1:9/v1", "model": "small"}, "retries": 0},
    })  # fmt: skip

    done = nexus("run", "--json", "Where is hello in readme.txt?")

    told = json.loads(done.stdout)
    assert (done.returncode, told["run"]["status"]) == (0, "completed"), done.stderr
    (said,) = [row["text"] for row in events(project, told["run"]["id"], "agent.progress") if "is down" in row["text"]]
    assert said.startswith("research: model is down (")
    assert said.endswith("so embedded takes over")
    rows = {row["adapter"]: row for row in json.loads(nexus.ok("metrics", "--json"))["metrics"]}
    assert (rows["embedded"]["retries"], rows["embedded"]["schema"]["valid"]) == (0, 1)
    assert nexus("replay", told["run"]["id"], "--verify").returncode == 0


@pytest.mark.parametrize(
    ("type_", "agent", "down", "names"),
    [
        ("exec", "codex", (), ["claude"]),
        # Who edits in the worktree is not followed by who only proposes, and the other way round.
        ("exec", "model", (), ["embedded"]),
        ("exec", "codex", ("claude",), []),
        ("research", "model", (), ["codex", "claude", "embedded"]),
        ("research", "model", ("codex",), ["claude", "embedded"]),
        # Named by somebody and not of the list: nobody else is meant.
        ("exec", "gemini", (), []),
    ],
)
def test_who_may_take_over(type_: NodeType, agent: str, down: tuple[str, ...], names: list[str]) -> None:
    everybody = ["codex", "model", "claude", "embedded"]
    settings = parse_workflow_settings({"specialists": {"executor": everybody, "researcher": everybody}})
    node = make_node("N1", type_, adapter=agent)

    assert list(next_agents(node, settings, dict.fromkeys(down, "gone"))) == names


def test_what_went_wrong_or_was_used_up_lets_nobody_take_over() -> None:
    assert is_down(SpecialistGaveUp("codex failed: Please run /login", CallUsage()), "codex")
    assert not is_down(SpecialistGaveUp("codex limit: rate limit of its budget", CallUsage()), "codex")
    assert not is_down(SpecialistGaveUp("codex failed: 3 tests fail", CallUsage()), "codex")
    assert not is_down(UnusableAnswer("the patch does not apply: connection refused stands there"), "model")
    assert is_down(UnusableAnswer("the model cannot be reached: connection refused"), "model")
