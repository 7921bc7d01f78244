"""Which tests were run on a run's work, and what they came to: from its log, and from what was run in its worktree."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitnexus.app.checks import checks_of
from gitnexus.app.claims import claimed_events
from gitnexus.app.recorder import TESTS, folder_of
from gitnexus.app.rundesk import RunDesk
from gitnexus.app.runproposal import proposed_request
from gitnexus.base.errors import NexusError
from gitnexus.base.text import one_line
from gitnexus.events.artifacts import Artifacts
from gitnexus.events.log import RunLog
from gitnexus.gateway.testrun.commandline import runner_of
from gitnexus.gateway.testrun.table import RUNNERS
from gitnexus.policy.model import CommandRequest
from gitnexus.runs.model import Run
from gitnexus.state import State

# A person reads them; of one command only the last run counts.
_MOST = 20
_TERMINAL = "terminal"


def tests_of(state: State, run: Run, tip: str) -> list[str]:
    """Return a line for each test command with its counts, and one for each check that is run before it lands."""
    desk = RunDesk(state, run)
    last: dict[str, str] = {}
    try:
        for words, line in (*_proposed(desk, tip), *_by_hand(desk, tip)):
            last.pop(words, None)
            last[words] = line
    except NexusError:
        pass  # the log is on another machine, or damaged: replay --verify tells
    checks = [
        f"{one_line(' '.join(argv), 150)}: a check of the project, run before it lands" for argv in checks_of(state)
    ]
    return [*list(last.values())[-_MOST:], *checks]


def _proposed(desk: RunDesk, tip: str) -> Iterator[tuple[str, str]]:
    """Yield the test commands that the agent proposed and that were carried out."""
    claimed = claimed_events(desk.state, desk.run.id, desk.log.raw())
    for event in desk.log.read():
        if event.kind != "tool.executed" or event.body["tool"] != "cmd.run" or not event.body.get("artifacts"):
            continue
        request = proposed_request(desk, event.body["action"])
        runner = runner_of(request.argv) if isinstance(request, CommandRequest) else ""
        if isinstance(request, CommandRequest) and runner:
            result = json.loads(desk.artifacts.read(event.body["artifacts"][0]))
            status = result.get("status")
            status = status if isinstance(status, int) else -1
            found: dict[str, Any] = {"argv": request.argv, "status": status, "base": request.base}
            known = RUNNERS.get(runner)
            report = known.parse(str(result.get("output", "")).encode("utf-8", "replace"), status) if known else None
            if report and report.counted:
                found |= {"passed": report.passed, "failed": report.failed, "skipped": report.skipped}
            said = ", as is said and not signed" if event.seq in claimed else ""
            yield " ".join(request.argv), _line(found, tip) + said


def _by_hand(desk: RunDesk, tip: str) -> Iterator[tuple[str, str]]:
    """Yield what `git nexus tool tests.run` counted in the run's worktree."""
    folder = folder_of(desk.repo.common_dir, _TERMINAL)
    if not (folder / "events.jsonl").exists():
        return
    kept = Artifacts(folder)
    for event in RunLog(folder).read():
        if event.kind == "artifact.written" and event.body["name"] == TESTS:
            found = json.loads(kept.read(event.body["digest"]))
            if Path(found.get("worktree", "")) == desk.place:
                yield " ".join(found["argv"]), _line(found, tip)


def _line(found: dict[str, Any], tip: str) -> str:
    counts = [f"{found[name]} {name}" for name in ("passed", "failed", "skipped") if found.get(name)]
    said = ", ".join(counts) or f"status {found.get('status')}"
    base = str(found.get("base", ""))
    on = "" if base == tip else f", on {base[:12]}, before the last commit" if base else ""
    return f"{one_line(' '.join(found['argv']), 120)}: {said}{on}"
