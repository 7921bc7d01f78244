"""Collects the results of tests run on a run's work, from its log and from its worktree."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.events.artifacts import Artifacts
from gitnexus.events.log import RunLog
from gitnexus.gateway.recorder import TESTS, run_folder
from gitnexus.gateway.testrun.commandline import runner_of
from gitnexus.gateway.testrun.table import RUNNERS
from gitnexus.policy.model import CommandRequest
from gitnexus.runs.actions.propose import read_proposed_request
from gitnexus.runs.claimed_decisions import claimed_events
from gitnexus.runs.landing.checks import configured_checks
from gitnexus.runs.model import Run
from gitnexus.runs.open_run import OpenRun
from gitnexus.state import State

# A person reads them; only the last run of each command counts.
_MOST = 20
_TERMINAL = "terminal"


def test_result_lines(state: State, run: Run, tip: str) -> list[str]:
    """Return a line with counts per test command, and one per check that runs before landing."""
    open_run = OpenRun(state, run)
    last: dict[str, str] = {}
    try:
        for words, line in (*_proposed_test_runs(open_run, tip), *_manual_test_runs(open_run, tip)):
            last.pop(words, None)
            last[words] = line
    except NexusError:
        pass  # the log is on another machine, or damaged: replay --verify tells
    checks = [
        f"{one_line(' '.join(argv), 150)}: a check of the project, run before it lands"
        for argv in configured_checks(state)
    ]
    return [*list(last.values())[-_MOST:], *checks]


def _proposed_test_runs(run: OpenRun, tip: str) -> Iterator[tuple[str, str]]:
    """Yield test commands that the agent proposed and that were executed."""
    claimed = claimed_events(run.state, run.record.id, run.log.raw())
    for event in run.log.read():
        if event.kind != "tool.executed" or event.body["tool"] != "cmd.run" or not event.body.get("artifacts"):
            continue
        request = read_proposed_request(run, event.body["action"])
        runner = runner_of(request.argv) if isinstance(request, CommandRequest) else ""
        if isinstance(request, CommandRequest) and runner:
            result = json.loads(run.artifacts.read(event.body["artifacts"][0]))
            status = result.get("status")
            status = status if isinstance(status, int) else -1
            found: dict[str, Any] = {"argv": request.argv, "status": status, "base": request.base}
            known = RUNNERS.get(runner)
            report = known.parse(str(result.get("output", "")).encode("utf-8", "replace"), status) if known else None
            if report and report.counted:
                found |= {"passed": report.passed, "failed": report.failed, "skipped": report.skipped}
            said = ", claimed but not signed" if event.seq in claimed else ""
            yield " ".join(request.argv), _format_test_line(found, tip) + said


def _manual_test_runs(run: OpenRun, tip: str) -> Iterator[tuple[str, str]]:
    """Yield results that `git nexus tool tests.run` recorded in the run's worktree."""
    folder = run_folder(run.repo.common_dir, _TERMINAL)
    if not (folder / "events.jsonl").exists():
        return
    kept = Artifacts(folder)
    for event in RunLog(folder).read():
        if event.kind == "artifact.written" and event.body["name"] == TESTS:
            found = json.loads(kept.read(event.body["digest"]))
            if Path(found.get("worktree", "")) == run.worktree_path:
                yield " ".join(found["argv"]), _format_test_line(found, tip)


def _format_test_line(found: dict[str, Any], tip: str) -> str:
    counts = [f"{found[name]} {name}" for name in ("passed", "failed", "skipped") if found.get(name)]
    said = ", ".join(counts) or f"status {found.get('status')}"
    base = str(found.get("base", ""))
    on = "" if base == tip else f", on {base[:12]}, before the last commit" if base else ""
    return f"{one_line(' '.join(found['argv']), 120)}: {said}{on}"
