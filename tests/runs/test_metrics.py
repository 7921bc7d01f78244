"""git nexus metrics: logs from the disk, from refs and from archives, counted once each."""

import contextlib
import json
import shutil
import xml.etree.ElementTree as ET
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitnexus.base.errors import Conflict, Invalid
from gitnexus.cli.metrics import format_metrics, short_number
from gitnexus.events import RunLog
from gitnexus.events.checkpoint import write_checkpoint
from gitnexus.events.log import EventDraft
from gitnexus.events.measure import MeasuredWorker, WorkerTally
from gitnexus.events.model import definition_hash
from gitnexus.gateway.recorder import run_folder
from gitnexus.gateway.testrun.commandline import runner_of
from gitnexus.git.private import private_git
from gitnexus.projects.open_state import open_state
from gitnexus.runs.actions.approve import approve_action
from gitnexus.runs.agent.tools import call_run_tool
from gitnexus.runs.archive import archive_log
from gitnexus.runs.metrics import Metrics, collect_metrics, parse_since
from gitnexus.state import State
from tests.conftest import Nexus, run_git
from tests.runs.begun import begun, patch_of

WORKFLOW: dict[str, Any] = {"name": "x", "nodes": []}
HASH = "sha256:" + "a" * 64


@pytest.fixture
def state(project: Path) -> State:
    return open_state(project)


def made(state: State, run: str, agent: str = "codex", at: datetime | None = None, ok: bool = True) -> RunLog:
    """Write the log of a run that has one patch, approved by a person, and its tests."""
    options: Any = {"clock": lambda: at} if at else {}
    log = RunLog(run_folder(state.repo.common_dir, run), **options)
    rows: list[tuple[str, dict[str, Any]]] = [
        ("workflow.started", {"run": run, "definition": definition_hash(WORKFLOW), "agent": agent}),
        ("node.started", {"node": "main", "agent": agent}),
        ("action.proposed", {"action": "a1", "actionKind": "patch", "summary": "s", "digest": HASH, "node": "main"}),
        ("action.judged", {"action": "a1", "verdict": "ask", "rule": "r", "why": "w"}),
        ("permission.granted", {"action": "a1", "digest": HASH, "by": "ann", "scope": "once"}),
        ("tool.executed", {"action": "a1", "tool": "repo.apply_patch", "ok": ok}),
        ("run.finished", {"ok": ok}),
    ]
    log.append_many([EventDraft(kind, "nexus", body) for kind, body in rows])
    return log


def test_a_log_counts_once_wherever_it_lies(state: State) -> None:
    for number, run in enumerate(["261101-1200-bbbb", "261102-1200-cccc", "261103-1200-dddd"]):
        log = made(state, run)
        if number:
            write_checkpoint(log, WORKFLOW, state.objects, state.author)
            shutil.rmtree(log.folder)
    with private_git(state.repo) as git:
        archive_log(state.repo, git, state.objects, "261103-1200-dddd", state.author)
    both = made(state, "261104-1200-ffff")
    write_checkpoint(both, WORKFLOW, state.objects, state.author)

    found = collect_metrics(state)

    assert (found.total.runs, found.total.applied, found.unreadable) == (4, 4, ())


def test_runs_before_a_moment_are_left_out(state: State) -> None:
    for day, agent in ((1, "codex"), (9, "claude")):
        at = datetime(2026, 11, day, 12, tzinfo=UTC)
        made(state, f"2611{day:02d}-1200-bbbb", agent, at)

    found = collect_metrics(state, datetime(2026, 11, 9, 12, tzinfo=UTC))

    assert [who.adapter for who in found.workers] == ["claude"]
    assert collect_metrics(state, datetime(2026, 11, 9, 12, 1, tzinfo=UTC)).total.runs == 0


def test_a_log_that_is_damaged_is_named_and_the_rest_counts(state: State) -> None:
    made(state, "261101-1200-bbbb")
    log = made(state, "261102-1200-cccc")
    log.path.write_bytes(log.raw().replace(b'"ok":true', b'"ok":tru', 1))

    found = collect_metrics(state)

    assert (found.total.runs, found.total.applied, found.unreadable) == (2, 1, ("261102-1200-cccc",))


def test_the_table_fits_a_screen_and_says_what_is_not_known(state: State) -> None:
    for number, agent in enumerate(["claude", "codex", "codex"]):
        made(state, f"2611{number + 1:02d}-1200-bbbb", agent, ok=number != 2)

    shown = format_metrics(collect_metrics(state)).split("\n")

    assert max(map(len, shown)) <= 80
    assert len(shown) <= 20
    assert shown[0].split() == ["all", "codex", "claude"]
    assert shown[2].split() == ["runs", "that", "ended", "well", "67%", "of", "3", "50%", "of", "2", "100%", "of", "1"]
    assert shown[4].endswith("67% of 3      50% of 2     100% of 1")
    assert shown[5].split() == ["tests", "pass", "after", "a", "change", "n/a", "n/a", "n/a"]


def test_the_command_prints_json_and_draws(project: Path, nexus: Nexus, state: State) -> None:
    assert nexus.ok("metrics") == "No runs yet.\n"
    made(state, "261101-1200-bbbb", agent='a<b>&"\x1b[31m')

    answer = json.loads(nexus.ok("metrics", "--json", "--svg", "out.svg"))

    (row,) = answer["metrics"]
    assert row["patches"] == {"applied": 1, "failed": 0, "rate": 1.0}
    assert row["approvals"] == {"asked": 1, "approved": 1, "widened": 0, "denied": 0, "deniedByPolicy": 0}
    assert (row["tests"]["rate"], row["tokens"], row["costUsd"], row["unitsPerBatch"]) == (None, None, None, None)
    assert answer["total"]["runs"] == 1
    drawn = ET.parse(project / "out.svg").getroot()
    words = [one.text for one in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert words[1] == 'a<b>&"\\x1b[31m'
    assert "100% of 1" in words
    assert "prefers-color-scheme: dark" in (project / "out.svg").read_text()


def test_a_run_of_an_agent_is_counted_as_it_happens(project: Path, nexus: Nexus) -> None:
    run = json.loads(nexus("run", "--json", "--", "sh", "-c", "echo new > new.txt").stdout)["run"]["id"]
    nexus.ok("approve", "--unseen", run)

    row = json.loads(nexus.ok("metrics", "--json"))["metrics"][0]

    assert (row["agent"], row["adapter"], row["runs"], row["completed"]) == ("command", "command", 1, 1)
    assert (row["patches"]["applied"], row["schema"]["valid"], row["steps"], row["retries"]) == (1, 1, 1, 0)


def test_what_an_agent_proposes_is_told_by_its_error_and_by_what_it_runs(project: Path) -> None:
    with begun(project) as desk:
        for given in ({"patch": "no patch"}, {"patch": patch_of("readme.txt", "something else", "x")}, {}):
            with contextlib.suppress(Invalid, Conflict):
                call_run_tool(desk, "propose_patch", given)
        call_run_tool(desk, "propose_patch", {"patch": patch_of("readme.txt", "hello", "x")})
        approve_action(desk, "a1")
        call_run_tool(desk, "propose_command", {"argv": ["make", "test"]})
        approve_action(desk, "a2")
        bodies = [event.body for event in desk.log.read() if event.kind in ("action.rejected", "tool.executed")]

        found = collect_metrics(desk.state).total

    assert [one.get("error", one.get("tests")) for one in bodies] == [
        "E_VALIDATION_FAILED", "E_CONFLICT", "E_VALIDATION_FAILED", None, "make"
    ]  # fmt: skip
    assert (found.valid, found.invalid, found.applied, found.unfit, found.broken) == (2, 2, 1, 1, 1)


@pytest.mark.parametrize(("passes", "status"), [("true", 0), ("false", 1)])
def test_checks_before_a_landing_are_in_the_log(
    project: Path, nexus: Nexus, sealed: Path, passes: str, status: int
) -> None:
    (sealed / "nexus").mkdir(exist_ok=True)
    (sealed / "nexus/settings.json").write_text(json.dumps({"runs": {"checks": [[passes]]}}))
    run = json.loads(nexus("run", "--json", "--", "sh", "-c", "echo new > new.txt").stdout)["run"]["id"]
    nexus.ok("approve", "--unseen", run)

    assert nexus("land", run).returncode == status

    tests = json.loads(nexus.ok("metrics", "--json"))["total"]["tests"]
    assert (tests["passed"], tests["failed"]) == (1 - status, status)
    assert "checks.ran" in run_git(project, "show", f"refs/nexus/runs/{run}:events/0001.jsonl")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2026-11-01", "2026-11-01T00:00"), ("2026-11-01T12:00:00Z", "2026-11-01T12:00"), ("12h", "2026-11-16T00:00"),
     ("2w", "2026-11-02T12:00"), ("30 d", "2026-10-17T12:00")],
)  # fmt: skip
def test_a_moment_is_a_day_or_how_long_ago(text: str, expected: str) -> None:
    assert parse_since(text, datetime(2026, 11, 16, 12, tzinfo=UTC)).isoformat()[:16] == expected


@pytest.mark.parametrize("text", ["", "soon", "1y", "99999999d"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_since(text, datetime(2026, 11, 16, tzinfo=UTC))


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (12345, "12.3k"),
        (123456, "123k"),
        (999_999, "1.0M"),
        (4_500_000, "4.5M"),
    ],
)
def test_numbers_are_short(number: int, expected: str) -> None:
    assert short_number(number) == expected


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        ("pytest -q", "pytest"), ("/usr/bin/python3.11 -I -m pytest", "pytest"), ("python -m unittest", "unittest"),
        ("uv run --frozen pytest", "pytest"), ("npx --no-install jest", "jest"), ("go test ./...", "go"),
        ("cargo test --all", "cargo"), ("npm test", "npm"), ("npm run test:unit", "npm"), ("make -j2 check", "make"),
        ("env A=1 pytest", "pytest"), ("node --test", "node"),
        ("npm run build", ""), ("python -m pip install pytest", ""), ("echo pytest", ""), ("go build", ""),
        ("make", ""), ("python test.py", ""), ("npx", ""),
    ],
)  # fmt: skip
def test_a_command_line_that_runs_tests_is_known(argv: str, expected: str) -> None:
    assert runner_of(argv.split()) == expected


def test_no_words_run_no_tests() -> None:
    assert runner_of(()) == ""


def test_a_column_names_the_agent_and_below_it_the_adapter() -> None:
    workers = {
        MeasuredWorker("researcher", "embedded"): WorkerTally(runs=1),
        MeasuredWorker("codex", "codex"): WorkerTally(runs=1),
    }

    heads = format_metrics(Metrics(workers, WorkerTally(runs=2), ())).split("\n")[:3]

    assert [line.split() for line in heads] == [["all", "researcher", "codex"], ["embedded"], ["runs", "2", "1", "1"]]
